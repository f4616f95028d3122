package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/probe"
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
		"who is asked for GPU bytes: auto (whoever is here), none, or "+
			strings.Join(scan.SourceNames(), ", "))
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
	reader  probe.Reader // nil without a source
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
	t.reader = s.Reader()
	cfg.GPU = t.reader
	devices := s.Devices(ctx)
	if cfg.Meta.Device == "" {
		cfg.Meta.Device = gpuName(devices)
	}
	if len(devices) == 1 {
		d := devices[0]
		cfg.Meta.Driver = strings.TrimSpace(d.Driver + " " + d.DriverVersion)
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
	real := strings.HasPrefix(f.workload.device, device.CUDA) || f.workload.device == device.Apple &&
		runtime.GOOS == "darwin"
	if t.workload != nil && !real {
		return &gpuTrace{}, nil
	}
	return f.gpu.trace(ctx, cfg)
}

func (t *gpuTrace) end() {
	if t.reader != nil {
		t.reader.Close()
	}
	if t.sources != nil {
		t.sources.Close() // a driver that does not answer any more was a warning
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
