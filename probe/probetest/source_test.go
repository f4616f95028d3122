package probetest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/probe/probetest"
	"github.com/gpumem/gpumem/probe/source"
)

// fake is the smallest source that there can be: what one has to do.
type fake struct {
	holds  map[int]int64
	silent error
}

func (f *fake) Name() string     { return "fake" }
func (f *fake) Limits() []string { return nil }

func (f *fake) Close() error {
	f.silent = errors.New("fake: used after close")
	return nil
}

func (f *fake) Devices(context.Context) []source.Device {
	d := source.Device{Source: "fake", Driver: "none", Name: "fake", TotalBytes: source.Unknown, UsedBytes: 5,
		ReservedBytes: source.Unknown}
	if f.silent != nil {
		d.UsedBytes, d.Notes = source.Unknown, []string{f.silent.Error()}
	}
	return []source.Device{d}
}

func (f *fake) charge(pid int) source.Charge {
	return source.Charge{PID: pid, LocalBytes: f.holds[pid], HostBytes: source.Unknown}
}

func (f *fake) Charges(context.Context, []int) source.Holdings {
	if f.silent != nil {
		return source.Holdings{Devices: []source.Held{{Bytes: source.Unknown, Silent: true}},
			Warnings: []string{f.silent.Error()}}
	}
	h := source.Holdings{Devices: make([]source.Held, 1)}
	for _, pid := range slices.Sorted(maps.Keys(f.holds)) {
		h.Charges = append(h.Charges, f.charge(pid))
		h.Devices[0].Bytes = source.Add(h.Devices[0].Bytes, f.holds[pid])
	}
	return h
}

func (f *fake) Reader() source.Reader { return fakeReader{f} }

type fakeReader struct{ f *fake }

func (r fakeReader) Close() {}

func (r fakeReader) Read(pids []int, dst []source.Charge) ([]source.Charge, error) {
	for _, pid := range pids {
		if _, holds := r.f.holds[pid]; r.f.silent != nil {
			dst = append(dst, source.Untold(pid))
		} else if holds {
			dst = append(dst, r.f.charge(pid))
		}
	}
	return dst, r.f.silent
}

func TestTheSmallestSourceConforms(t *testing.T) {
	t.Parallel()
	probetest.TestSource(t, func(*testing.T) probetest.Stage {
		f := &fake{}
		return probetest.Stage{Source: f, Holds: func(h map[int]int64) { f.holds = h },
			Vanish: func() { f.silent = errors.New("fake: gone") }}
	})
}
