package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer"
)

// toldReader is a reader that tells what a test says.
type toldReader struct {
	charges []scan.Charge
	err     error
}

func (r *toldReader) Read(pids []int, dst []scan.Charge) ([]scan.Charge, error) {
	if r.err != nil {
		return dst, r.err
	}
	for _, c := range r.charges {
		if slices.Contains(pids, c.PID) {
			dst = append(dst, c)
		}
	}
	return dst, nil
}

func (r *toldReader) Close() {}

func TestAProcessOnTwoKindsOfGPUsIsChargedForBoth(t *testing.T) {
	t.Parallel()
	discrete := &toldReader{charges: []scan.Charge{{PID: 7, Device: 0, LocalBytes: 1000, HostBytes: scan.Unknown}, {PID: 8, Device: 0, LocalBytes: 5, HostBytes: scan.Unknown}}}
	integrated := &toldReader{charges: []scan.Charge{{PID: 7, Device: 1, LocalBytes: scan.Unknown, HostBytes: 30}}}
	g := newGPUSource([]scan.Reader{discrete, integrated})
	read := func(pids ...int) []tracer.GPUUse {
		uses, _ := g.ReadGPU(pids, nil)
		slices.SortFunc(uses, func(a, b tracer.GPUUse) int { return (a.PID-b.PID)*10 + a.Device - b.Device })
		return uses
	}
	expect := func(what string, got []tracer.GPUUse, want ...tracer.GPUUse) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	both := []tracer.GPUUse{{PID: 7, Device: 0, Bytes: 1000}, {PID: 7, Device: 1, Bytes: 30}, {PID: 8, Device: 0, Bytes: 5}}
	expect("both", read(7, 8), both...)

	integrated.err = errors.New("lost")
	if _, err := g.ReadGPU([]int{7, 8}, nil); err == nil {
		t.Error("a reader's failure is not told")
	}
	integrated.err, integrated.charges = nil, nil // as readers do from the second time on
	expect("half of it unknown", read(7, 8), tracer.GPUUse{PID: 8, Device: 0, Bytes: 5})
	integrated.charges = []scan.Charge{{PID: 7, Device: 1, LocalBytes: scan.Unknown, HostBytes: scan.Unknown}}
	expect("half of it without bytes", read(7, 8), tracer.GPUUse{PID: 8, Device: 0, Bytes: 5})
	integrated.charges = []scan.Charge{{PID: 7, Device: 1, LocalBytes: scan.Unknown, HostBytes: 0}}
	expect("known again", read(7, 8), tracer.GPUUse{PID: 7, Device: 0, Bytes: 1000}, tracer.GPUUse{PID: 7, Device: 1}, tracer.GPUUse{PID: 8, Device: 0, Bytes: 5})

	read(8) // 7 is not asked for any more: a later process may have its pid
	integrated.charges = nil
	expect("another process of that pid", read(7, 8), tracer.GPUUse{PID: 7, Device: 0, Bytes: 1000}, tracer.GPUUse{PID: 8, Device: 0, Bytes: 5})
}

func TestSeveralDevicesAreNamedByTheirColumns(t *testing.T) {
	t.Parallel()
	if got := gpuName([]scan.Device{{Name: "H200"}}); got != "H200" {
		t.Errorf("one device is %q", got)
	}
	if got := gpuName([]scan.Device{{Name: "RTX 4070"}, {Index: 1, Name: "card0 (8086:46a6)"}}); got != "@0 RTX 4070, @1 card0 (8086:46a6)" {
		t.Errorf("two devices are %q", got)
	}
}
