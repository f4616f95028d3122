package pool_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

// What follows runs over real memory and work that is really in flight.

func openSoft(t testing.TB, o soft.Options) *soft.Device {
	t.Helper()
	dev, err := soft.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// fill sets the first n values of h to v.
func fill(h pool.Handle, n int, v float32) pool.Command {
	return pool.Command{Name: "fill", Dispatches: []pool.Dispatch{
		{Kernel: "fill", Grid: metal.Size{X: n}, Args: []pool.Arg{pool.Buf(h), pool.Float(v)}},
	}}
}

func TestARandomWalkOverTheSoftDeviceKeepsThePromises(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		for seed := range uint64(2) {
			dev := openSoft(t, soft.Options{WorkingSet: 400 * fakePage})
			walk(t, &model{
				dev:   dev,
				async: true,
				command: func(h pool.Handle) pool.Command {
					return fill(h, int(max(h.Length()/4, 1)), 1)
				},
			}, policy, seed, 500)
			must(t, dev.Close())
		}
	})
}

// Ten fills of one command buffer, each with a value of its own: right under
// every policy but the one that gives parameters back too early, and that one
// is caught.
func TestTheSoftDeviceComputesWrongOnlyUnderEarlyReturn(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		dev := openSoft(t, soft.Options{WorkingSet: 1 << 30})
		p := newPool(t, dev, policy, pool.Options{})
		b := newBatch(t, p, 0)
		var hs []pool.Handle
		for i := range 10 {
			h := get(t, p, 1000)
			must(t, b.Encode(fill(h, 1000, float32(i))))
			hs = append(hs, h)
		}
		must(t, b.Sync())
		wrong := 0
		for i, h := range hs {
			var word [4]byte
			if _, err := h.Buffer().ReadAt(word[:], 999*4); err != nil {
				t.Fatal(err)
			}
			if math.Float32frombits(binary.LittleEndian.Uint32(word[:])) != float32(i) {
				wrong++
			}
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		hazards := p.Stats().Hazards
		if (wrong > 0) != policy.EarlyReturn || (hazards > 0) != policy.EarlyReturn {
			t.Errorf("%d wrong results, %d hazards", wrong, hazards)
		}
		must(t, b.Close())
		must(t, p.Close())
	})
}

func TestABacklogOnTheSoftDeviceIsSeen(t *testing.T) {
	t.Parallel()
	dev := openSoft(t, soft.Options{WorkingSet: 1 << 30,
		Faults: soft.Faults{CompletionLag: 5 * time.Millisecond}})
	p := newPool(t, dev, named(t, "default"), pool.Options{})
	b := newBatch(t, p, 0, pool.NoFlush)
	for range 20 {
		h := get(t, p, 100)
		must(t, b.Encode(fill(h, 100, 1)))
		must(t, b.Commit())
		release(t, h, pool.Pending)
	}
	if s := b.Stats(); s.MaxInFlight < 2 || s.Syncs != 0 {
		t.Errorf("stats %+v", s)
	}
	if s := p.Stats(); s.PeakPendingBytes == 0 {
		t.Errorf("stats %+v", s)
	}
	must(t, b.Sync())
	if s, u := p.Stats(), dev.Usage(); s.Pending.Count != 0 || u.InFlight > 1 {
		t.Errorf("stats %+v, device %+v", s, u)
	}
	must(t, b.Close())
	must(t, p.Close())
}

// BenchmarkSoft is what pooling is worth on the soft device: one Get and
// Release of 256 KiB with a weight held, untouched and written once.
func BenchmarkSoft(b *testing.B) {
	for _, touch := range []bool{false, true} {
		name := "untouched"
		if touch {
			name = "written"
		}
		b.Run(name, func(b *testing.B) {
			few := min(b.N, 10_000) // a device allocation takes a thousand times a hit
			none := float64(softCycles(b, "none", touch, few).Nanoseconds()) / float64(few)
			b.ResetTimer()
			pooled := float64(softCycles(b, "default", touch, b.N).Nanoseconds()) / float64(b.N)
			b.StopTimer()
			b.ReportMetric(none, "none-ns/op")
			b.ReportMetric(none/pooled, "none/default")
		})
	}
}

func softCycles(b *testing.B, policy string, touch bool, n int) time.Duration {
	dev := openSoft(b, soft.Options{WorkingSet: 1 << 30})
	p, err := pool.New(dev, named(b, policy), pool.Options{})
	if err != nil {
		b.Fatal(err)
	}
	weight := get(b, p, 1)
	request := pool.Request{Elements: 64 << 10, ElementSize: 4, Label: "bench"}
	start := time.Now()
	for range n {
		h, err := p.Get(request)
		if err != nil {
			b.Fatal(err)
		}
		if touch {
			clear(h.Buffer().Contents())
		}
		if _, err := h.Release(); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(start)
	if _, err := weight.Release(); err != nil {
		b.Fatal(err)
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	if err := dev.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}

// BenchmarkSoftMissParallel is a device allocation on every core at once.
func BenchmarkSoftMissParallel(b *testing.B) {
	dev := openSoft(b, soft.Options{WorkingSet: 1 << 30})
	p, err := pool.New(dev, named(b, "none"), pool.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			cycle(b, p, benchRequest)
		}
	})
}
