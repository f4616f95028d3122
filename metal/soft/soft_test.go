package soft_test

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
)

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []soft.Options{
		{MaxBuffers: -1}, {Workers: -1}, {WorkingSet: math.MaxUint64}, {MaxBufferLength: math.MaxInt64 + 1},
		{Leaks: soft.Leaks{CommandBufferBytes: -1}},
		{Faults: soft.Faults{FailAllocation: -1}}, {Faults: soft.Faults{ShrinkAfter: -1}},
		{Faults: soft.Faults{CompletionLag: -1}},
	} {
		if _, err := soft.Open(o); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("%+v: got error %v", o, err)
		}
	}
}

func TestTheDefaultLimitsAreThoseOfARealMachine(t *testing.T) {
	t.Parallel()
	dev := open(t, soft.Options{})
	info := dev.Info()
	if info.Driver != "soft" || !info.Unified || info.PageSize != 16<<10 || info.MaxBuffers != 499_000 {
		t.Errorf("got %+v", info)
	}
	if info.RecommendedWorkingSet < 64<<20 || info.MaxBufferLength != info.RecommendedWorkingSet {
		t.Errorf("the budget is %d B, the longest buffer %d B", info.RecommendedWorkingSet,
			info.MaxBufferLength)
	}
	must(t, dev.Close())
}

func TestALaunchOutsideEveryScopeLeavesAbout2KiB(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		faults soft.Faults
		want   int64
	}{
		{"with autorelease", soft.Faults{}, 0},
		{"without", soft.Faults{NoAutorelease: true}, 1000 * 2 << 10},
	} {
		dev := open(t, soft.Options{WorkingSet: 1 << 30, Faults: c.faults})
		q, err := dev.NewQueue(0)
		must(t, err)
		for range 1000 {
			dev.Autorelease(func() { launch(t, q) })
		}
		if got := dev.TemporaryBytes(); got != c.want {
			t.Errorf("%s 1000 launches leave %d B, want %d", c.name, got, c.want)
		}
		if got := dev.Usage().AllocatedBytes; got != 0 {
			t.Errorf("temporaries are in the driver's counters: %d B", got)
		}
		must(t, q.Release())
		must(t, dev.Close())
		if got := dev.TemporaryBytes(); got != 0 {
			t.Errorf("%d B of temporaries outlive the device", got)
		}
	}
}

// launch is an encoder in a command buffer, completed and released.
func launch(t testing.TB, q metal.Queue) {
	t.Helper()
	c, err := q.NewCommandBuffer()
	must(t, err)
	e, err := c.NewEncoder()
	must(t, err)
	for _, step := range []func() error{e.End, c.Commit, c.Wait, c.Release} {
		must(t, step())
	}
}

func TestLeaksShowInNoCounter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		leaks             soft.Leaks
		temporaries, kept int64 // after ten launches and ten buffers
	}{
		{"none", soft.Leaks{}, 0, 0},
		{"releases", soft.Leaks{Releases: true}, 10 << 10, 0},
		{"freed pages", soft.Leaks{Freed: true}, 0, 10 * 32 << 10},
		{"command buffers", soft.Leaks{CommandBufferBytes: 20_000}, 0, 10 * 32 << 10},
	} {
		dev := open(t, soft.Options{WorkingSet: 1 << 30, Leaks: c.leaks})
		q, err := dev.NewQueue(0)
		must(t, err)
		for range 10 {
			dev.Autorelease(func() { launch(t, q) })
			b, err := dev.NewBuffer(20_000, "")
			must(t, err)
			must(t, b.Release())
		}
		if temporaries, kept := dev.TemporaryBytes(), dev.KeptBytes(); temporaries != c.temporaries ||
			kept != c.kept {
			t.Errorf("%s: %d B of temporaries and %d B kept, want %d and %d", c.name, temporaries, kept,
				c.temporaries, c.kept)
		}
		if u := dev.Usage(); u.AllocatedBytes != 0 || u.Buffers != 0 {
			t.Errorf("%s: the counters show %+v", c.name, u)
		}
		must(t, q.Release())
		must(t, dev.Close())
		if got := dev.KeptBytes(); got != 0 {
			t.Errorf("%s: %d B outlive the device", c.name, got)
		}
	}
}

// Real programs release for hours: what a driver keeps of an emptied buffer, if
// only its own note of it, would grow in the program's heap.
func TestTheDriverThatKeepsPagesKeepsNothingOfAnEmptiedBuffer(t *testing.T) {
	t.Parallel()
	dev := open(t, soft.Options{WorkingSet: 1 << 30, Leaks: soft.Leaks{Freed: true}})
	for last, kept := range map[metal.PurgeableState]int64{metal.Empty: 0, metal.NonVolatile: 32 << 10} {
		before := dev.KeptBytes()
		b, err := dev.NewBuffer(20_000, "")
		must(t, err)
		b.SetPurgeable(metal.Empty)
		b.SetPurgeable(last)
		must(t, b.Release())
		if got := dev.KeptBytes() - before; got != kept {
			t.Errorf("of a buffer released as %v %d B are kept, want %d", last, got, kept)
		}
	}
	must(t, dev.Close())
}

func TestABufferOfAResidencySetStaysAllocatedAfterItsRelease(t *testing.T) {
	t.Parallel()
	dev := open(t, soft.Options{WorkingSet: 1 << 30, Leaks: soft.Leaks{Resident: 1 << 20}})
	for _, length := range []uint64{1 << 20, 1<<20 - 1} {
		b, err := dev.NewBuffer(length, "")
		must(t, err)
		must(t, b.Release())
	}
	if u := dev.Usage(); u.AllocatedBytes != 1<<20 || u.Buffers != 1 {
		t.Errorf("of a buffer that is large enough and one that is not the counters show %+v", u)
	}
	must(t, dev.Close())
	if u := dev.Usage(); u.Buffers != 0 {
		t.Errorf("the closed device has %+v", u)
	}
}

func TestOutOfMemorySaysTheFigures(t *testing.T) {
	t.Parallel()
	dev := open(t, soft.Options{WorkingSet: 1 << 20})
	b, err := dev.NewBuffer(512<<10, "")
	must(t, err)
	_, err = dev.NewBuffer(600_000, "weights")
	for _, word := range []string{`"weights"`, "requested 600000 B", "allocated 524288 B", "limit 1048576 B",
		"working set"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error %v does not say %s", err, word)
		}
	}
	must(t, b.Release())
	must(t, dev.Close())
}

func TestNoGoroutineOutlivesItsQueue(t *testing.T) {
	// Not parallel: it counts the process's goroutines.
	before := runtime.NumGoroutine()
	for range 20 {
		dev := open(t, soft.Options{WorkingSet: 1 << 30, Workers: 4})
		q, err := dev.NewQueue(0)
		must(t, err)
		b, err := dev.NewBuffer(1<<20, "")
		must(t, err)
		p, err := dev.NewPipeline("fill")
		must(t, err)
		c, err := q.NewCommandBuffer()
		must(t, err)
		e, err := c.NewEncoder()
		must(t, err)
		e.SetPipeline(p)
		e.SetBuffer(0, b, 0)
		e.SetBytes(1, make([]byte, 4))
		must(t, e.Dispatch(metal.Size{X: 1 << 18}))
		for _, step := range []func() error{e.End, c.Commit, q.Release, c.Release, b.Release, p.Release,
			dev.Close} {
			must(t, step())
		}
	}
	// A goroutine that has said its last word may still be counted.
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}
