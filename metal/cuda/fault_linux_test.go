//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/metal/cuda/cudatest"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// stubbed is a copy of the stub; on a real GPU there is none.
func stubbed(t *testing.T, conf ...string) string {
	t.Helper()
	if stub == "" {
		t.Skip("a real GPU is tested, which plants no faults")
	}
	return cudatest.Copy(t, stub, conf...)
}

func TestWhatIsNotThereIsOneLine(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "libcuda.so.1")
	for _, c := range []struct {
		name    string
		library string
		device  int
		conf    []string
		want    error
		says    []string
	}{
		{"no library", missing, 0, nil, cuda.ErrNoDriver, []string{"load the driver", missing, "install"}},
		{"no device", "", 0, []string{"init 100"}, cuda.ErrNoDevice,
			[]string{"CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"}},
		{"a driver without devices", "", 0, []string{"devices 0"}, cuda.ErrNoDevice, []string{"no device"}},
		{"an index too high", "", 2, []string{"devices 2"}, cuda.ErrNoDevice, []string{"device 2", "0 to 1"}},
		{"a negative index", "", -1, nil, cuda.ErrNoDevice, []string{"out of range"}},
		{"driver and kernel module differ", "", 0, []string{"init 803"}, cuda.ErrNoDriver,
			[]string{"reboot"}},
		{"no permission", "", 0, []string{"init 800"}, cuda.ErrNoDevice, []string{"/dev/nvidia"}},
		{"the toolkit's stub", "", 0, []string{"init 34"}, cuda.ErrNoDriver, []string{"stub"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			library := c.library
			if library == "" {
				library = stubbed(t, c.conf...)
			}
			o := cuda.Options{Library: library, Device: c.device}
			_, opened := cuda.Open(o)
			for _, err := range []error{opened, cuda.Check(o)} {
				metaltest.OneLine(t, err, c.want, c.says...)
				if !errors.Is(err, metal.ErrUnsupported) {
					t.Errorf("error %v, want one that matches ErrUnsupported too", err)
				}
			}
			if c.library == "" {
				nothingIsLeft(t, library)
			}
		})
	}
}

func TestADeviceThatCannotBeSetUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ conf, says string }{
		{"context 2", "make the context"},
		{"module 218", "compile the kernels"},
		{"alloc_fail_at 1 999", "allocate"},
		{"alloc_fail_at 2 999", "allocate"},
		{"launch_fail_at 1", "launch the kernel fill"},
	} {
		t.Run(c.conf, func(t *testing.T) {
			t.Parallel()
			library := stubbed(t, c.conf)
			_, err := cuda.Open(cuda.Options{Library: library})
			metaltest.OneLine(t, err, nil, c.says)
			nothingIsLeft(t, library)
		})
	}
}

func TestOptionsThatContradictAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []cuda.Options{
		{MaxBuffers: -1}, {WorkingSet: 1 << 63}, {Faults: cuda.Faults{FailAllocation: -1}},
		{Faults: cuda.Faults{ShrinkAfter: -1}}, {Faults: cuda.Faults{CompletionLag: -1}},
	} {
		if _, err := cuda.Open(o); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("options %+v: error %v", o, err)
		}
	}
}

func TestTheDriversRefusalIsOutOfMemoryWithItsWords(t *testing.T) {
	t.Parallel()
	library := stubbed(t, "total 268435456")
	dev := mustOpen(t, cuda.Options{Library: library, WorkingSet: 1 << 30})
	big, err := dev.NewBuffer(128<<20, "big")
	must(t, err)
	before := dev.Usage()
	_, err = dev.NewBuffer(128<<20, "too much")
	var refused *metal.OutOfMemoryError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want an OutOfMemoryError", err)
	}
	if refused.RequestedBytes != 128<<20 || refused.AllocatedBytes != 128<<20 ||
		!strings.Contains(refused.Reason, "CUDA_ERROR_OUT_OF_MEMORY") ||
		!strings.Contains(refused.Reason, "100663296 B free") {
		t.Errorf("it says %+v", refused)
	}
	if got := dev.Usage(); got != before {
		t.Errorf("the refusal moved the usage from %+v to %+v", before, got)
	}
	must(t, big.Release())
	again, err := dev.NewBuffer(128<<20, "again")
	must(t, err)
	must(t, again.Release())
	must(t, dev.Close())
	nothingIsLeft(t, library)
}

func TestOneRefusalIsTriedAgainAfterATrim(t *testing.T) {
	t.Parallel()
	library := stubbed(t, "alloc_fail_at 3") // two are the driver's own
	dev := mustOpen(t, cuda.Options{Library: library})
	b, err := dev.NewBuffer(4, "")
	must(t, err)
	must(t, b.Release())
	must(t, dev.Close())
}

