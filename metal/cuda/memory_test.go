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

// TestThePoolChargesWholePages holds pageSize against the real driver.
func TestThePoolChargesWholePages(t *testing.T) {
	d := realMemory(t, false)
	d.thread.do(func() {
		for _, n := range []uint64{1, pageSize, pageSize + 1, 1<<20 + 1} {
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
			t.Logf("%d B are charged as %d B, the pool holds %d B", n, after-before, reserved)
			if want := (n + pageSize - 1) / pageSize * pageSize; after-before != want {
				t.Errorf("%d B are charged as %d B, want %d", n, after-before, want)
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
	for _, plain := range []bool{false, true} {
		d := realMemory(t, plain)
		const size = 1 << 30
		d.thread.do(func() {
			before := d.memory.free()
			address, err := d.memory.get(size)
			if err != nil {
				t.Error(err)
				return
			}
			held := d.memory.free()
			if err := d.memory.put(address); err != nil {
				t.Error(err)
			}
			start := time.Now()
			d.memory.trim(0)
			took := time.Since(start)
			after := d.memory.free()
			t.Logf("plain %v: free %d B, with 1 GiB %d B, after %d B; the trim took %v", plain, before, held, after, took)
			if int64(before-held) < size/2 || int64(after-held) < size/2 {
				t.Error("1 GiB did not come and go")
			}
		})
	}
}

// The bare calls, on the device's thread: 1 MiB.
func BenchmarkCalls(b *testing.B) {
	for name, plain := range map[string]bool{"cuMemAlloc+cuMemFree": true, "cuMemAllocFromPoolAsync+sync+cuMemFreeAsync": false} {
		b.Run(name, func(b *testing.B) {
			d := realMemory(b, plain)
			b.ResetTimer()
			d.thread.do(func() {
				for range b.N {
					address, err := d.memory.get(1 << 20)
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
				address, code := d.memory.ordered(1 << 20)
				if code != codeSuccess || d.memory.put(address) != nil {
					b.Error("refused", code)
					return
				}
			}
		})
	})
}
