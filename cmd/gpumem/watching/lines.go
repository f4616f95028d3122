package watching

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer/record"
)

// Lines prints a JSON object a sample: the devices of the machine, and a row of each
// process. It ends with ctx, or after so many samples (0: never).
func Lines(ctx context.Context, o Options, samples int) error {
	rows := &lineRows{to: json.NewEncoder(o.Out), left: samples, names: map[int]string{}}
	return rows.watch(ctx, o, rows)
}

// Sample is one sample of a machine. What is not known is left out.
type Sample struct {
	Schema    int       `json:"schema"`
	Time      time.Time `json:"time"`
	Devices   []Device  `json:"devices"`
	Processes []Process `json:"processes"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// Device is one device of the machine.
type Device struct {
	Device int    `json:"device"`
	Name   string `json:"name,omitempty"`
	UUID   string `json:"uuid,omitempty"`
	Total  *int64 `json:"total_bytes,omitempty"`
	Used   *int64 `json:"used_bytes,omitempty"`
	// Level is normal, high (75 %) or full (90 %), as far as both are known.
	Level string `json:"level,omitempty"`
	// Kinds are the used bytes by kind of memory, of devices with several.
	Kinds map[string]int64 `json:"kinds,omitempty"`
}

// Process is one process: its columns are those of samples.csv.
type Process struct {
	PID    int              `json:"pid"`
	Name   string           `json:"name,omitempty"`
	Ended  bool             `json:"ended,omitempty"`
	Sample map[string]int64 `json:"sample,omitempty"`
}

// lineRows is the lines as a taker. It belongs to one goroutine.
type lineRows struct {
	to      *json.Encoder
	devices func() []scan.Device
	names   map[int]string
	next    Sample
	left    int // samples to print, 0 for no end
	end     func()
	err     error
}

// watch prints the samples as to does, which is r or has it inside.
func (r *lineRows) watch(ctx context.Context, o Options, to taker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.end = cancel
	w, err := newWatcher(ctx, &o, to, nil)
	if err != nil {
		return err
	}
	defer w.close()
	r.devices = func() []scan.Device { return devicesOf(ctx, w.sources) }
	w.run(ctx)
	return r.err
}

func (r *lineRows) SetMeta(record.Meta) {}

func (r *lineRows) Name(pid int, name string) { r.names[pid] = name }

func (r *lineRows) Row(pid int, _ float64, cells []record.Cell) {
	p := Process{PID: pid, Name: r.names[pid], Sample: make(map[string]int64, len(cells))}
	for _, c := range cells {
		p.Sample[c.Column] = c.Value
	}
	r.next.Processes = append(r.next.Processes, p)
}

func (r *lineRows) Gone(pid int) {
	r.next.Processes = append(r.next.Processes, Process{PID: pid, Name: r.names[pid], Ended: true})
}

func (r *lineRows) Forget(pid int) { delete(r.names, pid) }

func (r *lineRows) Fault(text string) { r.next.Warnings = append(r.next.Warnings, text) }

func (r *lineRows) Event(record.Event) {}

func (r *lineRows) Held(float64, []scan.Elsewhere) {}

// Round prints the sample.
func (r *lineRows) Round() {
	line := r.next
	r.next = Sample{}
	line.Schema, line.Time = 1, time.Now().UTC()
	line.Devices = []Device{}
	if line.Processes == nil {
		line.Processes = []Process{}
	}
	for _, d := range r.devices() {
		out := Device{Device: d.Index, Name: d.Name, UUID: d.UUID, Total: plain.Known(d.TotalBytes),
			Used: plain.Known(d.UsedBytes)}
		if d.TotalBytes > 0 && d.UsedBytes != probe.Unknown {
			out.Level = plain.FillOf(uint64(d.UsedBytes), uint64(d.TotalBytes)).String()
		}
		for _, k := range d.Kinds {
			if out.Kinds == nil {
				out.Kinds = map[string]int64{}
			}
			out.Kinds[k.Name] = k.Bytes
		}
		line.Devices = append(line.Devices, out)
	}
	r.err = errors.Join(r.err, r.to.Encode(line))
	if r.left--; r.left == 0 || r.err != nil {
		r.end()
	}
}

var _ taker = (*lineRows)(nil)
