package export

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Format names a foreign format.
type Format string

// The formats.
const (
	PProf       Format = "pprof"       // survivors and the profiled window, for go tool pprof
	MemoryViz   Format = "memory_viz"  // a PyTorch memory snapshot
	Perfetto    Format = "perfetto"    // Chrome's trace events: counters and marks
	Parquet     Format = "parquet"     // the samples by column
	OpenMetrics Format = "openmetrics" // the last values and the verdict
	JUnit       Format = "junit"       // an account is a test case
	SARIF       Format = "sarif"       // the finding with its lines of source
	Folded      Format = "folded"      // stacks of the profiled window, by category
	Speedscope  Format = "speedscope"  // the same in speedscope's own format
)

// ErrNothing is wrapped when the run lacks what the format is about.
var ErrNothing = errors.New("nothing to export")

// Known is a format for people.
type Known struct {
	Format Format
	About  string
	Binary bool // not for a terminal
}

// Formats are all formats.
func Formats() []Known {
	return []Known{
		{PProf, "survivors by allocation site and the profiled window, for go tool pprof", true},
		{MemoryViz, "PyTorch memory snapshot, for pytorch.org/memory_viz", true},
		{Perfetto, "counters, marks and the window by category, for ui.perfetto.dev", false},
		{Parquet, "the samples, for DuckDB, pandas, Polars, Spark", true},
		{OpenMetrics, "the last values and the verdict, for Prometheus and GitLab", false},
		{JUnit, "one test case an account, for CI", false},
		{SARIF, "the finding with its lines of source, SARIF 2.1.0 for code scanning", false},
		{Folded, "stacks of the profiled window, by category, for flamegraph.pl", false},
		{Speedscope, "the same with both of --of, for speedscope.app", false},
	}
}

// Options are what a caller may choose. The zero value is usable.
type Options struct {
	// Version is gpumem's, for formats that name the tool; empty is left out.
	Version string
	// SourceRoot is the folder that lines of source are told relative to; one
	// outside of it keeps its path. Empty keeps all.
	SourceRoot string
	// Of is which memory of the profiled window folded, speedscope and pprof show
	// first; empty is the peak, for pprof the survivors where there are any.
	Of Of
}

// Write writes run and v in format to w. It reads its arguments only and may be
// called concurrently; neither may be nil. Errors are those of w, an unknown
// format, and ErrNothing.
func Write(w io.Writer, format Format, run *record.Run, v *verdict.Verdict, o Options) error {
	var err error
	switch format {
	case PProf:
		err = writePProf(w, run, v, o.Of)
	case MemoryViz:
		err = writeMemoryViz(w, run)
	case Perfetto:
		err = writePerfetto(w, run, v)
	case Parquet:
		err = writeParquet(w, run, v)
	case OpenMetrics:
		err = writeOpenMetrics(w, run, v)
	case JUnit:
		err = writeJUnit(w, run, v)
	case SARIF:
		err = writeSARIF(w, run, v, o)
	case Folded:
		err = writeFolded(w, v, o.Of)
	case Speedscope:
		err = writeSpeedscope(w, run, v, o)
	default:
		err = errors.New("no such format")
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", bounded(string(format)), err)
	}
	return nil
}

// maxText bounds a string that comes from the traced program, in bytes.
const maxText = 4096

// bounded is a foreign string, cut and made valid.
func bounded(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// nameOf is what the run is called: its workload, its command or its path.
func nameOf(run *record.Run) string {
	switch {
	case run.Meta.Workload != "":
		return bounded(run.Meta.Workload)
	case len(run.Meta.Command) > 0:
		return bounded(strings.Join(run.Meta.Command, " "))
	}
	return bounded(run.Path)
}

// rowsOf are the rows of the traced process itself, in order: the others belong
// to its children.
func rowsOf(run *record.Run) []int {
	pids := run.Samples.Column(record.ColPID)
	main := float64(run.Meta.PID)
	if main == 0 && len(pids) > 0 {
		main = pids[0]
	}
	rows := make([]int, 0, run.Samples.Len())
	for i := range run.Samples.Len() {
		if pids == nil || record.IsUnknown(pids[i]) || pids[i] == main {
			rows = append(rows, i)
		}
	}
	return rows
}

// sitesOf are the survivors by site as the verdict, or the program, last told
// them.
func sitesOf(run *record.Run, v *verdict.Verdict) []record.Site {
	if v != nil && len(v.Sites) > 0 {
		return v.Sites
	}
	for i := len(run.Events) - 1; i >= 0; i-- {
		if e := run.Events[i]; e.Kind == record.KindSites && len(e.Sites) > 0 {
			return e.Sites
		}
	}
	return nil
}

// placeOf is where a site is, of bounded length.
func placeOf(site string) record.Place { return record.PlaceOf(bounded(site)) }
