package option

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// GPU is the value of --gpu: who is asked for GPU bytes.
type GPU struct {
	names []string
}

// AutoGPU asks every source that is here.
func AutoGPU() GPU { return GPU{names: []string{"auto"}} }

// Add defines the flag with the present value as default.
func (g *GPU) Add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&g.names, "gpu", g.names,
		"where GPU bytes come from: auto (every source that is here), none, or "+
			strings.Join(scan.SourceNames(), ", "))
}

// Check refuses names that are no sources.
func (g *GPU) Check() error {
	known := append([]string{"auto", "none"}, scan.SourceNames()...)
	for _, name := range g.names {
		if !slices.Contains(known, name) {
			return usage.Errorf("--gpu %s: no such source%s", name, usage.Suggest(name, known))
		}
		if (name == "auto" || name == "none") && len(g.names) > 1 {
			return usage.Errorf("--gpu %s: takes no other source beside it", name)
		}
	}
	return nil
}

// Open looks for the sources, nil with none. One that was asked for by name
// and is not here is an error; otherwise absence is no news.
func (g *GPU) Open(ctx context.Context) (*scan.Sources, error) {
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

// GPUTrace is the sources of one traced run. The zero value has none.
type GPUTrace struct {
	sources *scan.Sources
	reader  probe.Reader // nil without a source
}

// Trace puts the sources that are here into a tracer's configuration. With one
// device only it also says which and how much it has, as far as the program
// does not say so itself. End gives everything back.
func (g *GPU) Trace(ctx context.Context, cfg *tracer.Config) (*GPUTrace, error) {
	s, err := g.Open(ctx)
	if err != nil {
		return nil, err
	}
	t := &GPUTrace{sources: s}
	if !s.Here() {
		return t, nil
	}
	t.reader = s.Reader()
	cfg.GPU, cfg.Charges = t.reader, s.Charges
	devices := s.Devices(ctx)
	if cfg.Meta.Device == "" {
		cfg.Meta.Device = GPUNames(devices)
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

// End gives everything back.
func (t *GPUTrace) End() {
	if t.reader != nil {
		t.reader.Close()
	}
	if t.sources != nil {
		t.sources.Close() // a driver that does not answer any more was a warning
	}
}

// GPUNames names the devices of a machine in a line: the only one, or each with
// the number that its columns have.
func GPUNames(devices []scan.Device) string {
	if len(devices) == 1 {
		return devices[0].Name
	}
	var names []string
	for _, d := range devices {
		names = append(names, fmt.Sprintf("@%d %s", d.Index, d.Name))
	}
	return strings.Join(names, ", ")
}
