package soft

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// A kernel without a body panics as one with a defect would.
func TestAKernelThatPanicsIsAnErrorAndEndsItsCommandBuffer(t *testing.T) {
	t.Parallel()
	dev, err := Open(Options{WorkingSet: 1 << 30, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	fill, _ := kernels.ByName("fill")
	y := make([]byte, 4)
	good := command.Dispatch{
		Kernel: &fill, Grid: metal.Size{X: 1},
		Args: []command.Binding{{Bytes: y}, {Bytes: kernels.Float32Bytes(1)}},
	}
	ran, err := dev.execute([]command.Dispatch{{Kernel: &kernels.Kernel{Name: "broken"}}, good})
	if ran != 0 || err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("%d ran, error %v", ran, err)
	}
	if !bytes.Equal(y, make([]byte, 4)) {
		t.Errorf("what follows wrote % x", y)
	}
	if ran, err := dev.execute([]command.Dispatch{good}); ran != 1 || err != nil {
		t.Errorf("the next command buffer: %d ran, error %v", ran, err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
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
