package metaltest

import (
	"errors"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
)

// Faults are the limits and defects that the suite asks an opener to plant.
// The zero value plants none.
type Faults struct {
	// WorkingSet is the budget in bytes; 0 is the device's own.
	WorkingSet uint64
	// MaxBuffers may exist at once; 0 is the device's own limit.
	MaxBuffers int
	// FailAllocation is the number of the allocation that fails, from 1.
	FailAllocation int
	// ShrinkAfter that many allocations the budget becomes ShrinkTo bytes.
	ShrinkAfter int
	ShrinkTo    uint64
	// NoAutorelease makes autorelease scopes free nothing.
	NoAutorelease bool
	// CompletionLag delays the completion of each command buffer.
	CompletionLag time.Duration
}

// Abilities are what a driver can do or show beyond the contract.
type Abilities struct {
	// Contents: the host can address the memory of buffers.
	Contents bool
	// Faults: the opener plants every field of Faults. Without it the
	// opener is only called with the zero value.
	Faults bool
	// Temporaries are the bytes of autoreleased temporaries that no scope
	// has freed yet; nil when the driver does not tell.
	Temporaries func(metal.Device) int64
	// Resident is the resident size of this process in bytes, when buffers
	// count in it; else nil.
	Resident func() (int64, error)
}

// Run runs the suite. Each call of open makes a device that shares nothing
// with the others and that the suite closes; open fails t when it cannot.
// Nothing may run beside the suite when Abilities.Resident is given.
func Run(t *testing.T, open func(t *testing.T, f Faults) metal.Device, abilities Abilities) {
	s := &suite{opener: open, can: abilities}
	t.Run("the declared abilities are the device's", s.declared)
	for _, part := range []struct {
		name  string
		needs string // the ability, empty for none
		can   bool
		tests []test
	}{
		{"device", "", true, deviceTests()},
		{"buffer", "", true, bufferTests()},
		{"purgeable memory", "", true, purgeTests()},
		{"limits", "Faults", abilities.Faults, limitTests()},
		{"resident memory", "Resident", abilities.Resident != nil, residentTests()},
		{"queue", "", true, queueTests()},
		{"command buffer", "", true, commandTests()},
		{"misuse", "", true, misuseTests()},
		{"failed work", "", true, failureTests()},
		{"retention", "", true, retentionTests()},
		{"work in flight", "Faults", abilities.Faults, flightTests()},
		{"autorelease", "", true, scopeTests()},
		{"temporaries", "Temporaries", abilities.Temporaries != nil, temporaryTests()},
		{"counters", "", true, counterTests()},
		{"concurrency", "", true, concurrencyTests()},
		{"kernels", "", true, kernelTests()},
	} {
		if !part.can {
			t.Logf("not tested: %s; the driver declares no ability %s", part.name, part.needs)
			continue
		}
		t.Run(part.name, func(t *testing.T) {
			for _, one := range part.tests {
				t.Run(one.name, func(t *testing.T) { one.run(t, s) })
			}
		})
	}
}

// test is one promise.
type test struct {
	name string
	run  func(t *testing.T, s *suite)
}

type suite struct {
	opener func(*testing.T, Faults) metal.Device
	can    Abilities
}

// declared compares the declaration with the device, where that can be seen.
func (s *suite) declared(t *testing.T) {
	dev := s.open(t)
	b := s.buffer(t, dev, 1)
	if got := b.Contents() != nil; got != s.can.Contents {
		t.Errorf("Abilities.Contents is %v, but a buffer's Contents say %v", s.can.Contents, got)
	}
	if s.can.Temporaries != nil {
		before := s.can.Temporaries(dev)
		drop(t, s.queue(t, dev, 0))
		if after := s.can.Temporaries(dev); after <= before {
			t.Errorf("a command buffer outside every scope left %d B of temporaries", after-before)
		}
	}
	if s.can.Resident != nil {
		if n, err := s.can.Resident(); err != nil || n <= 0 {
			t.Errorf("Abilities.Resident is %d B, error %v", n, err)
		}
	}
}

// open is a device without faults.
func (s *suite) open(t *testing.T) metal.Device { return s.openWith(t, Faults{}) }

// openWith is a device that the end of the test closes, which fails the test
// when something was not released.
func (s *suite) openWith(t *testing.T, f Faults) metal.Device {
	t.Helper()
	dev := s.opener(t, f)
	if dev == nil {
		t.Fatal("the opener returned no device")
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil && !errors.Is(err, metal.ErrReleased) {
			t.Errorf("the test left something: %v", err)
		}
	})
	return dev
}

func (s *suite) buffer(t *testing.T, dev metal.Device, length uint64) metal.Buffer {
	t.Helper()
	b, err := dev.NewBuffer(length, t.Name())
	must(t, err)
	t.Cleanup(func() { finally(t, b.Release) })
	return b
}

func (s *suite) queue(t *testing.T, dev metal.Device, limit int) metal.Queue {
	t.Helper()
	q, err := dev.NewQueue(limit)
	must(t, err)
	t.Cleanup(func() { finally(t, q.Release) })
	return q
}

func (s *suite) pipeline(t *testing.T, dev metal.Device, kernel string) metal.Pipeline {
	t.Helper()
	p, err := dev.NewPipeline(kernel)
	must(t, err)
	t.Cleanup(func() { finally(t, p.Release) })
	return p
}

func (s *suite) command(t *testing.T, q metal.Queue) metal.CommandBuffer {
	t.Helper()
	c, err := q.NewCommandBuffer()
	must(t, err)
	t.Cleanup(func() { finally(t, c.Release) })
	return c
}

// finally releases what the test itself may have released already.
func finally(t *testing.T, release func() error) {
	if err := release(); err != nil && !errors.Is(err, metal.ErrReleased) {
		t.Error(err)
	}
}

// drop makes a command buffer and gives it up without committing.
func drop(t *testing.T, q metal.Queue) {
	t.Helper()
	c, err := q.NewCommandBuffer()
	must(t, err)
	must(t, c.Release())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants fails unless err matches target.
func wants(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got error %v, want one that matches %q", err, target)
	}
}
