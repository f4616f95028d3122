package screen

import (
	"fmt"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// Progress is the line that a person watches while a program is traced.
type Progress struct {
	w     *os.File
	name  string
	off   bool
	last  time.Time
	shown bool
}

// NewProgress is a line on w for the program of a name; off draws none.
func NewProgress(w *os.File, name string, off bool) *Progress {
	return &Progress{w: w, name: name, off: off}
}

// Called is what the tracer is to call, nil where no line is drawn: it then need not
// wake anybody for each row.
func (p *Progress) Called() func(tracer.Progress) {
	if p.off {
		return nil
	}
	return p.show
}

// show redraws the line, at most five times a second. The tracer calls it from
// one goroutine.
func (p *Progress) show(s tracer.Progress) {
	if p.off || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	line := fmt.Sprintf("gpumem: %s  %s  %d samples", p.name, s.Elapsed.Round(100*time.Millisecond), s.Rows)
	for _, c := range []struct{ column, label string }{
		{record.ColStep, "step"}, {record.ColRSS, "rss"}, {record.ColGPU, "gpu"},
		{record.ColLive, string(record.AccountLive)}, {record.ColIdle, string(record.AccountIdle)},
	} {
		for _, cell := range s.Row.Cells {
			if cell.Column == c.column {
				line += "  " + c.label + " " + progressValue(c.column, cell.Value)
			}
		}
	}
	// A line that wraps could not be drawn over.
	fmt.Fprintf(p.w, "\r\x1b[K%s", ansi.Truncate(line, max(tty.Width(p.w)-1, 20), ""))
}

func progressValue(column string, v int64) string {
	if column == record.ColStep {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%.1f MiB", float64(v)/(1<<20))
}

// Clear takes the line away.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
