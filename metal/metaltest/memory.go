package metaltest

import (
	"errors"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func purgeTests() []test {
	return []test{
		{"each change returns the state before", func(t *testing.T, s *suite) {
			b := s.buffer(t, s.open(t), 10)
			old := metal.NonVolatile
			for _, next := range []metal.PurgeableState{
				metal.KeepCurrent, metal.Volatile, metal.KeepCurrent, metal.NonVolatile, metal.Empty,
				metal.Empty, metal.NonVolatile,
			} {
				if got := b.SetPurgeable(next); got != old {
					t.Errorf("setting %d returned %d, want %d", next, got, old)
				}
				if next != metal.KeepCurrent {
					old = next
				}
			}
		}},
		{"an unknown state changes nothing", func(t *testing.T, s *suite) {
			b := s.buffer(t, s.open(t), 10)
			for _, bad := range []metal.PurgeableState{0, 5, 255} {
				if got := b.SetPurgeable(bad); got != metal.NonVolatile {
					t.Errorf("setting %d returned %d", bad, got)
				}
			}
			if got := b.SetPurgeable(metal.KeepCurrent); got != metal.NonVolatile {
				t.Errorf("the state became %d", got)
			}
		}},
		{"an emptied buffer still exists and can be filled again", refills},
		{"a released one keeps its state", func(t *testing.T, s *suite) {
			b := s.buffer(t, s.open(t), 10)
			b.SetPurgeable(metal.Volatile)
			must(t, b.Release())
			b.SetPurgeable(metal.Empty)
			if got := b.SetPurgeable(metal.KeepCurrent); got != metal.Volatile {
				t.Errorf("the state is %d, want %d", got, metal.Volatile)
			}
		}},
	}
}

func refills(t *testing.T, s *suite) {
	dev := s.open(t)
	b := s.buffer(t, dev, 10)
	before := dev.Usage()
	b.SetPurgeable(metal.Empty)
	if got := dev.Usage(); got.Buffers != before.Buffers {
		t.Errorf("emptying changed the number of buffers from %d to %d", before.Buffers, got.Buffers)
	}
	b.SetPurgeable(metal.NonVolatile)
	if _, err := b.WriteAt([]byte("again"), 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := b.ReadAt(got, 0); err != nil || string(got) != "again" {
		t.Errorf("read %q, %v", got, err)
	}
}

func limitTests() []test {
	return []test{
		{"a full working set refuses and says why", fullWorkingSet},
		{"the number of buffers is limited", fullOfBuffers},
		{"one allocation fails and the next does not", func(t *testing.T, s *suite) {
			dev := s.openWith(t, Faults{FailAllocation: 2})
			s.buffer(t, dev, 1)
			before := dev.Usage()
			_, err := dev.NewBuffer(1, "")
			wants(t, err, metal.ErrOutOfMemory)
			if got := dev.Usage(); got != before {
				t.Errorf("the failed allocation moved the usage from %+v to %+v", before, got)
			}
			s.buffer(t, dev, 1)
		}},
		{"a shrinking budget refuses new buffers and keeps the old", shrinks},
	}
}

// outOfMemory is the refusal of length bytes.
func outOfMemory(t *testing.T, dev metal.Device, length uint64) *metal.OutOfMemoryError {
	t.Helper()
	b, err := dev.NewBuffer(length, "too much")
	if err == nil {
		must(t, b.Release())
		t.Fatalf("%d B were allocated", length)
	}
	wants(t, err, metal.ErrOutOfMemory)
	var refused *metal.OutOfMemoryError
	if !errors.As(err, &refused) {
		t.Fatalf("%v is no OutOfMemoryError", err)
	}
	if refused.Reason == "" {
		t.Errorf("%v gives no reason", err)
	}
	return refused
}

func fullWorkingSet(t *testing.T, s *suite) {
	dev := s.openWith(t, Faults{WorkingSet: 64 << 20})
	b := s.buffer(t, dev, 48<<20)
	got := *outOfMemory(t, dev, 32<<20)
	got.Reason = ""
	want := metal.OutOfMemoryError{
		RequestedBytes: 32 << 20, AllocatedBytes: b.AllocatedSize(), LimitBytes: 64 << 20, Buffers: 1,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.buffer(t, dev, 16<<20)
	must(t, b.Release())
	s.buffer(t, dev, 32<<20)
}

func fullOfBuffers(t *testing.T, s *suite) {
	dev := s.openWith(t, Faults{MaxBuffers: 3})
	if got := dev.Info().MaxBuffers; got != 3 {
		t.Errorf("the info says %d buffers", got)
	}
	first := s.buffer(t, dev, 1)
	s.buffer(t, dev, 1)
	s.buffer(t, dev, 1)
	if got := outOfMemory(t, dev, 1); got.Buffers != 3 || got.MaxBuffers != 3 || got.RequestedBytes != 1 {
		t.Errorf("the refusal says %+v", got)
	}
	must(t, first.Release())
	s.buffer(t, dev, 1)
}

func shrinks(t *testing.T, s *suite) {
	dev := s.openWith(t, Faults{ShrinkAfter: 2, ShrinkTo: 8 << 20})
	b := s.buffer(t, dev, 16<<20)
	s.buffer(t, dev, 1)
	if got := outOfMemory(t, dev, 1); got.LimitBytes != 8<<20 {
		t.Errorf("the limit is %d, want %d", got.LimitBytes, 8<<20)
	}
	if _, err := b.WriteAt([]byte{1}, 0); err != nil {
		t.Error(err)
	}
	must(t, b.Release())
	s.buffer(t, dev, 1<<20)
}

// residentBytes is large against what else a process allocates meanwhile.
const residentBytes = 64 << 20

func residentTests() []test {
	return []test{
		{"it moves when buffers are touched, emptied and released", func(t *testing.T, s *suite) {
			b := s.buffer(t, s.open(t), residentBytes)
			var steps []int64
			note := func() {
				n, err := s.can.Resident()
				must(t, err)
				steps = append(steps, n)
			}
			touch := func() {
				page := make([]byte, 1<<20)
				for i := range page {
					page[i] = 1
				}
				for at := int64(0); at < residentBytes; at += int64(len(page)) {
					_, err := b.WriteAt(page, at)
					must(t, err)
				}
			}
			note()
			touch()
			note()
			b.SetPurgeable(metal.Empty)
			note()
			b.SetPurgeable(metal.NonVolatile)
			touch()
			note()
			must(t, b.Release())
			note()
			const most = residentBytes * 3 / 4
			for i, what := range []string{"touching", "emptying", "touching again", "releasing"} {
				change := steps[i+1] - steps[i]
				if i%2 == 1 {
					change = -change
				}
				if change < most {
					t.Errorf("%s %d B moved the resident size by %d B", what, residentBytes, change)
				}
			}
		}},
	}
}
