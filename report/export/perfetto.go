package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// A trace in the JSON of Chrome's Trace Event Format, which Perfetto reads:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
// Times are microseconds from the run's start.

// counterTrack is one track of the trace: columns that are drawn on each other.
type counterTrack struct {
	name   string
	series []counterSeries
}

type counterSeries struct{ name, column string }

// counterTracks are the tracks, for the devices' columns once a device.
var counterTracks = []counterTrack{
	{"device memory", []counterSeries{
		{string(record.AccountLive), record.ColLive}, {string(record.AccountIdle), record.ColIdle},
	}},
	{"process on the GPU", []counterSeries{{"bytes", record.ColGPU}}},
	{"host memory", []counterSeries{{"footprint", record.ColFootprint}, {"resident", record.ColRSS},
		{"heap", record.ColHostHeap}}},
	{"live handles", []counterSeries{{"count", record.ColLiveCount}}},
	{"command buffers in flight", []counterSeries{{"count", record.ColInFlight}}},
}

// maxMarks bounds the marks; a program may set one a step.
const maxMarks = 200_000

// traceEvent is one event of the format. Name, phase, pid and tid are in each.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Cat   string         `json:"cat,omitempty"`
	TS    *float64       `json:"ts,omitempty"` // absent in metadata
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"` // of an instant: t, p or g
	Args  map[string]any `json:"args,omitempty"`
}

// traceWriter writes events one by one, because a run may have millions.
type traceWriter struct {
	out    *bufio.Writer
	first  bool
	err    error
	args   []byte   // of the counter being written
	number [32]byte // likewise
}

func (t *traceWriter) separate() {
	if !t.first {
		t.out.WriteString(",\n")
	}
	t.first = false
}

func (t *traceWriter) event(e traceEvent) {
	text, err := json.Marshal(e)
	if err != nil {
		t.err = err
		return
	}
	t.separate()
	t.out.Write(text)
}

// writePerfetto writes the columns of memory as counters and the marks of the
// run as instants.
func writePerfetto(w io.Writer, run *record.Run, v *verdict.Verdict) error {
	times := run.Samples.Column(record.ColTime)
	if times == nil {
		return fmt.Errorf("%w: the run has no times, and a trace is nothing without; try parquet", ErrNothing)
	}
	t := &traceWriter{out: bufio.NewWriterSize(w, 64<<10), first: true}
	t.out.WriteString("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")
	pids := run.Samples.Column(record.ColPID)
	named := map[int]bool{}
	tracks := tracksOf(run)
	for i, ms := range times {
		if record.IsUnknown(ms) {
			continue
		}
		pid := run.Meta.PID
		if pids != nil && !record.IsUnknown(pids[i]) {
			pid = int(pids[i])
		}
		if !named[pid] {
			named[pid] = true
			t.process(run, pid)
		}
		for _, track := range tracks {
			t.counter(track, i, ms, pid)
		}
	}
	t.marks(run)
	t.window(run, v.Peak)
	t.out.WriteString("\n],\n\"otherData\":")
	other, err := json.Marshal(map[string]string{"producer": "gpumem", "run": nameOf(run),
		"verdict": string(v.Verdict), "summary": bounded(v.Summary)})
	if err != nil {
		return err
	}
	t.out.Write(other)
	t.out.WriteString("}\n")
	if t.err != nil {
		return t.err
	}
	return t.out.Flush()
}

