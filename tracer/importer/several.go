package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// ErrOneFile is wrapped by Join for recordings that have a course of their
// own, of which only one makes a run.
var ErrOneFile = errors.New("only states of one moment can be put together")

// untimedMs lies between two rows of a run without times: the verdict counts
// them so, and marks must meet their rows.
const untimedMs = 1000

// Join makes one run of the states in several files of one kind, oldest first:
// a row a file, with the growth of each allocation site from the first to the
// last. Of a snapshot that has a course of its own the last moment is taken.
// With released set, each file was written when the program had given up what
// it could: the first is marked as baseline, the others as released.
func Join(runs []*record.Run, released bool) (*record.Run, error) {
	if len(runs) == 0 {
		return nil, errors.New("join recordings: none was given")
	}
	kind := Kind(runs[0].Meta.Versions[recordedBy])
	for _, run := range runs {
		other := Kind(run.Meta.Versions[recordedBy])
		if other != kind {
			return nil, fmt.Errorf("join recordings: %s is %s, %s is %s", runs[0].Path, kind, run.Path, other)
		}
	}
	if !isMoment(kind) {
		return nil, fmt.Errorf("join recordings: %s has a course of its own (%s): %w", runs[0].Path,
			kind, ErrOneFile)
	}
	joined := &record.Run{Path: runs[0].Path, Meta: runs[0].Meta}
	joined.Meta.End = nil
	times, timed := moments(runs)
	joined.Samples = joinRows(runs, times, timed)
	for i, run := range runs {
		joined.Warnings = append(joined.Warnings, joinWarnings(joined.Warnings, run.Warnings)...)
		if released && len(runs) > 1 {
			name := record.PhaseReleased
			if i == 0 {
				name = record.PhaseBaseline
			}
			joined.Events = append(joined.Events,
				record.Event{TMs: times[i], Kind: record.KindPhase, Name: name, Text: run.Path})
		}
	}
	if e, ok := joinSites(runs); ok {
		e.TMs = times[len(times)-1]
		joined.Events = append(joined.Events, e)
	}
	begin(joined, kind)
	return joined, nil
}

// joinWarnings are the warnings of one more file: what holds for the format is
// said once, and that one file shows no growth is no longer true.
func joinWarnings(before, more []record.Warning) []record.Warning {
	var out []record.Warning
	for _, w := range more {
		said := slices.ContainsFunc(before, func(b record.Warning) bool { return b.Text == w.Text })
		if !said && !strings.HasSuffix(w.Text, momentNote) {
			out = append(out, w)
		}
	}
	return out
}

func isMoment(kind Kind) bool {
	for _, f := range formats() {
		if f.kind == kind {
			return f.moment
		}
	}
	return false
}

// moments are the times of the files from the first on, in milliseconds. Of
// files without times, or with times that do not advance, timed is false and
// they lie one row apart.
func moments(runs []*record.Run) (ms []float64, timed bool) {
	ms = make([]float64, len(runs))
	var first, last time.Time
	for i, run := range runs {
		at := run.Meta.Start
		if run.Meta.End != nil {
			at = *run.Meta.End
		}
		if at.IsZero() || i > 0 && !at.After(last) {
			for j := range ms {
				ms[j] = float64(j) * untimedMs
			}
			return ms, false
		}
		if i == 0 {
			first = at
		}
		last = at
		ms[i] = float64(at.Sub(first).Microseconds()) / 1000
	}
	return ms, true
}

// joinRows takes the last row of each run.
func joinRows(runs []*record.Run, times []float64, timed bool) *record.Samples {
	names := []string{record.ColTime, record.ColStep}
	for _, run := range runs {
		for _, name := range run.Samples.Names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	t := newTable(names...)
	for i, run := range runs {
		t.row()
		for _, name := range run.Samples.Names() {
			if column := run.Samples.Column(name); len(column) > 0 &&
				!record.IsUnknown(column[len(column)-1]) {
				t.set(name, column[len(column)-1])
			}
		}
		t.set(record.ColStep, float64(i+1))
		if timed {
			t.set(record.ColTime, times[i])
		} else if i := t.index[record.ColTime]; t.used[i] {
			t.used[i] = false // of a course within a file, not between files
		}
	}
	return t.samples()
}

// joinSites are the survivors of the last file, and what each held more than
// in the first.
func joinSites(runs []*record.Run) (record.Event, bool) {
	first := map[string]int64{}
	for _, s := range sitesOf(runs[0]) {
		first[s.Site] = s.Bytes
	}
	sites := slices.Clone(sitesOf(runs[len(runs)-1]))
	for i := range sites {
		sites[i].GrowthBytes = sites[i].Bytes - first[sites[i].Site]
	}
	return record.Event{Kind: record.KindSites, Sites: sites}, len(sites) > 0
}

func sitesOf(run *record.Run) []record.Site {
	for _, e := range slices.Backward(run.Events) {
		if e.Kind == record.KindSites {
			return e.Sites
		}
	}
	return nil
}
