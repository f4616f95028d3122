//go:build gpu

package cuda

import (
	"os"
	"strconv"
	"testing"
	"time"
)

func realMemory(t testing.TB, plain bool) *Device {
	t.Helper()
	text := os.Getenv("GPUMEM_TEST_CUDA")
	if text == "" {
		t.Skip("no real GPU: GPUMEM_TEST_CUDA names none (an index, as 0)")
	}
	index, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(Options{Device: index, PlainAllocations: plain, KeepBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestThePoolChargesWhatItIsAskedFor holds what pageSize says against the real
// driver.
func TestThePoolChargesWhatItIsAskedFor(t *testing.T) {
	d := realMemory(t, false)
	d.thread.do(func() {
		for _, n := range []uint64{1, pageSize, pageSize + 1, largeLength - 1} {
			before, _, err := d.memory.figures()
			if err != nil {
				t.Error(err)
				return
			}
			address, err := d.memory.get(n)
			if err != nil {
				t.Error(err)
				return
			}
			after, reserved, _ := d.memory.figures()
			t.Logf("%d B at %#x are charged as %d B, the pool holds %d B", n, address, after-before, reserved)
			if after-before != n {
				t.Errorf("%d B are charged as %d B", n, after-before)
			}
			if err := d.memory.put(address); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestTrimGivesMemoryBack reads the device's free memory around a large
// allocation; other processes may move it, so that only most is asked for.
func TestTrimGivesMemoryBack(t *testing.T) {
	for _, one := range []uint64{1 << 30, 512 << 10} {
		d := realMemory(t, false)
		const size = 1 << 30
		d.thread.do(func() {
			before := d.memory.free()
			var all []uintptr
			start := time.Now()
			for range size / one {
				address, err := d.memory.get(one)
				if err != nil {
					t.Error(err)
					return
				}
				all = append(all, address)
			}
			t.Logf("allocations of %d B: %v each", one, time.Since(start)/time.Duration(len(all)))
			held := d.memory.free()
			for _, address := range all {
				if err := d.memory.put(address); err != nil {
					t.Error(err)
				}
			}
			start = time.Now()
			d.memory.trim(0)
			took := time.Since(start)
			after := d.memory.free()
			t.Logf("free %d B, with 1 GiB %d B, after %d B; the trim took %v", before, held, after, took)
			if int64(before-held) < size/2 || int64(after-held) < size/2 {
				t.Error("1 GiB did not come and go")
			}
		})
	}
}

// The bare calls, on the device's thread.
func BenchmarkCalls(b *testing.B) {
	const size = 512 << 10
	for name, plain := range map[string]bool{"cuMemAlloc+cuMemFree": true,
		"cuMemAllocFromPoolAsync+sync+cuMemFreeAsync": false} {
		b.Run(name, func(b *testing.B) {
			d := realMemory(b, plain)
			b.ResetTimer()
			d.thread.do(func() {
				for range b.N {
					address, err := d.memory.get(size)
					if err == nil {
						err = d.memory.put(address)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
	b.Run("cuMemAllocFromPoolAsync+cuMemFreeAsync", func(b *testing.B) {
		d := realMemory(b, false)
		b.ResetTimer()
		d.thread.do(func() {
			for range b.N {
				address, code := d.memory.ordered(size)
				if code != codeSuccess || d.memory.put(address) != nil {
					b.Error("refused", code)
					return
				}
			}
		})
	})
}
