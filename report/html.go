package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
)

// The page and what is inlined into it. uPlot draws the interactive charts
// (MIT, its licence is embedded beside it); without scripts the page shows
// the SVG charts and everything else unchanged.
var (
	//go:embed html/page.tmpl
	pageTemplate string
	//go:embed html/page.css
	pageCSS string
	//go:embed html/page.js
	pageJS string
	//go:embed html/uplot.min.js
	uplotJS string
	//go:embed html/uplot.min.css
	uplotCSS string
	//go:embed html/uplot.LICENSE
	uplotLicence string
)

// page is what the template sees. Strings of the traced program stand in
// fields of type string, which html/template escapes for the place where they
// are put; only what this package made itself is of another type.
type page struct {
	Title, Class, Sure    string
	Tone                  string // bad, open or good: the verdict's colour
	Claim, Meaning        string
	Sentence              string // all of the verdict, to be pasted
	Facts                 []factView
	Sections              []sectionView
	Producer              string
	StyleHash, ScriptHash string
	Style                 template.CSS
	Script                template.JS
	Interactive           bool
	Licence               string
}

type factView struct{ Name, Value string }

type sectionView struct {
	ID, Title string
	Blocks    []blockView
}

// blockView is a block with its charts drawn.
type blockView struct {
	Head, Text, Code string
	List             []string
	Pairs            []factView
	Table            *tableView
	Plots            []plotView
	Icicle           *icicleView
}

type tableView struct {
	Caption string
	Head    []headView
	Rows    [][]cellView
	Foot    [][]cellView
}

type headView struct {
	Text  string
	Right bool
}

type cellView struct {
	Text  string
	Right bool
	First bool
	Whole bool // a word that a browser must not break at its hyphen: app-leak
}

// plotView is a plot with its data as script.
type plotView struct {
	plot
	JSON template.JS
	Unit string // of the values: bytes or count
	Axis string // s, step or sample
}

func writeHTML(w io.Writer, d *document) error {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	p, err := newPage(d)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := t.Execute(out, p); err != nil {
		return err
	}
	return out.Flush()
}

func newPage(d *document) (*page, error) {
	style := uplotCSS + pageCSS
	script := uplotJS + "\n" + pageJS
	p := &page{
		Title: d.title, Class: string(d.class), Sure: d.sure, Tone: toneOf(d.class), Sentence: d.sentence(),
		Meaning: d.meaning, Claim: d.claim, Facts: factViews(d.facts), Producer: d.producer,
		StyleHash: hashOf(style), ScriptHash: hashOf(script), Style: template.CSS(style),
		Script:  template.JS(script),
		Licence: uplotLicence,
	}
	for _, s := range d.sections {
		view := sectionView{ID: s.id, Title: s.title}
		for _, b := range s.blocks {
			bv, err := viewOf(b)
			if err != nil {
				return nil, err
			}
			p.Interactive = p.Interactive || len(bv.Plots) > 0
			view.Blocks = append(view.Blocks, bv)
		}
		p.Sections = append(p.Sections, view)
	}
	return p, nil
}

func toneOf(c verdict.Class) string {
	switch c {
	case verdict.None:
		return "good"
	case verdict.Undecided:
		return "open"
	}
	return "bad"
}

// hashOf is a source expression of the page's own policy: only what carries
// it may be applied or run.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func factViews(ps []pair) []factView {
	var out []factView
	for _, p := range ps {
		out = append(out, factView{p.name, p.value})
	}
	return out
}

func viewOf(b block) (blockView, error) {
	out := blockView{Head: b.head, Text: b.text, Code: b.code, List: b.list, Pairs: factViews(b.pairs)}
	if b.table != nil {
		out.Table = viewOfTable(b.table)
	}
	if b.icicle != nil {
		out.Icicle = viewOfIcicle(b.icicle)
	}
	for _, c := range b.charts {
		p, ok := newPlot(c)
		if !ok {
			continue
		}
		unit := "count"
		if c.bytes {
			unit = "bytes"
		}
		data, err := p.Data.json()
		if err != nil {
			return out, err
		}
		out.Plots = append(out.Plots, plotView{plot: p, JSON: template.JS(data), Unit: unit,
			Axis: c.axis.unit})
	}
	return out, nil
}

// icicleView is an icicle with its measures as attributes: widths in percent,
// so that names keep their size on every screen, heights in pixels.
type icicleView struct {
	Title, Desc string
	High        int
	Boxes       []boxView
}

type boxView struct {
	At, Wide   string
	Top        int
	Name, Full string
	Class      string
	Named      bool
}

// Measures of an icicle: the height of a level in pixels, and the part of the
// whole from which on a box is wide enough for a name.
const (
	levelHigh = 24
	namedWide = 0.04
)

func viewOfIcicle(ic *icicle) *icicleView {
	v := &icicleView{Title: ic.title, Desc: ic.desc, High: levelHigh * ic.levels}
	percent := func(share float64) string { return strconv.FormatFloat(share*100, 'f', 3, 64) + "%" }
	for _, b := range ic.boxes {
		class := "box d" + strconv.Itoa(b.level)
		if b.grows {
			class += " grows"
		}
		v.Boxes = append(v.Boxes, boxView{At: percent(b.at), Wide: percent(b.wide), Top: levelHigh * b.level,
			Name: b.name, Full: b.full, Class: class, Named: b.wide >= namedWide})
	}
	return v
}

// longestWord is how many bytes a word of one cell may have to be kept whole.
const longestWord = 16

func viewOfTable(t *table) *tableView {
	v := &tableView{Caption: t.caption}
	for _, c := range t.head {
		v.Head = append(v.Head, headView{c.title, c.right})
	}
	rows := func(in [][]string) (out [][]cellView) {
		for _, row := range in {
			cells := make([]cellView, len(row))
			for i, text := range row {
				cells[i] = cellView{Text: text, Right: t.head[i].right, First: i == 0,
					Whole: strings.Contains(text, "-") && len(text) <= longestWord &&
						!strings.Contains(text, " ")}
			}
			out = append(out, cells)
		}
		return out
	}
	v.Rows, v.Foot = rows(t.rows), rows(t.foot)
	return v
}
