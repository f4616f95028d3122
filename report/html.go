package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
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
	Claim, Next           []textPart
	Meaning               string
	Sentence              string // all of the verdict, to be pasted
	Facts                 []factView
	Lead                  *plotView // the first and largest picture
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
	Folded    bool
}

// blockView is a block with its charts drawn.
type blockView struct {
	Head, Text, Code string
	List             [][]textPart
	Pairs            []factView
	Table            *tableView
	Plots            []plotView
	Stack            *stackView
	Icicle           *icicleView
	Folded           string // the summary of a block that is closed at first
}

type tableView struct {
	Caption string
	Note    string // the rows that are not shown
	Head    []headView
	Rows    []rowView
	Foot    []rowView
}

// rowView is a row with what links lead to it by, if any do.
type rowView struct {
	ID    string
	Cells []cellView
}

type headView struct {
	Text  string
	Right bool
}

type cellView struct {
	Text  string
	Parts []textPart // the text with its links
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
		Meaning: cmp.Or(d.meaning, d.note), Next: linked(d.next, d.anchors, ""),
		Claim: linked(d.claim, d.anchors, ""), Facts: factViews(d.facts), Producer: d.producer,
		StyleHash: hashOf(style), ScriptHash: hashOf(script), Style: template.CSS(style),
		Script:  template.JS(script),
		Licence: uplotLicence,
	}
	if d.oom != "" {
		p.Class, p.Sure, p.Tone, p.Sentence = verdict.OutOfMemory, "", "bad", d.oom
		p.Claim = linked(strings.TrimPrefix(d.oom, verdict.OutOfMemory+": "), d.anchors, "")
		p.Meaning = ""
		if d.grows() {
			p.Meaning = d.sentence()
		}
	}

	if d.first != nil {
		plots, err := plotsOf([]chart{*d.first})
		if err != nil {
			return nil, err
		}
		if len(plots) > 0 {
			p.Lead = &plots[0]
		}
	}
	var err error
	p.Sections, err = sectionViews(d)
	p.Interactive = p.Lead != nil || slices.ContainsFunc(p.Sections, sectionView.moves)
	return p, err
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

func viewOf(b block, d *document) (blockView, error) {
	out := blockView{Head: b.head, Text: b.text, Code: b.code, List: linkedAll(b.list, d.anchors),
		Pairs: factViews(b.pairs), Folded: b.folded}
	if b.table != nil {
		out.Table = viewOfTable(b.table, d)
	}
	if b.icicle != nil {
		out.Icicle = viewOfIcicle(b.icicle)
	}
	charts := b.charts
	if len(charts) == 1 && charts[0].stacked {
		c := charts[0]
		c.lines = c.lines[1:] // without their sum
		var err error
		if out.Stack, err = newStack(c); err != nil {
			return out, err
		}
		charts = nil
	}
	var err error
	out.Plots, err = plotsOf(charts)
	return out, err
}

// plotsOf draws charts; one whose axis has no extent is left out.
func plotsOf(charts []chart) (out []plotView, err error) {
	for _, c := range charts {
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
		out = append(out, plotView{plot: p, JSON: template.JS(data), Unit: unit, Axis: c.axis.unit})
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
			Name: fitting(b.name, b.wide), Full: b.full, Class: class, Named: b.wide >= namedWide})
	}
	return v
}

// letters is how many letters of a box's text the whole width has room for, on a desk.
const letters = 145

// fitting is as much of a name as its box has room for.
func fitting(name string, wide float64) string {
	room := max(int(wide*letters)-1, 2)
	if r := []rune(name); len(r) > room {
		return string(r[:room-1]) + "…"
	}
	return name
}

// longestWord is how many bytes a word of one cell may have to be kept whole.
const longestWord = 16

func viewOfTable(t *table, d *document) *tableView {
	v := &tableView{Caption: t.caption}
	for _, c := range t.head {
		v.Head = append(v.Head, headView{c.title, c.right})
	}
	kept, zeros := t.splitZeros()
	if t.zeros != "" {
		v.Note = t.zerosText(zeros)
	}
	for _, i := range kept {
		row := rowView{Cells: t.cells(t.rows[i])}
		if t.name != "" && len(row.Cells) > 0 {
			row.ID = rowID(t.name, i)
			row.Cells[0].Parts = linked(row.Cells[0].Text, d.anchors, t.name)
			if t.name == holderRows {
				more := fromHolder(row.Cells[0].Text, d.claim, d.anchors)
				row.Cells[0].Parts = append(row.Cells[0].Parts, more...)
			}
		}
		v.Rows = append(v.Rows, row)
	}
	for _, row := range t.foot {
		v.Foot = append(v.Foot, rowView{Cells: t.cells(row)})
	}
	return v
}

// cells are the cells of a row of the table.
func (t *table) cells(row []string) []cellView {
	out := make([]cellView, len(row))
	for i, text := range row {
		out[i] = cellView{Text: text, Right: t.head[i].right, First: i == 0, Parts: []textPart{{Text: text}},
			Whole: strings.Contains(text, "-") && len(text) <= longestWord && !strings.Contains(text, " ")}
	}
	return out
}
