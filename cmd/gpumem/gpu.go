package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// gpuFlags choose who is asked for GPU bytes.
type gpuFlags struct {
	names []string
}

func defaultGPUFlags() gpuFlags { return gpuFlags{names: []string{"auto"}} }

func (g *gpuFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&g.names, "gpu", g.names,
		"who is asked for GPU bytes: auto (whoever is here), none, or "+strings.Join(scan.SourceNames(), ", "))
}

// check refuses names that are no sources.
func (g *gpuFlags) check() error {
	known := append([]string{"auto", "none"}, scan.SourceNames()...)
	for _, name := range g.names {
		if !slices.Contains(known, name) {
			return usagef("--gpu %s: no such source%s", name, suggest(name, known))
		}
		if (name == "auto" || name == "none") && len(g.names) > 1 {
			return usagef("--gpu %s: stands alone", name)
		}
	}
	return nil
}

// open looks for the sources, nil with none. One that was asked for by name
// and is not here is an error; otherwise absence is no news.
func (g *gpuFlags) open(ctx context.Context) (*scan.Sources, error) {
	var o scan.SourceOptions
	switch {
	case slices.Contains(g.names, "none"):
		return nil, nil
	case !slices.Contains(g.names, "auto"):
		o.Only = g.names
	}
	s := scan.OpenSources(ctx, o)
	if absent := s.Absent(); len(o.Only) > 0 && len(absent) > 0 {
		s.Close() // what it did not open needs no word
		return nil, fmt.Errorf("--gpu %s: %w", absent[0].Source, absent[0].Err)
	}
	return s, nil
}

// gpuTrace are the sources of one traced run.
type gpuTrace struct {
	sources *scan.Sources
	readers []scan.Reader
}

// trace puts the sources that are here into a tracer's configuration. With one
// device only it also says which and how much it has, as far as the program
// does not say so itself. end gives everything back.
func (g *gpuFlags) trace(ctx context.Context, cfg *tracer.Config) (*gpuTrace, error) {
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	t := &gpuTrace{sources: s}
	if !s.Here() {
		return t, nil
	}
	t.readers = s.Readers()
	cfg.GPU = append(cfg.GPU, newGPUSource(t.readers))
	devices := s.Devices(ctx)
	if cfg.Meta.Device == "" {
		cfg.Meta.Device = gpuName(devices)
	}
	if len(devices) == 1 {
		d := devices[0]
		cfg.Meta.Driver = strings.TrimSpace(d.Driver + " " + s.DriverVersion())
		if d.Integrated && cfg.Meta.UnifiedMemory == nil {
			cfg.Meta.UnifiedMemory = &d.Integrated
		}
		if most := d.Capacity(); most > 0 {
			cfg.Meta.CapacityBytes = map[string]int64{record.LimitDevice: most}
		}
	}
	return t, nil
}

// traceGPU is trace for what run runs: bundled workloads on the soft device and
// on the host have nothing on a real one.
func traceGPU(ctx context.Context, f runFlags, t target, cfg *tracer.Config) (*gpuTrace, error) {
	// Apple's is real on macOS only; elsewhere it is the tests' fake.
	real := strings.HasPrefix(f.workload.device, device.CUDA) || f.workload.device == device.Apple && runtime.GOOS == "darwin"
	if t.workload != nil && !real {
		return &gpuTrace{}, nil
	}
	return f.gpu.trace(ctx, cfg)
}

func (t *gpuTrace) end() {
	for _, r := range t.readers {
		r.Close()
	}
	if t.sources != nil {
		t.sources.Close() // a driver that does not answer any more was a warning
	}
}

// gpuSource lets the tracer read all readers of a machine as one source: each
// has devices of its own, so that what they charge a process adds up.
type gpuSource struct {
	readers []scan.Reader
	buf     []scan.Charge
	// told are the readers that have charged a process. What one of them told
	// once it tells again, 0 included, for as long as it is known.
	told map[gpuTold]bool
}

// gpuTold is a process and a reader that knows it.
type gpuTold struct{ pid, reader int }

func newGPUSource(readers []scan.Reader) *gpuSource {
	return &gpuSource{readers: readers, told: map[gpuTold]bool{}}
}

// ReadGPU is what tracer.GPUSource asks for. A process of which one reader no
// longer tells what it told before is left out: a part is no total.
func (g *gpuSource) ReadGPU(pids []int, uses []tracer.GPUUse) ([]tracer.GPUUse, error) {
	var failed []error
	start, now := len(uses), map[gpuTold]bool{}
	unknown := map[int]bool{}
	for i, r := range g.readers {
		var err error
		if g.buf, err = r.Read(pids, g.buf[:0]); err != nil {
			failed = append(failed, err)
			continue
		}
		for _, c := range g.buf {
			bytes := c.Bytes()
			if bytes == scan.Unknown {
				unknown[c.PID] = true
				continue
			}
			now[gpuTold{c.PID, i}] = true
			uses = append(uses, tracer.GPUUse{PID: c.PID, Device: c.Device, Bytes: bytes})
		}
	}
	for t := range g.told {
		switch {
		case !slices.Contains(pids, t.pid):
			delete(g.told, t) // a later process may have the pid
		case !now[t]:
			unknown[t.pid] = true
		}
	}
	maps.Copy(g.told, now)
	list := slices.DeleteFunc(uses[start:], func(u tracer.GPUUse) bool { return unknown[u.PID] })
	return uses[:start+len(list)], errors.Join(failed...)
}

// bytes are the GPU bytes of the processes that hold some.
func (g *gpuSource) bytes(pids []int) (map[int]int64, error) {
	uses, err := g.ReadGPU(pids, nil)
	if err != nil {
		return nil, err
	}
	all := map[int]int64{}
	for _, u := range uses {
		all[u.PID] += u.Bytes
	}
	return all, nil
}

// close gives the readers back.
func (g *gpuSource) close() {
	for _, r := range g.readers {
		r.Close()
	}
}

// gpuName names the devices of a machine in a line: the only one, or each with
// the number that its columns have.
func gpuName(devices []scan.Device) string {
	if len(devices) == 1 {
		return devices[0].Name
	}
	var names []string
	for _, d := range devices {
		names = append(names, fmt.Sprintf("@%d %s", d.Index, d.Name))
	}
	return strings.Join(names, ", ")
}
