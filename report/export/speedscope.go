package export

import (
	"encoding/json"
	"io"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// A file of speedscope's own format: https://www.speedscope.app/file-format-schema.json
// (draft 6). It has two profiles: what lived at the peak, and what the window's steps
// allocated. Their stacks begin with the category and the module.

const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

type speedscopeFile struct {
	Schema   string              `json:"$schema"`
	Name     string              `json:"name"`
	Exporter string              `json:"exporter"`
	Active   int                 `json:"activeProfileIndex"`
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
}

// speedscopeProfile is one of stacks with weights. The end is the sum of the weights:
// speedscope draws the profile from start to end.
type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

func writeSpeedscope(w io.Writer, run *record.Run, v *verdict.Verdict, o Options) error {
	if v.Peak == nil {
		return errNoWindow()
	}
	f := speedscopeFile{Schema: speedscopeSchema, Name: nameOf(run), Exporter: "gpumem",
		Shared: speedscopeShared{Frames: []speedscopeFrame{}}}
	if o.Version != "" {
		f.Exporter += "@" + o.Version
	}
	if o.Of == OfWindow {
		f.Active = 1
	}
	at := map[speedscopeFrame]int{}
	f.add("live at the peak", v.Peak.AtPeak(), at)
	f.add("allocated in the window", v.Peak.Allocated(), at)
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// add adds a profile; at are the positions of the frames that are there.
func (f *speedscopeFile) add(name string, parts []peak.Part, at map[speedscopeFrame]int) {
	p := speedscopeProfile{Type: "sampled", Name: name, Unit: "bytes", Samples: [][]int{}, Weights: []int64{}}
	position := func(frame speedscopeFrame) int {
		k, ok := at[frame]
		if !ok {
			k = len(f.Shared.Frames)
			at[frame] = k
			f.Shared.Frames = append(f.Shared.Frames, frame)
		}
		return k
	}
	for _, part := range parts {
		stack := []int{position(speedscopeFrame{Name: bounded(part.Category)})}
		for _, text := range framesOf(&part) {
			place := placeOf(text)
			frame := speedscopeFrame{Name: place.Name, File: place.File, Line: place.Line}
			if frame.Name == "" {
				frame.Name = bounded(text)
			}
			stack = append(stack, position(frame))
		}
		p.Samples, p.Weights = append(p.Samples, stack), append(p.Weights, part.Bytes)
		p.End += part.Bytes
	}
	f.Profiles = append(f.Profiles, p)
}
