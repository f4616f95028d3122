//go:build gpu

package cuda_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/metal/metaltest"
	"github.com/gpumem/gpumem/pool"
)

// realDevice is the index of a real GPU, from GPUMEM_TEST_CUDA.
func realDevice(t testing.TB) int {
	t.Helper()
	text := os.Getenv("GPUMEM_TEST_CUDA")
	if text == "" {
		t.Skip("no real GPU: GPUMEM_TEST_CUDA names none (an index, as 0)")
	}
	index, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("GPUMEM_TEST_CUDA=%s: %v", text, err)
	}
	return index
}

func TestTheDriverKeepsTheContractOnARealGPU(t *testing.T) {
	device := realDevice(t)
	// keeps the context, whose making takes a tenth of a second
	hold := mustOpen(t, cuda.Options{Device: device})
	t.Logf("%+v", hold.Info())
	t.Cleanup(func() {
		if err := hold.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, plain := range []bool{false, true} {
		t.Run("plain allocations "+strconv.FormatBool(plain), func(t *testing.T) {
			metaltest.Run(t, func(t *testing.T, f metaltest.Faults) metal.Device {
				return mustOpen(t, cuda.Options{
					Device: device, WorkingSet: f.WorkingSet, MaxBuffers: f.MaxBuffers,
					PlainAllocations: plain,
					Faults: cuda.Faults{
						FailAllocation: f.FailAllocation, ShrinkAfter: f.ShrinkAfter, ShrinkTo: f.ShrinkTo,
						CompletionLag: f.CompletionLag,
					},
				})
			}, metaltest.Abilities{Faults: true})
		})
	}
}

// BenchmarkPoolHit is a Get that hits and its Release, on a real GPU's buffers.
func BenchmarkPoolHit(b *testing.B) {
	dev := mustOpen(b, cuda.Options{Device: realDevice(b)})
	policy, err := pool.PolicyByName("default")
	if err != nil {
		b.Fatal(err)
	}
	p, err := pool.New(dev, policy, pool.Options{})
	if err != nil {
		b.Fatal(err)
	}
	request := pool.Request{Elements: 1 << 18, ElementSize: 4, Label: "bench"} // 1 MiB
	// While another buffer lives the pool is not at rest and keeps what it is given.
	other, err := p.Get(request)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		h, err := p.Get(request)
		if err == nil {
			_, err = h.Release()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := other.Release(); err != nil {
		b.Error(err)
	}
	p.Purge()
	if err := p.Close(); err != nil {
		b.Error(err)
	}
	if err := dev.Close(); err != nil {
		b.Error(err)
	}
}

// BenchmarkBuffer is NewBuffer and Release.
func BenchmarkBuffer(b *testing.B) {
	for _, c := range []struct {
		name   string
		length uint64
		o      cuda.Options
	}{
		{"1 MiB", 1 << 20, cuda.Options{}},
		{"64 MiB", 64 << 20, cuda.Options{}},
		{"512 KiB from the pool", 512 << 10, cuda.Options{}},
		{"512 KiB by cuMemAlloc", 512 << 10, cuda.Options{PlainAllocations: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.o.Device = realDevice(b)
			dev := mustOpen(b, c.o)
			for b.Loop() {
				buffer, err := dev.NewBuffer(c.length, "")
				if err == nil {
					err = buffer.Release()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			if err := dev.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkCommand is a command buffer with one launch, waited for.
func BenchmarkCommand(b *testing.B) {
	dev := mustOpen(b, cuda.Options{Device: realDevice(b)})
	q, err := dev.NewQueue(0)
	if err != nil {
		b.Fatal(err)
	}
	p, err := dev.NewPipeline("fill")
	if err != nil {
		b.Fatal(err)
	}
	y, err := dev.NewBuffer(4096, "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := q.NewCommandBuffer()
		if err != nil {
			b.Fatal(err)
		}
		e, err := c.NewEncoder()
		if err != nil {
			b.Fatal(err)
		}
		e.SetPipeline(p)
		e.SetBuffer(0, y, 0)
		e.SetBytes(1, []byte{0, 0, 0, 0})
		for _, step := range []func() error{func() error {
			return e.Dispatch(metal.Size{X: 1024})
		}, e.End, c.Commit, c.Wait, c.Release} {
			if err := step(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, release := range []func() error{y.Release, p.Release, q.Release, dev.Close} {
		if err := release(); err != nil {
			b.Error(err)
		}
	}
}
