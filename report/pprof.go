package report

import (
	"io"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// writePProf writes the survivors by site as a gzipped profile with the
// sample types inuse_objects and inuse_space, the names of Go's heap profile,
// so that "go tool pprof" shows space by default.
func writePProf(w io.Writer, run *record.Run, v *verdict.Verdict) error {
	sites := v.Sites
	if len(sites) == 0 {
		sites = lastSites(run)
	}
	if len(sites) == 0 {
		return ErrNoSites
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"},
			{Type: "inuse_space", Unit: "bytes"}},
		DefaultSampleType: "inuse_space",
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:            1, // every allocation is counted, none is sampled
	}
	if !run.Meta.Start.IsZero() {
		p.TimeNanos = run.Meta.Start.UnixNano()
		if run.Meta.End != nil {
			p.DurationNanos = run.Meta.End.Sub(run.Meta.Start).Nanoseconds()
		}
	}
	functions := map[[2]string]*profile.Function{}
	for _, s := range sites {
		file, line, name := functionOf(s.Site)
		f := functions[[2]string{file, name}]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name,
				Filename: file}
			functions[[2]string{file, name}] = f
			p.Function = append(p.Function, f)
		}
		loc := &profile.Location{ID: uint64(len(p.Location) + 1),
			Line: []profile.Line{{Function: f, Line: line}}}
		p.Location = append(p.Location, loc)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc},
			Value: []int64{s.Count, s.Bytes}})
	}
	return p.Write(w)
}

// lastSites are the survivors as the program last told them: not those of a window, which are samples.
func lastSites(run *record.Run) []record.Site {
	for i := len(run.Events) - 1; i >= 0; i-- {
		if e := &run.Events[i]; len(e.Sites) > 0 && record.SiteWindowOf(e) == 0 {
			return e.Sites
		}
	}
	return nil
}

// functionOf is the function that a site names in a profile, in which sites of
// one file and function come together.
func functionOf(site string) (file string, line int64, name string) {
	const limit = 4096 // a name of 10 MB helps nobody in a profile
	at := record.PlaceOf(strings.ToValidUTF8(site[:min(len(site), limit)], "\uFFFD"))
	switch {
	case at.File == "":
	case strings.HasPrefix(at.Name, "<"): // Python's <module> and <lambda> are in every file
		at.Name = base(at.File) + ":" + at.Name
	case at.Name == "":
		at.Name = at.File + ":" + strconv.FormatInt(at.Line, 10)
	}
	return at.File, at.Line, at.Name
}