// Small buffers share blocks of the pool, the first of which stays.
func TestReleasingGivesMemoryBackBeforeItReturns(t *testing.T) {
	t.Parallel()
	library := stubbed(t)
	dev := mustOpen(t, cuda.Options{Library: library})
	constant := count(t, library, "taken")
	for _, length := range []uint64{4, 512 << 10, 1 << 20, 40 << 20} {
		var all []metal.Buffer
		for range 200 {
			b, err := dev.NewBuffer(length, "")
			must(t, err)
			all = append(all, b)
			if length > 1<<20 {
				break
			}
		}
		for _, b := range all {
			must(t, b.Release())
		}
		if got := count(t, library, "taken"); got != constant {
			t.Errorf("after buffers of %d B the driver holds %d B, before them %d B", length, got, constant)
		}
	}
	used, reserved, err := dev.Reserved()
	if err != nil || used != dev.Info().PageSize || reserved != 32<<20 {
		t.Errorf("the pool says %d of %d B, %v", used, reserved, err)
	}
	must(t, dev.Close())
	nothingIsLeft(t, library)
}

func TestAnEmptiedBufferHasNoMemoryUntilItIsUsed(t *testing.T) {
	t.Parallel()
	library := stubbed(t)
	dev := mustOpen(t, cuda.Options{Library: library})
	q, err := dev.NewQueue(0)
	must(t, err)
	b, c := filled(t, dev, q)
	must(t, c.Wait())
	before := count(t, library, "allocations")
	b.SetPurgeable(metal.Empty)
	if got := count(t, library, "allocations"); got != before-1 {
		t.Errorf("emptying left %d of %d allocations", got, before)
	}
	if u := dev.Usage(); u.Buffers != 1 || u.AllocatedBytes != int64(b.AllocatedSize()) {
		t.Errorf("an emptied buffer still exists, but the usage is %+v", u)
	}
	b.SetPurgeable(metal.NonVolatile)
	if _, err := b.WriteAt([]byte{1}, 0); err != nil || count(t, library, "allocations") != before {
		t.Errorf("it was written with %v, %d allocations", err, count(t, library, "allocations"))
	}
	for _, release := range []func() error{b.Release, c.Release, q.Release, dev.Close} {
		must(t, release())
	}
	nothingIsLeft(t, library)
}

func TestAnEmptiedBufferStaysWhileWorkUsesIt(t *testing.T) {
	t.Parallel()
	library := stubbed(t, "lag_us 20000")
	dev := mustOpen(t, cuda.Options{Library: library})
	q, err := dev.NewQueue(0)
	must(t, err)
	other, err := dev.NewBuffer(4, "other")
	must(t, err)
	b, c := filled(t, dev, q)
	before := count(t, library, "allocations")
	b.SetPurgeable(metal.Empty)
	early := count(t, library, "allocations")
	if c.Status() != metal.Completed && early != before {
		t.Errorf("%d of %d allocations while the work is in flight", early, before)
	}
	must(t, c.Wait())                    // the kernel would have been stopped, had its memory gone
	_, err = other.WriteAt([]byte{1}, 0) // copies are in order with frees
	must(t, err)
	if got := count(t, library, "allocations"); got != before-1 {
		t.Errorf("%d allocations after the work, want %d", got, before-1)
	}
	for _, release := range []func() error{b.Release, other.Release, c.Release, q.Release, dev.Close} {
		must(t, release())
	}
}

func TestDriversWithoutPoolsServeAsWell(t *testing.T) {
	t.Parallel()
	libraries := map[string]string{"the device has none": stubbed(t, "pools 0")}
	old, err := cudatest.Make(t.TempDir(), cudatest.WithoutPools)
	must(t, err)
	libraries["the driver has none"] = old
	for name, library := range libraries {
		dev := mustOpen(t, cuda.Options{Library: library})
		b, err := dev.NewBuffer(4, "")
		must(t, err)
		if _, _, err := dev.Reserved(); !errors.Is(err, metal.ErrUnsupported) {
			t.Errorf("%s: a pool's figures: %v", name, err)
		}
		must(t, b.Release())
		must(t, dev.Close())
		nothingIsLeft(t, library)
	}
	broken, err := cudatest.Make(t.TempDir(), cudatest.WithoutLaunch)
	must(t, err)
	if _, err := cuda.Open(cuda.Options{Library: broken}); !errors.Is(err, cuda.ErrNoDriver) ||
		!strings.Contains(err.Error(), "cuLaunchKernel") {
		t.Errorf("a library without cuLaunchKernel: %v", err)
	}
}

