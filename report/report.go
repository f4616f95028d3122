package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Format names an output format.
type Format string

// The formats.
const (
	Text     Format = "text"     // for a terminal, at most Options.Width columns
	JSON     Format = "json"     // verdict.json
	CSV      Format = "csv"      // the samples, normalised
	HTML     Format = "html"     // one self-contained file
	Markdown Format = "markdown" // for a ticket, at most 60,000 characters
	PProf    Format = "pprof"    // gzipped profile of survivors by site
)

// ErrNoSites is returned for Format PProf when the run knows no survivors by
// allocation site.
var ErrNoSites = errors.New("no allocation sites are known")

// Formats are all formats, in the order of the documentation.
func Formats() []Format {
	return []Format{Text, JSON, CSV, HTML, Markdown, PProf}
}

// ParseFormat returns the format of that name. The error of an unknown name
// lists the names.
func ParseFormat(name string) (Format, error) {
	names := make([]string, 0, len(Formats()))
	for _, f := range Formats() {
		if string(f) == name {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("unknown format %q, one of %s", clean(name, 40), strings.Join(names, ", "))
}

// Options are what a caller may choose. The zero value is a plain report.
type Options struct {
	// Brief leaves of Text the answer alone: the sentence, what to do first, and the
	// accounts in one small table where something grows or may grow.
	Brief bool
	// Color allows terminal colours in Text. The caller decides, by NO_COLOR
	// and whether it writes to a terminal.
	Color bool
	// Width is the number of columns Text may use; 0 means 100. Less than 60
	// is taken as 60.
	Width int
	// Title heads the report; empty means the workload, the command's first
	// word or the run's path, whichever is known first.
	Title string
	// Producer is the program and version that writes the report, for the
	// last line of HTML and Markdown ("gpumem 0.1.0"); empty is left out.
	Producer string
}

// Write renders run and v in format to w. It reads its arguments only and may
// be called concurrently. A nil run is an empty one; v must not be nil. Errors
// are those of w, an unknown format, a verdict that JSON cannot express, and
// ErrNoSites.
func Write(w io.Writer, format Format, run *record.Run, v *verdict.Verdict, o Options) error {
	if v == nil {
		return errors.New("write report: no verdict")
	}
	if run == nil {
		run = &record.Run{}
	}
	if run.Samples == nil {
		empty := *run
		empty.Samples = &record.Samples{}
		run = &empty
	}
	var err error
	switch format {
	case Text:
		if o.Brief {
			err = writeBrief(w, run, v, o)
			break
		}
		err = writeText(w, newDocument(run, v, o), o)
	case JSON:
		err = writeJSON(w, v)
	case CSV:
		err = writeCSV(w, run)
	case HTML:
		err = writeHTML(w, newDocument(run, v, o))
	case Markdown:
		err = writeMarkdown(w, newDocument(run, v, o), o)
	case PProf:
		err = writePProf(w, run, v)
	default:
		_, err = ParseFormat(string(format))
	}
	if err != nil {
		return fmt.Errorf("write %s report: %w", clean(string(format), 20), err)
	}
	return nil
}
