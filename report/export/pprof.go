package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Sample types of a profiled window, beside those of survivors, which are the names
// of Go's heap profile.
const (
	peakObjects, peakSpace   = "peak_objects", "peak_space"
	allocObjects, allocSpace = "alloc_objects", "alloc_space"
)

// survivorTypes is how many sample types survivors have.
const survivorTypes = 2

// writePProf writes survivors by site, and the window with its categories as labels.
// Of both, one has no values of the other's types.
func writePProf(w io.Writer, run *record.Run, v *verdict.Verdict, of Of) error {
	p, err := survivors(run, v)
	if err != nil {
		return err
	}
	if v.Peak == nil {
		switch {
		case of != "":
			return errNoWindow()
		case len(p.Sample) == 0:
			return fmt.Errorf("%w: the run knows no allocation sites and has no profiled window; "+
				"record them with gpumem run --sites or --profile", ErrNothing)
		}
		return p.Write(w)
	}
	p.SampleType = append(p.SampleType, &profile.ValueType{Type: peakObjects, Unit: "count"},
		&profile.ValueType{Type: peakSpace, Unit: "bytes"},
		&profile.ValueType{Type: allocObjects, Unit: "count"},
		&profile.ValueType{Type: allocSpace, Unit: "bytes"})
	switch {
	case of == OfWindow:
		p.DefaultSampleType = allocSpace
	case of == OfPeak || len(p.Sample) == 0:
		p.DefaultSampleType = peakSpace
	}
	for _, s := range p.Sample {
		s.Value = append(s.Value, 0, 0, 0, 0)
	}
	b := profileBuilder{Profile: p, functions: map[[2]string]*profile.Function{},
		places: map[string]*profile.Location{}}
	b.add(v.Peak.AtPeak(), survivorTypes)
	b.add(v.Peak.Allocated(), survivorTypes+2)
	return p.Write(w)
}

// survivors is the profile of what still lived, without a sample where the program
// told of none.
func survivors(run *record.Run, v *verdict.Verdict) (*profile.Profile, error) {
	var told bytes.Buffer
	err := report.Write(&told, report.PProf, run, v, report.Options{})
	if err == nil {
		return profile.Parse(&told)
	}
	if !errors.Is(err, report.ErrNoSites) {
		return nil, err
	}
	p := &profile.Profile{DefaultSampleType: "inuse_space", Period: 1,
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"},
			{Type: "inuse_space", Unit: "bytes"}}}
	if !run.Meta.Start.IsZero() {
		p.TimeNanos = run.Meta.Start.UnixNano()
	}
	return p, nil
}

// profileBuilder adds stacks to a profile.
type profileBuilder struct {
	*profile.Profile
	functions map[[2]string]*profile.Function // by file and name
	places    map[string]*profile.Location    // by frame
}

// add adds parts, whose count and bytes are the values from a position on.
func (b *profileBuilder) add(parts []peak.Part, at int) {
	for _, part := range parts {
		s := &profile.Sample{Value: make([]int64, len(b.SampleType)),
			Label: map[string][]string{"category": {bounded(part.Category)}}}
		if part.Module != "" {
			s.Label["module"] = []string{bounded(part.Module)}
		}
		s.Value[at], s.Value[at+1] = part.Count, part.Bytes
		for i := range part.Stack { // the format begins with the innermost frame
			s.Location = append(s.Location, b.place(bounded(part.Stack[len(part.Stack)-1-i])))
		}
		b.Sample = append(b.Sample, s)
	}
}

func (b *profileBuilder) place(frame string) *profile.Location {
	if l := b.places[frame]; l != nil {
		return l
	}
	at := record.PlaceOf(frame)
	name := at.Name
	if strings.HasPrefix(name, "<") && at.File != "" { // Python's <module> is in every file
		name = at.File[strings.LastIndexAny(at.File, `/\`)+1:] + ":" + name
	}
	key := [2]string{at.File, name}
	f := b.functions[key]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.Function) + 1), Name: name, SystemName: name,
			Filename: at.File}
		b.functions[key] = f
		b.Function = append(b.Function, f)
	}
	l := &profile.Location{ID: uint64(len(b.Location) + 1),
		Line: []profile.Line{{Function: f, Line: at.Line}}}
	b.places[frame] = l
	b.Location = append(b.Location, l)
	return l
}
