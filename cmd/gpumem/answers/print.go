package answers

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Sink is where a report goes: stdout, or the file of -o.
type Sink struct {
	Out      *os.File // our stdout
	Getenv   func(string) string
	Path     string // of -o; stdout when it is empty or "-"
	Force    bool   // overwrite the file
	Producer string // the program that a report names
}

// Write writes one report.
func (s Sink) Write(format report.Format, run *record.Run, v *verdict.Verdict) error {
	o := report.Options{Producer: s.Producer}
	if output.ToStdout(s.Path) {
		if format == report.PProf && tty.Is(s.Out) {
			return usage.Errorf("a pprof profile is not text: name a file with -o")
		}
		o.Color, o.Width = tty.WantColor(s.Out, s.Getenv), tty.TextWidth(s.Out)
		return report.Write(s.Out, format, run, v, o)
	}
	return output.Write(s.Out, s.Path, s.Force, func(w io.Writer) error {
		return report.Write(w, format, run, v, o)
	})
}

// Answer is how the verdict of a recording is printed: short, unless all is asked for.
type Answer struct {
	Sink    Sink
	To, Err *os.File // To is Err where stdout is the traced program's
	Format  report.Format
	Verbose bool                   // the whole report
	Short   bool                   // a program that ended too soon to be judged gets one line
	After   func(*verdict.Verdict) // what comes between the answer and the report's name, or nil
}

// Print prints the verdict, or writes it into the file of -o. The last line names the
// report, which has all of it.
func (a Answer) Print(run *record.Run, v *verdict.Verdict) error {
	page := filepath.Join(run.Path, record.FileReport)
	if why := tooShort(run, v); a.Short && a.Sink.Path == "" && a.Format == report.Text && !a.Verbose &&
		why != "" {
		for _, w := range v.Warnings {
			fmt.Fprintf(a.To, "gpumem: warning: %s\n", w)
		}
		_, err := fmt.Fprintf(a.To, "gpumem: %s, too short to be judged (report: %s)\n", why, page)
		return err
	}
	if err := a.report(run, v); err != nil {
		return err
	}
	if a.After != nil {
		a.After(v)
	}
	if a.Sink.Path != "" && a.To == a.Err {
		return nil
	}
	to := a.To
	if a.Format != report.Text || a.Sink.Path != "" {
		to = a.Err // stdout is the answer's, for a program
	} else if v.Verdict != verdict.None {
		fmt.Fprintln(to)
	}
	_, err := fmt.Fprintf(to, "Report: %s\n", page)
	return err
}

// report prints the verdict itself.
func (a Answer) report(run *record.Run, v *verdict.Verdict) error {
	if a.Sink.Path != "" || a.Format != report.Text && a.To == a.Sink.Out {
		return a.Sink.Write(a.Format, run, v)
	}
	o := report.Options{Producer: a.Sink.Producer, Color: tty.WantColor(a.To, a.Sink.Getenv),
		Width: tty.TextWidth(a.To), Brief: !a.Verbose}
	return report.Write(a.To, a.Format, run, v, o)
}

// tooShort says why nothing could be learnt of a program that ended before it worked;
// empty where something was. A page about it would hide what it said itself.
func tooShort(run *record.Run, v *verdict.Verdict) string {
	m := run.Meta
	if v.Verdict != verdict.Undecided || m.End == nil || v.OOM != nil {
		return ""
	}
	ran := m.End.Sub(m.Start)
	if ran = ran.Round(time.Millisecond); ran > 100*time.Millisecond {
		ran = ran.Round(100 * time.Millisecond)
	}
	after := " after " + ran.String()
	const startup = 10 * time.Second // in which a program imports what it needs
	worked := v.Window.Steps > 0 || slices.ContainsFunc(run.Samples.Column(record.ColGPU),
		func(bytes float64) bool { return bytes > 0 })
	switch {
	case v.Window.Samples >= fewestJudged && (worked || m.End.Sub(m.Start) >= startup):
		return ""
	case m.Signal != "" || m.ExitCode != nil && *m.ExitCode != 0:
		return "the program failed" + after
	}
	return "the program ended" + after
}

// fewestJudged is the number of samples without which the engine judges nothing.
const fewestJudged = 12
