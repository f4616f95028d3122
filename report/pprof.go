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
		SampleType:        []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
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
		file, line, name := splitSite(s.Site)
		f := functions[[2]string{file, name}]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: file}
			functions[[2]string{file, name}] = f
			p.Function = append(p.Function, f)
		}
		loc := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f, Line: line}}}
		p.Location = append(p.Location, loc)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{loc}, Value: []int64{s.Count, s.Bytes}})
	}
	return p.Write(w)
}

// lastSites are the survivors as the program last told them.
func lastSites(run *record.Run) []record.Site {
	for i := len(run.Events) - 1; i >= 0; i-- {
		if len(run.Events[i].Sites) > 0 {
			return run.Events[i].Sites
		}
	}
	return nil
}

// splitSite takes "file:line func" apart. What does not have that form is a
// function without a file.
func splitSite(site string) (file string, line int64, name string) {
	const limit = 4096 // a name of 10 MB helps nobody in a profile
	if len(site) > limit {
		site = site[:limit]
	}
	site = strings.ToValidUTF8(site, "\uFFFD")
	place, name, _ := strings.Cut(site, " ")
	for i := strings.LastIndexByte(place, ':'); i > 0; i = strings.LastIndexByte(place[:i], ':') {
		end := len(place)
		if j := strings.IndexByte(place[i+1:], ':'); j >= 0 {
			end = i + 1 + j
		}
		if n, err := strconv.ParseInt(place[i+1:end], 10, 64); err == nil && n >= 0 {
			file, line = place[:i], n // of "file:line:col" the loop ends at the line
			continue
		}
		break
	}
	if file == "" {
		return "", 0, site
	}
	switch {
	case strings.HasPrefix(name, "<"): // Python's <module> and <lambda> are in every file
		name = base(file) + ":" + name
	case name == "":
		name = file + ":" + strconv.FormatInt(line, 10)
	}
	return file, line, name
}
