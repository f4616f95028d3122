package scan

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/probe"
)

// told is a source that tells what a test says, and its reader.
type told struct {
	devices  []Device
	charges  []Charge
	holdings probe.Holdings
	err      error
}

func (s *told) Name() string                                  { return "told" }
func (s *told) Devices(context.Context) []Device              { return slices.Clone(s.devices) }
func (s *told) Charges(context.Context, []int) probe.Holdings { return s.holdings }
func (s *told) Reader() probe.Reader                          { return toldReader{s} }
func (s *told) Limits() []string                              { return nil }
func (s *told) Close() error                                  { return nil }

type toldReader struct{ s *told }

func (r toldReader) Close() {}

func (r toldReader) Read(pids []int, dst []Charge) ([]Charge, error) {
	for _, c := range r.s.charges {
		if slices.Contains(pids, c.PID) {
			dst = append(dst, c)
		}
	}
	return dst, r.s.err
}

func untold(pid int) Charge {
	return Charge{PID: pid, Device: probe.AnyDevice, LocalBytes: Unknown, HostBytes: Unknown}
}

func local(pid, device int, bytes int64) Charge {
	return Charge{PID: pid, Device: device, LocalBytes: bytes, HostBytes: Unknown}
}

func sourcesOf(list ...*told) *Sources {
	s := newSources(false)
	for _, one := range list {
		s.add(context.Background(), one)
	}
	return s
}

func TestAProcessOnTwoKindsOfGPUsIsChargedForBoth(t *testing.T) {
	t.Parallel()
	discrete := &told{devices: []Device{{Name: "discrete"}},
		charges: []Charge{local(7, 0, 1000), local(8, 0, 5)}}
	integrated := &told{devices: []Device{{Name: "integrated"}},
		charges: []Charge{{PID: 7, LocalBytes: Unknown, HostBytes: 30}}}
	r := sourcesOf(discrete, integrated).Reader()
	defer r.Close()
	expect := func(what string, pids []int, want ...Charge) {
		t.Helper()
		got, err := r.Read(pids, nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.EqualFunc(got, want, func(a, b Charge) bool {
			return a.PID == b.PID && a.Device == b.Device && a.Bytes() == b.Bytes()
		}) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	two := []int{7, 8}
	expect("both", two, local(7, 0, 1000), local(7, 1, 30), local(8, 0, 5))

	integrated.err, integrated.charges = errors.New("lost"), []Charge{untold(7), untold(8)}
	if _, err := r.Read(two, nil); err == nil || err.Error() != "lost" {
		t.Errorf("a source's failure is told as %v", err)
	}
	expect("half of it unknown, and told once", two, local(8, 0, 5))
	integrated.err = nil
	expect("half of it unknown", two, local(8, 0, 5))
	integrated.charges = []Charge{{PID: 7, LocalBytes: Unknown, HostBytes: Unknown}}
	expect("half of it without bytes", two, local(8, 0, 5))
	integrated.charges = []Charge{{PID: 7, LocalBytes: Unknown, HostBytes: 0}}
	expect("known again", two, local(7, 0, 1000), local(7, 1, 0), local(8, 0, 5))
	integrated.charges = nil
	expect("given back", two, local(7, 0, 1000), local(7, 1, 0), local(8, 0, 5))

	expect("7 is not asked for any more: a later process may have its pid", []int{8}, local(8, 0, 5))
	expect("another process of that pid", two, local(7, 0, 1000), local(8, 0, 5))
}

func TestTwoSourcesOfOneDeviceTellOfTheSameBytes(t *testing.T) {
	t.Parallel()
	first := &told{
		devices: []Device{{Name: "card1", PCI: "0000:43:00.0", TotalBytes: Unknown, UsedBytes: 500,
			ReservedBytes: Unknown}},
		charges: []Charge{local(7, 0, 100), local(8, 0, 50)},
		holdings: probe.Holdings{Charges: []Charge{local(7, 0, 100), local(8, 0, 50)},
			Devices: []probe.Held{{Bytes: 150}}},
	}
	second := &told{
		devices: []Device{
			{Name: "other", PCI: "0000:44:00.0", TotalBytes: 1, UsedBytes: Unknown, ReservedBytes: Unknown},
			{Name: "gfx942", PCI: "0000:43:00.0", TotalBytes: 1000, UsedBytes: 7, ReservedBytes: Unknown},
		},
		charges: []Charge{local(7, 1, 120), local(8, 1, 10), local(9, 0, 3)},
		holdings: probe.Holdings{Charges: []Charge{local(7, 1, 120), local(8, 1, 10), local(9, 0, 3)},
			Devices: []probe.Held{{Bytes: 3}, {Bytes: 130}}},
	}
	s := sourcesOf(first, second)
	list := s.Devices(context.Background())
	if len(list) != 2 || list[0].Name != "gfx942 card1" || list[0].TotalBytes != 1000 ||
		list[0].UsedBytes != 500 || list[1].Index != 1 {
		t.Errorf("devices %+v", list)
	}
	want := []Charge{local(7, 0, 120), local(8, 0, 50), local(9, 1, 3)}
	got, err := s.Reader().Read([]int{7, 8, 9}, nil)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("again and again %+v, %v, want %+v", got, err, want)
	}
	if c := s.charges(context.Background(), nil); !slices.Equal(c.list, want) ||
		!slices.Equal(c.held, []int64{170, 3}) {
		t.Errorf("at once %+v, held %v, want %+v and 170, 3", c.list, c.held, want)
	}
}

func TestAChargeWithoutBytesMakesThePartsUnknownAndNotZero(t *testing.T) {
	t.Parallel()
	p := Process{GPU: []Charge{local(7, 0, Unknown)}}
	if b := p.GPUBytes(); b != Unknown {
		t.Errorf("a process that holds something nobody measured has %d bytes", b)
	}
	p.GPU = append(p.GPU, local(7, 1, 5))
	if b := p.GPUBytes(); b != 5 {
		t.Errorf("what is told of it is %d", b)
	}
	s := sourcesOf(&told{devices: []Device{{}}, holdings: probe.Holdings{
		Charges: []Charge{local(7, 0, Unknown)}, Devices: []probe.Held{{Bytes: Unknown}},
	}})
	if c := s.charges(context.Background(), nil); c.held[0] != Unknown {
		t.Errorf("the device holds %d", c.held[0])
	}
}

func TestTenThousandProcessesAreMergedOneByOne(t *testing.T) {
	t.Parallel()
	const n = 10000
	first, second := &told{devices: []Device{{PCI: "0000:43:00.0"}}},
		&told{devices: []Device{{PCI: "0000:43:00.0"}}}
	var pids []int
	for i := range n {
		pids = append(pids, 1000+i)
		first.charges = append(first.charges, local(1000+i, 0, 10))
		second.charges = append(second.charges, local(1000+i, 0, 11))
	}
	first.holdings = probe.Holdings{Charges: first.charges, Devices: []probe.Held{{Bytes: 10 * n}}}
	second.holdings = probe.Holdings{Charges: second.charges, Devices: []probe.Held{{Bytes: 11 * n}}}
	s := sourcesOf(first, second)
	if c := s.charges(context.Background(), pids); len(c.list) != n || c.held[0] != 11*n {
		t.Errorf("%d charges, held %d", len(c.list), c.held[0])
	}
	got, err := s.Reader().Read(pids, nil)
	if err != nil || len(got) != n || got[n-1] != local(1000+n-1, 0, 11) {
		t.Errorf("%d charges, %v", len(got), err)
	}
}
