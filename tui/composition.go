package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// Composition is what live memory was made of when the program told last.
type Composition struct {
	AtMs  float64
	Parts []Part // greatest first; together they are Bytes
	Bytes int64
	// Incomplete is set when the program's search for names ended early.
	Incomplete bool
}

// Part is one category of live memory: parameters, gradients, activations, ….
type Part struct {
	Name  string
	Bytes int64
}

// composed takes what an event tells of live memory. The lock is held.
func (f *Feed) composed(e *record.Event) {
	d, ok := record.DetailOf[record.Composition](e)
	if !ok || len(d.Categories) == 0 {
		return
	}
	c := &Composition{AtMs: e.TMs, Incomplete: d.Incomplete}
	for name, bytes := range d.Categories {
		c.Bytes += bytes
		if bytes > 0 {
			c.Parts = append(c.Parts, Part{clean(name), bytes})
		}
	}
	slices.SortFunc(c.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	f.composition = c
}

// compositionPanel is what live memory is made of.
type compositionPanel struct {
	*styles
	frame   *Frame
	focused bool
	scroll  int
	offered bool // the program can be asked
}

// Render implements the panel.
func (p compositionPanel) Render(w, h int) string {
	c, name := p.frame.Composition, panelNames[panelComposition]
	if c == nil {
		var body []string
		for _, l := range wrap(p.untold(), w-2, 0) {
			body = append(body, " "+l)
		}
		return p.box(panelComposition, name, p.focused, body, w, h)
	}
	name += ", " + units.Bytes(c.Bytes) + " at " + clockText(c.AtMs, true)
	return p.box(panelComposition, name, p.focused, scrolled(p.lines(w), p.scroll, h-1), w, h)
}

// untold says why nothing is known of the live memory, and how to ask for it.
func (p compositionPanel) untold() string {
	switch {
	case p.offered:
		return "Not told so far. Press r to ask the program what its live memory is made of."
	case p.frame.Done:
		return "The program did not tell what its live memory is made of: only programs with PyTorch, JAX, " +
			"CuPy or MLX on a device do."
	}
	return "Not told so far. A program with PyTorch, JAX, CuPy or MLX on a device tells what its live " +
		"memory is made of at its end, and sooner when it is asked: with key r on the screen that records " +
		"it (gpumem run --tui, gpumem attach)."
}

// lines are one a category: its bytes, its share as a number and as a bar, its name.
func (p compositionPanel) lines(w int) []string {
	c := p.frame.Composition
	if c == nil {
		return nil
	}
	cells := min(max(w/4, 6), 24)
	var lines []string
	for _, x := range c.Parts {
		share := float64(x.Bytes) / float64(c.Bytes)
		lines = append(lines, cut(" "+right(units.Bytes(x.Bytes), 9)+" "+right(units.Percent(share), 6)+" "+
			p.paint(live, bar(share, cells))+" "+strings.ReplaceAll(x.Name, "_", " "), w))
	}
	if c.Incomplete {
		lines = append(lines, p.paint(dim, cut(" The search for names ended early: some of it has none.", w)))
	}
	return lines
}
