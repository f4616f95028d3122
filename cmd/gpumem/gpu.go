package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer"
)

// gpuFlags choose who is asked for GPU bytes.
type gpuFlags struct {
	names []string
	root  string // of the file system, for tests; "" is "/"
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
	o := scan.SourceOptions{Root: g.root}
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
	for _, r := range t.readers {
		cfg.GPU = append(cfg.GPU, &gpuSource{reader: r})
	}
	if devices := s.Devices(ctx); len(devices) == 1 {
		d := devices[0]
		cfg.Meta.Device, cfg.Meta.Driver = d.Name, strings.TrimSpace(d.Driver+" "+s.DriverVersion())
		if d.TotalBytes > 0 {
			cfg.Meta.CapacityBytes = map[string]int64{"device memory": d.TotalBytes}
		}
	}
	return t, nil
}

// traceGPU is trace for what run runs: bundled workloads on the soft device and
// on the host have nothing on a real one.
func traceGPU(ctx context.Context, f runFlags, t target, cfg *tracer.Config) (*gpuTrace, error) {
	if t.workload != nil && !strings.HasPrefix(f.workload.device, "cuda") {
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

// gpuSource lets the tracer read a source.
type gpuSource struct {
	reader scan.Reader
	buf    []scan.Charge
}

// ReadGPU is what tracer.GPUSource asks for.
func (g *gpuSource) ReadGPU(pids []int, uses []tracer.GPUUse) ([]tracer.GPUUse, error) {
	var err error
	g.buf, err = g.reader.Read(pids, g.buf[:0])
	if err != nil {
		return uses, err
	}
	for _, c := range g.buf {
		if bytes := c.Bytes(); bytes != scan.Unknown {
			uses = append(uses, tracer.GPUUse{PID: c.PID, Device: c.Device, Bytes: bytes})
		}
	}
	return uses, nil
}