// A kernel of one dimension does its work once, however many rows the grid has:
// on a real GPU y /= sum by two threads showed it.
func TestRowsOfTheGridDoNotRepeatAKernel(t *testing.T) {
	t.Parallel()
	dev := mustOpen(t, cuda.Options{Library: stubbed(t)})
	q, err := dev.NewQueue(0)
	must(t, err)
	p, err := dev.NewPipeline("axpy")
	must(t, err)
	x, err := dev.NewBuffer(4, "x")
	must(t, err)
	y, err := dev.NewBuffer(4, "y")
	must(t, err)
	for _, b := range []metal.Buffer{x, y} {
		_, err := b.WriteAt(kernels.Float32Bytes(1), 0)
		must(t, err)
	}
	c, err := q.NewCommandBuffer()
	must(t, err)
	e, err := c.NewEncoder()
	must(t, err)
	e.SetPipeline(p)
	e.SetBuffer(0, x, 0)
	e.SetBuffer(1, y, 0)
	e.SetBytes(2, kernels.Float32Bytes(1))
	must(t, e.Dispatch(metal.Size{X: 1, Y: 5}))
	must(t, e.End())
	must(t, c.Commit())
	must(t, c.Wait())
	got := make([]byte, 4)
	_, err = y.ReadAt(got, 0)
	must(t, err)
	if want := kernels.Float32Bytes(2); string(got) != string(want) {
		t.Errorf("1 + 1 x 1 is % x, want % x", got, want)
	}
	for _, release := range []func() error{x.Release, y.Release, c.Release, p.Release, q.Release, dev.Close} {
		must(t, release())
	}
}

// filled commits a fill of a fresh buffer.
func filled(t *testing.T, dev *cuda.Device, q metal.Queue) (metal.Buffer, metal.CommandBuffer) {
	t.Helper()
	p, err := dev.NewPipeline("fill")
	must(t, err)
	b, err := dev.NewBuffer(64, "filled")
	must(t, err)
	c, err := q.NewCommandBuffer()
	must(t, err)
	e, err := c.NewEncoder()
	must(t, err)
	e.SetPipeline(p)
	e.SetBuffer(0, b, 0)
	e.SetBytes(1, kernels.Float32Bytes(3))
	must(t, e.Dispatch(metal.Size{X: 16}))
	must(t, e.End())
	must(t, c.Commit())
	must(t, p.Release())
	return b, c
}

func TestALaunchThatIsRefusedFailsItsCommandBufferAlone(t *testing.T) {
	t.Parallel()
	library := stubbed(t, "launch_fail_at 2") // the first is the driver's own
	dev := mustOpen(t, cuda.Options{Library: library})
	q, err := dev.NewQueue(0)
	must(t, err)
	bad, failed := filled(t, dev, q)
	if err := failed.Wait(); err == nil || !strings.Contains(err.Error(), "launch the kernel fill") ||
		failed.Status() != metal.Failed {
		t.Errorf("status %d, error %v", failed.Status(), err)
	}
	good, done := filled(t, dev, q)
	must(t, done.Wait())
	if n := dev.Usage().TotalDispatches; n != 1 {
		t.Errorf("%d dispatches ran, want 1", n)
	}
	for _, release := range []func() error{bad.Release, good.Release, failed.Release, done.Release,
		q.Release, dev.Close} {
		must(t, release())
	}
	nothingIsLeft(t, library)
}

func TestALostDeviceSaysSoEverywhereAndStillCloses(t *testing.T) {
	t.Parallel()
	for _, conf := range []string{"lost_at 2", "lost_at 2 700"} {
		library := stubbed(t, conf)
		dev := mustOpen(t, cuda.Options{Library: library})
		q, err := dev.NewQueue(0)
		must(t, err)
		b, c := filled(t, dev, q)
		if err := c.Wait(); !errors.Is(err, cuda.ErrLost) || c.Status() != metal.Failed {
			t.Fatalf("%s: status %d, error %v", conf, c.Status(), err)
		}
		_, made := dev.NewBuffer(4, "")
		_, read := b.ReadAt(make([]byte, 4), 0)
		_, queue := dev.NewQueue(0)
		_, pipeline := dev.NewPipeline("add")
		for what, err := range map[string]error{"a buffer": made, "reading": read, "a queue": queue,
			"a pipeline": pipeline} {
			if !errors.Is(err, cuda.ErrLost) {
				t.Errorf("%s: %s gives %v", conf, what, err)
			}
		}
		_ = b.Release() // the driver frees nothing any more
		must(t, c.Release())
		must(t, q.Release())
		must(t, dev.Close())
		if u := dev.Usage(); u.Buffers != 0 || u.CommandBuffers != 0 || u.InFlight != 0 {
			t.Errorf("%s: usage at the end is %+v", conf, u)
		}
	}
}
