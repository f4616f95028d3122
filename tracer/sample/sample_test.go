package sample

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// clock is a clock that a test sets.
type clock int64

func (c *clock) now() int64 { return int64(*c) }

// driver is a reader whose readings and failures a test sets.
type driver struct {
	list  []probe.Charge
	err   error
	asked int
}

func (d *driver) Read(_ []int, dst []probe.Charge) ([]probe.Charge, error) {
	d.asked++
	return append(dst, d.list...), d.err
}

func (d *driver) Close() {}

// local is a charge of a device's own memory.
func local(pid, device int, bytes int64) probe.Charge {
	return probe.Charge{PID: pid, Device: device, LocalBytes: bytes, HostBytes: probe.Unknown}
}

// gpuOf are the cells that a row of the process would have of GPUs.
func gpuOf(s *Sampler, pid int) string {
	cells, total := s.gpu.append(nil, pid, s.o.Now())
	text := ""
	for _, c := range cells {
		text += fmt.Sprintf("%s=%d ", c.Column, c.Value)
	}
	if total == probe.Unknown && text == "" {
		return "unknown"
	}
	return text
}

// completed is the memory of a process whose last reading was told.
func completed(s *Sampler, beside int64, told probe.Memory) probe.Memory {
	p := Process{s: s, mem: told, beside: beside}
	p.completeFootprint()
	return p.mem
}

func TestAFootprintThatTheSystemTellsIsNotReplaced(t *testing.T) {
	t.Parallel()
	told := probe.UnknownMemory()
	told.RSS, told.Footprint = 100, 300 // as macOS tells, whose compressed pages are no swap
	if got := completed(&Sampler{noSwap: true}, 7, told); got.Footprint != 300 {
		t.Errorf("footprint %d, want the 300 B that were told", got.Footprint)
	}
	quick := probe.UnknownMemory()
	quick.RSS = 100 // as systems tell of which only the resident size is known
	if got := completed(&Sampler{noSwap: true}, probe.Unknown, quick); got.Footprint != 100 || got.Swap != 0 {
		t.Errorf("%+v, want the resident size where nothing can be swapped", got)
	}
	if got := completed(&Sampler{}, probe.Unknown, quick); got.Footprint != probe.Unknown || got.Swap != probe.Unknown {
		t.Errorf("%+v: nobody told what of it is swapped", got)
	}
}

func TestAProcessOfDeviceZeroHasOneColumnUntilAnyUsesAnother(t *testing.T) {
	t.Parallel()
	var at clock
	d := &driver{list: []probe.Charge{local(1, 0, 10)}}
	s := New(Options{Now: at.now, Interval: time.Second, GPU: d})
	if err := s.Ask(nil); err != nil || gpuOf(s, 1) != "gpu_bytes=10 " || gpuOf(s, 2) != "unknown" {
		t.Errorf("%q, %v", gpuOf(s, 1), err)
	}
	d.list = []probe.Charge{local(2, 2, 7), local(1, 0, 10), local(2, 0, 5)}
	if err := s.Ask(nil); err != nil {
		t.Fatal(err)
	}
	if got := gpuOf(s, 1); got != "gpu_bytes@0=10 gpu_bytes=10 " {
		t.Errorf("process 1: %q", got)
	}
	if got := gpuOf(s, 2); got != "gpu_bytes@2=7 gpu_bytes@0=5 gpu_bytes=12 " {
		t.Errorf("process 2: %q", got)
	}
}

func TestAPartOfAProcesssGPUBytesIsNoTotal(t *testing.T) {
	t.Parallel()
	var at clock
	s := New(Options{Now: at.now, Interval: time.Second, GPU: &driver{list: []probe.Charge{
		local(1, 0, 10), local(1, 1, probe.Unknown), {PID: 2, Device: probe.AnyDevice, LocalBytes: probe.Unknown,
			HostBytes: probe.Unknown},
	}}})
	if err := s.Ask(nil); err != nil || gpuOf(s, 1) != "unknown" || gpuOf(s, 2) != "unknown" {
		t.Errorf("%q and %q, %v", gpuOf(s, 1), gpuOf(s, 2), err)
	}
}

func TestWhatADriverToldLongAgoIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range [...]struct{ interval, counts time.Duration }{
		{10 * time.Millisecond, 500 * time.Millisecond}, {time.Second, 4 * time.Second},
	} {
		var at clock
		s := New(Options{Now: at.now, Interval: c.interval, GPU: &driver{list: []probe.Charge{local(1, 0, 10)}}})
		if err := s.Ask(nil); err != nil {
			t.Fatal(err)
		}
		at = clock(c.counts)
		if gpuOf(s, 1) == "unknown" {
			t.Errorf("interval %s: unknown after %s", c.interval, c.counts)
		}
		if at++; gpuOf(s, 1) != "unknown" {
			t.Errorf("interval %s: known after more than %s", c.interval, c.counts)
		}
	}
}

func TestAFailingDriverIsLeftAloneForASecondAndWhatItToldCounts(t *testing.T) {
	t.Parallel()
	var at clock
	d := &driver{list: []probe.Charge{local(1, 0, 10)}, err: errors.New("no answer of one source")}
	s := New(Options{Now: at.now, Interval: 100 * time.Millisecond, GPU: d})
	if err := s.Ask(nil); err == nil || gpuOf(s, 1) == "unknown" {
		t.Errorf("%v, %q", err, gpuOf(s, 1))
	}
	at = clock(time.Second) - 1
	if err := s.Ask(nil); err != nil || d.asked != 1 {
		t.Errorf("asked %d times within a second: %v", d.asked, err)
	}
	at++
	if d.err = nil; s.Ask(nil) != nil || d.asked != 2 {
		t.Errorf("asked %d times after a second", d.asked)
	}
}

func TestAProcessThatIsNotThereHasOnlyWhatDriversTellOfIt(t *testing.T) {
	t.Parallel()
	var at clock
	const nobody = 1 << 30
	s := New(Options{Now: at.now, Interval: time.Second, GPU: &driver{list: []probe.Charge{local(nobody, 0, 10)}}})
	p, err := s.Open(nobody)
	if !errors.Is(err, probe.ErrExited) || p.Alive() || p.Identity().PID != nobody {
		t.Fatalf("%v, %+v", err, p)
	}
	if err := s.Ask(nil); err != nil {
		t.Fatal(err)
	}
	cells, err := p.Row(at.now(), nil)
	if !errors.Is(err, probe.ErrExited) ||
		!slices.Equal(cells, []record.Cell{{Column: record.ColGPU, Value: 10}}) || p.GPU() != 10 {
		t.Errorf("%v, %v", cells, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Errorf("closing it, and once more: %v", err)
	}
}

func TestALateRowIsOneBeyondTheUsualDelayAndAnInterval(t *testing.T) {
	t.Parallel()
	s := New(Options{Now: new(clock).now, Interval: 10 * time.Millisecond})
	if s.Late(0, int64(UsualDelay)) || !s.Late(0, int64(UsualDelay)+1) {
		t.Error("of short intervals the usual delay counts")
	}
	s = New(Options{Now: new(clock).now, Interval: time.Second})
	if s.Late(0, int64(time.Second)) || !s.Late(0, int64(time.Second)+1) {
		t.Error("of long ones the interval")
	}
}

func TestTicksThatATimerOwesAreMissed(t *testing.T) {
	t.Parallel()
	start := time.Now()
	p := NewPace(100*time.Millisecond, start)
	if p.Tick(start.Add(100*time.Millisecond)) || p.Missed() != 0 {
		t.Error("a tick in time is a gap")
	}
	if !p.Tick(start.Add(time.Second)) || p.Missed() != 8 {
		t.Errorf("%d of 10 ticks are missed, want 8", p.Missed())
	}
}
