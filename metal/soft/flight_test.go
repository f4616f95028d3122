package soft

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

func openHere(t *testing.T) (*Device, *queue) {
	t.Helper()
	dev, err := Open(Options{WorkingSet: 1 << 30, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	q, err := dev.NewQueue(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(q.Release(), dev.Close()); err != nil {
			t.Error(err)
		}
	})
	return dev, q.(*queue)
}

// prepared is a command buffer with the launch, not committed.
func prepared(t *testing.T, q *queue, l launch, uses ...*buffer) *commandBuffer {
	t.Helper()
	made, err := q.NewCommandBuffer()
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*commandBuffer)
	c.launches = []launch{l}
	for _, b := range uses {
		if err := c.retain(b); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// committed is a prepared command buffer after its commit.
func committed(t *testing.T, q *queue, l launch) *commandBuffer {
	t.Helper()
	c := prepared(t, q, l)
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A kernel without a body panics as one with a defect would.
func TestAKernelThatPanicsFailsItsCommandBufferOnly(t *testing.T) {
	t.Parallel()
	_, q := openHere(t)
	bad := committed(t, q, launch{kernel: kernels.Kernel{Name: "broken"}})
	fill, _ := kernels.ByName("fill")
	good := committed(t, q, launch{
		kernel: fill, grid: metal.Size{X: 1},
		args: []binding{{bytes: make([]byte, 4)}, {bytes: make([]byte, 4)}},
	})
	err := bad.Wait()
	if bad.Status() != metal.Failed || err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("status %d, error %v", bad.Status(), err)
	}
	if err := good.Wait(); err != nil {
		t.Errorf("the next command buffer: %v", err)
	}
}

func TestAPanicOnAWorkerReachesTheCaller(t *testing.T) {
	t.Parallel()
	r := runner{workers: 4}
	err := guard(func() error {
		r.parallel(100, 1, func(lo, hi int) {
			if lo <= 42 && 42 < hi {
				panic("at 42")
			}
		})
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "at 42") {
		t.Errorf("got error %v", err)
	}
}

func TestARunnerCoversEveryIndexOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ workers, n, grain int }{
		{1, 10, 1}, {4, 0, 1}, {4, 1, 1}, {4, 3, 1}, {4, 100, 7}, {16, 5, 0}, {4, 10, 100},
	} {
		r := runner{workers: c.workers}
		seen := make([]int, c.n)
		r.parallel(c.n, c.grain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		for i, n := range seen {
			if n != 1 {
				t.Errorf("%+v: index %d ran %d times", c, i, n)
			}
		}
	}
}

// The test holds a lock that completion needs, so that the work stays in
// flight for as long as the test looks.
func TestCommittedWorkIsInFlightUntilItsResourcesAreGivenBack(t *testing.T) {
	t.Parallel()
	dev, q := openHere(t)
	made, err := dev.NewBuffer(4, "held")
	if err != nil {
		t.Fatal(err)
	}
	b := made.(*buffer)
	fill, _ := kernels.ByName("fill")
	l := launch{kernel: fill, grid: metal.Size{X: 1}, args: []binding{{buffer: b}, {bytes: make([]byte, 4)}}}
	c := prepared(t, q, l, b)
	b.mu.Lock()
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	if u := dev.Usage(); u.InFlight != 1 || u.CommandBuffers != 1 || c.Status() == metal.Completed {
		t.Errorf("usage %+v, status %d", u, c.Status())
	}
	dev.mu.Lock() // completion has to count itself out first
	b.mu.Unlock()
	select {
	case <-c.done:
		t.Error("it completed before the usage said so")
	case <-time.After(20 * time.Millisecond):
	}
	dev.mu.Unlock()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if u := dev.Usage(); u.InFlight != 0 || u.CommandBuffers != 0 {
		t.Errorf("usage after the wait is %+v", u)
	}
	if err := b.Release(); err != nil {
		t.Error(err)
	}
}

func TestTemporariesGiveTheirSlabsBack(t *testing.T) {
	t.Parallel()
	var x temporaries
	const n = 10 * slabSize / temporarySize
	outer := x.push()
	for range n {
		x.make()
	}
	inner := x.push()
	for range n {
		x.make()
	}
	if len(x.slabs) != 20 || x.inUse() != 20*slabSize {
		t.Errorf("%d slabs, %d B in use; want 20 of %d B", len(x.slabs), x.inUse(), slabSize)
	}
	x.drain(outer)
	if len(x.slabs) != 10 || x.inUse() != 10*slabSize {
		t.Errorf("after the outer scope %d slabs, %d B in use; want 10", len(x.slabs), x.inUse())
	}
	x.drain(inner)
	if len(x.slabs) != 1 || x.inUse() != 0 {
		t.Errorf("after both %d slabs, %d B in use; want one to reuse", len(x.slabs), x.inUse())
	}
	x.make() // outside every scope
	if err := x.close(); err != nil || x.inUse() != 0 {
		t.Errorf("closing: %v, %d B in use", err, x.inUse())
	}
}