func (t *traceWriter) process(run *record.Run, pid int) {
	name := "child process"
	if pid == run.Meta.PID || run.Meta.PID == 0 {
		name = nameOf(run)
	}
	t.event(traceEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
}

// boundTrack is a track with the columns that the run has. head and the names of
// its series are JSON already: a run of a million samples has ten million cells.
type boundTrack struct {
	head   string
	series []boundSeries
}

type boundSeries struct {
	name   string
	values []float64
	last   map[int]float64 // by process, what the track shows now
}

func tracksOf(run *record.Run) []boundTrack {
	var out []boundTrack
	for _, track := range counterTracks {
		for _, suffix := range append([]string{""}, deviceSuffixes(run)...) {
			name := track.name
			if suffix != "" {
				name += ", device " + suffix[1:]
			}
			b := boundTrack{head: `{"name":` + strconv.Quote(name) +
				`,"ph":"C","cat":"memory","tid":0,"pid":`}
			for _, s := range track.series {
				if values := run.Samples.Column(s.column + suffix); values != nil {
					b.series = append(b.series, boundSeries{strconv.Quote(s.name), values, map[int]float64{}})
				}
			}
			if len(b.series) > 0 {
				out = append(out, b)
			}
		}
	}
	return out
}

// deviceSuffixes are the "@N" of the run's columns, in order of appearance.
func deviceSuffixes(run *record.Run) []string {
	var out []string
	seen := map[int]bool{}
	for _, name := range run.Samples.Names() {
		if _, n, ok := record.SplitDevice(name); ok && !seen[n] && len(seen) < maxVizDevice {
			seen[n] = true
			out = append(out, "@"+strconv.Itoa(n))
		}
	}
	return out
}

// counter writes one moment of a track. Unknown values are left out of it, and
// a moment that changes nothing: a counter keeps its value.
func (t *traceWriter) counter(track boundTrack, row int, ms float64, pid int) {
	changed := false
	args := t.args[:0]
	for _, s := range track.series {
		v := s.values[row]
		if record.IsUnknown(v) || math.IsInf(v, 0) {
			continue
		}
		if old, ok := s.last[pid]; !ok || old != v {
			changed = true
			s.last[pid] = v
		}
		if len(args) > 0 {
			args = append(args, ',')
		}
		args = append(append(args, s.name...), ':')
		args = strconv.AppendInt(args, int64(v), 10)
	}
	t.args = args
	if !changed {
		return
	}
	t.separate()
	t.out.WriteString(track.head)
	t.out.Write(strconv.AppendInt(t.number[:0], int64(pid), 10))
	t.out.WriteString(`,"ts":`)
	t.out.Write(strconv.AppendFloat(t.number[:0], ms*1000, 'f', -1, 64))
	t.out.WriteString(`,"args":{`)
	t.out.Write(args)
	t.out.WriteString("}}")
}

// window writes what lived in a profiled window, one counter track a category, and
// the moment of its peak. A counter keeps its value: after the window all are 0.
func (t *traceWriter) window(run *record.Run, p *peak.Peak) {
	if p == nil {
		return
	}
	pid := p.PID
	if pid == 0 {
		pid = run.Meta.PID
	}
	last, end := map[string]bool{}, 0.
	tell := func(c peak.Change) {
		us := (p.BeganMs + c.Ms) * 1000
		last[c.Category], end = true, us
		t.event(traceEvent{Name: "in the window: " + bounded(c.Category), Phase: "C", Cat: "memory", TS: &us,
			PID: pid, Args: map[string]any{"live": c.Live}})
	}
	p.Course(tell)
	after := end/1000 - p.BeganMs + .001
	for _, name := range slices.Sorted(maps.Keys(last)) {
		tell(peak.Change{Ms: after, Category: name})
	}
	us := (p.BeganMs + p.AtMs) * 1000
	t.event(traceEvent{Name: "peak of the window", Phase: "i", Cat: "memory", TS: &us, PID: pid, Scope: "p",
		Args: map[string]any{"live": p.Bytes}})
}

// marks writes the marks as instants of their process.
func (t *traceWriter) marks(run *record.Run) {
	n := 0
	for _, e := range run.Events {
		name, args := markOf(e)
		if name == "" || n == maxMarks || math.IsNaN(e.TMs) || math.IsInf(e.TMs, 0) {
			continue
		}
		n++
		pid := e.PID
		if pid == 0 {
			pid = run.Meta.PID
		}
		us := e.TMs * 1000
		t.event(traceEvent{Name: name, Phase: "i", Cat: bounded(e.Kind), TS: &us, PID: pid, Scope: "p",
			Args: args})
	}
}

// markOf is what a mark is called; lists of survivors are none.
func markOf(e record.Event) (name string, args map[string]any) {
	args = map[string]any{}
	put := func(key, text string) {
		if text != "" {
			args[key] = bounded(text)
		}
	}
	put("at", e.At)
	put("text", e.Text)
	switch e.Kind {
	case record.KindStep:
		args["step"] = e.Step
		return "step", args
	case record.KindReceipt:
		if e.Receipt == nil {
			return "", nil
		}
		for key, n := range map[string]*int64{"claimed_bytes": e.Receipt.ClaimedBytes,
			"returned_bytes": e.Receipt.ReturnedBytes, "gpu_returned_bytes": e.Receipt.GPUBytes} {
			if n != nil {
				args[key] = *n
			}
		}
		return bounded(e.Receipt.Action), args
	case record.KindPhase, record.KindScope, record.KindEvent:
		return bounded(e.Name), args
	case record.KindWarning:
		return "warning", args
	}
	return "", nil
}
