// Command picture turns what a terminal shows, as `tmux capture-pane -e -p`
// prints it, into an SVG: stdin to stdout. It knows the sequences of colours
// and attributes that tmux writes, and no others.
package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	cellWidth  = 8.4
	lineHeight = 17
	margin     = 14
	ground     = "#14171c"
	ink        = "#d7dce2"
)

func main() {
	if err := draw(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// pen is how characters look.
type pen struct {
	color          string
	bold, reversed bool
}

func draw(r io.Reader, w io.Writer) error {
	var lines []string
	in := bufio.NewScanner(r)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	if err := in.Err(); err != nil {
		return err
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	var body strings.Builder
	p, widest := pen{color: ink}, 0
	for i, l := range lines {
		widest = max(widest, drawLine(&body, l, &p, float64(margin+lineHeight*(i+1)-4)))
	}
	width, height := 2*margin+cellWidth*float64(widest), 2*margin+lineHeight*len(lines)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" `+
			`font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" `+
			`font-size="14">`+"\n", width, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n%s</svg>\n", ground,
		body.String())
	return out.Flush()
}

// drawLine draws one line and returns how many cells it takes. What the pen is
// at its end holds for the next line.
func drawLine(b *strings.Builder, line string, p *pen, y float64) int {
	x, start, run := 0, 0, strings.Builder{}
	flush := func() {
		if strings.TrimSpace(run.String()) != "" || p.reversed {
			drawRun(b, run.String(), *p, start, x, y)
		}
		run.Reset()
		start = x
	}
	for len(line) > 0 {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			codes, after, ended := strings.Cut(rest, "m")
			if ended && strings.Trim(codes, "0123456789;") == "" {
				flush()
				p.set(codes)
				line = after
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(line)
		run.WriteRune(r)
		x, line = x+1, line[n:]
	}
	flush()
	return x
}

// drawRun draws characters of one look, each word at its cells.
func drawRun(b *strings.Builder, text string, p pen, from, to int, y float64) {
	x, length := margin+cellWidth*float64(from), cellWidth*float64(to-from)
	color, weight := p.color, ""
	if p.reversed {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, x, y-13, length,
			lineHeight, color)
		color = ground
	}
	if p.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<g fill="%s"%s>`, color, weight)
	for _, word := range words(text) {
		x := margin + cellWidth*float64(from+word.at)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`,
			x, y, cellWidth*float64(word.cells), html.EscapeString(word.text))
	}
	b.WriteString("</g>\n")
}

// word is text without a space, each set by itself because what is between
// them is not kept by every reader of SVG.
type word struct {
	text      string
	at, cells int
}

func words(text string) []word {
	var out []word
	at := 0
	for _, w := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(w)
		if n > 0 {
			out = append(out, word{w, at, n})
		}
		at += n + 1
	}
	return out
}

// set takes the codes of one sequence.
func (p *pen) set(codes string) {
	parts := strings.Split(codes, ";")
	for i := 0; i < len(parts); i++ {
		n, _ := strconv.Atoi(parts[i]) // an empty one is 0
		switch {
		case n == 0:
			*p = pen{color: ink}
		case n == 1:
			p.bold = true
		case n == 7:
			p.reversed = true
		case n == 22:
			p.bold = false
		case n == 27:
			p.reversed = false
		case n == 39:
			p.color = ink
		case n == 38 && i+4 < len(parts) && parts[i+1] == "2":
			var rgb [3]int
			for k := range rgb {
				rgb[k], _ = strconv.Atoi(parts[i+2+k])
			}
			p.color = fmt.Sprintf("#%02x%02x%02x", rgb[0]&255, rgb[1]&255, rgb[2]&255)
			i += 4
		}
	}
}
