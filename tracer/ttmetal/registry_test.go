package ttmetal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func newBooks(history int) *Registry { return newRegistry(heap{}, history) }

// enter applies requests, charged to the process they name, and returns the
// lines they print.
func enter(t *testing.T, r *Registry, requests ...Request) string {
	t.Helper()
	var b []byte
	for i := range requests {
		q := &requests[i]
		if err := check(q); err != nil {
			b = fmt.Appendf(b, "%v\n", err)
			continue
		}
		e := r.apply(q, process{pid: q.PID, owner: q.PID})
		b = appendEvent(b, &e, numbers{})
	}
	return string(b)
}

func TestEventLinesAreThoseTheLogAnalysersParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests []Request
		want     string
	}{
		"an allocation and its free": {
			[]Request{alloc(1, 0x30000, 4096, L1, 7), free(1, 0x30000, 9)},
			"✓ [PID 7] Allocated 4096 bytes of L1 on device 1 (buffer_id=0x30000)\n" +
				"✗ [PID 7] Freed buffer 0x30000 on device 1 (4096 bytes, FINAL)\n",
		},
		"a second reference": {
			[]Request{alloc(0, 1, 10, DRAM, 7), alloc(0, 1, 10, DRAM, 8), free(0, 1, 7), free(0, 1, 7)},
			"✓ [PID 7] Allocated 10 bytes of DRAM on device 0 (buffer_id=0x1)\n" +
				"✓ [PID 8] Allocated 10 bytes of DRAM on device 0 (buffer_id=0x1, ref_count=2)\n" +
				"✗ [PID 7] Freed buffer 0x1 on device 0 (10 bytes, ref_count=1 remaining)\n" +
				"✗ [PID 7] Freed buffer 0x1 on device 0 (10 bytes, FINAL)\n",
		},
		"an unknown buffer": {
			[]Request{free(3, 0xff, 7)},
			"⚠ [PID 7] Deallocation for unknown buffer 0xff on device 3 (allocated before tracking started)\n",
		},
		"another size at the same address": {
			[]Request{alloc(0, 1, 10, Trace, 7), alloc(0, 1, 20, Trace, 7)},
			"✓ [PID 7] Allocated 10 bytes of TRACE on device 0 (buffer_id=0x1)\n" +
				"⚠ [PID 7] Buffer 0x1 on device 0 reused with DIFFERENT size: 10 bytes recorded, 20 bytes reported\n" +
				"✓ [PID 7] Allocated 20 bytes of TRACE on device 0 (buffer_id=0x1, ref_count=2)\n",
		},
		"circular buffers": {
			[]Request{
				{Kind: CBAlloc, Device: 2, ID: 1, Size: 3 << 20, PID: 7},
				{Kind: CBAlloc, Device: 2, ID: 1, Size: 1 << 20, PID: 7},
				{Kind: CBFree, Device: 2, ID: 1, Size: 9 << 20, PID: 7},
				{Kind: CBFree, Device: 2, ID: 1, Size: 1 << 20, PID: 7},
			},
			"✓ [CB_ALLOC] Device 2: +3.000 MB (Total: 3.000 MB)\n✓ [CB_ALLOC] Device 2: +1.000 MB (Total: 1.000 MB)\n" +
				"✗ [CB_FREE] Device 2: -1.000 MB (Total: 0.000 MB)\n⚠ [CB_FREE] Device 2: unknown circular buffer " +
				"0x1\n",
		},
		"kernels": {
			[]Request{
				{Kind: KernelLoad, Device: 2, ID: 1, Size: 57344, Memory: 1, PID: 7},
				{Kind: KernelUnload, Device: 2, ID: 1, Size: 57344, PID: 7},
				{Kind: KernelUnload, Device: 2, ID: 1, Size: 57344, PID: 7},
			},
			"✓ [KERNEL_LOAD] Fabric kernel on Device 2: +0.055 MB (Total: 0.055 MB)\n" +
				"✗ [KERNEL_UNLOAD] Fabric kernel on Device 2: -0.055 MB (Total: 0.000 MB)\n",
		},
		"nonsense": {
			[]Request{
				alloc(-1, 1, 10, DRAM, 7), alloc(MaxDevices, 1, 10, DRAM, 7), alloc(0, 1, 0, DRAM, 7),
				alloc(0, 1, MaxSize+1, DRAM, 7),
				alloc(0, 1, 10, 5, 7), {Kind: KernelLoad, Size: 1, Memory: 3}, {Kind: 0}, {Kind: 13}, {Kind: Response},
				{Kind: DeviceInfoResponse},
			},
			"invalid device_id -1\ninvalid device_id 1024\ninvalid size 0\ninvalid size 107374182401\n" +
				"invalid buffer_type 5 for buffer 0x1 on device 0\ninvalid buffer_type 3 for buffer 0x0 on device 0\n" +
				"unknown message type 0\nunknown message type 13\nunknown message type 4\nunknown message type 7\n",
		},
	} {
		if got := enter(t, newBooks(0), c.requests...); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestVersionOnePrintsIdsInDecimal(t *testing.T) {
	t.Parallel()
	e := Event{Kind: Alloc, Memory: L1, Device: 1, PID: 7, Size: 4096, ID: 0x30000, Refs: 1, Decimal: true}
	if got, want := string(appendEvent(nil, &e, numbers{})),
		"✓ [PID 7] Allocated 4096 bytes of L1 on device 1 (buffer_id=196608)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheSizeOfAReusedAddressStaysExceptWithHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		history int
		want    uint64
	}{{0, 10}, {HistoryEvents, 20}} {
		r := newBooks(c.history)
		enter(t, r, alloc(0, 1, 10, DRAM, 7), alloc(0, 1, 20, DRAM, 7))
		if got := r.used(0)[CountDRAM]; got != c.want {
			t.Errorf("with a history of %d events: %d bytes, want %d", c.history, got, c.want)
		}
		enter(t, r, free(0, 1, 7), free(0, 1, 7))
		if got := r.used(0)[CountDRAM]; got != 0 || r.Live() != 0 {
			t.Errorf("with a history of %d events: %d bytes stay", c.history, got)
		}
	}
}

func TestSystemMemoryCountsAsSmallL1(t *testing.T) {
	t.Parallel()
	r := newBooks(0)
	enter(t, r, alloc(0, 1, 1, DRAM, 7), alloc(0, 2, 2, L1, 7), alloc(0, 3, 4, SystemMemory, 7),
		alloc(0, 4, 8, L1Small, 7), alloc(0, 5, 16, Trace, 7))
	if got, want := r.used(0), [counters]uint64{1, 2, 12, 16}; got != want {
		t.Errorf("counters %v, want %v", got, want)
	}
}

func TestDumpsAreLaidOutAsTheScriptsExpect(t *testing.T) {
	t.Parallel()
	box := "\n╔══════════════════════════════════════════════════════════════╗\n" +
		"║           REMAINING ALLOCATED BUFFERS                       ║\n" +
		"╚══════════════════════════════════════════════════════════════╝\n"
	r := newBooks(0)
	if got, want := string(r.AppendDump(nil, false)),
		box+"Total tracked allocations: 0\n\n✓ No buffers remaining - perfect cleanup!\n"; got != want {
		t.Errorf("an empty dump is\n%s\nwant\n%s", got, want)
	}
	enter(t, r, alloc(1, 0x30000, 12<<10, L1, 12345), alloc(0, 0x20, 12000, DRAM, 5), alloc(0, 0x20, 12000, DRAM, 6))
	for i := range uint64(11) {
		enter(t, r, alloc(0, i, 1<<20, L1, 5))
	}
	rest := "Total tracked allocations: 13\n\nDevice 0:\n  DRAM: 1 buffers, %s MB total\n    - Buffer 0x20: %s KB " +
		"(PID 5, ref_count=2)\n" +
		"  L1: 11 buffers, %s MB total\n\nDevice 1:\n  L1: 1 buffers, %s MB total\n    - Buffer 0x30000: %s KB (PID " +
		"12345, ref_count=1)\n\n" + "Total remaining buffers: 13\n\n"
	if got, want := string(r.AppendDump(nil, false)), box+fmt.Sprintf(rest, "0.011", "11.7", "11.000", "0.012",
		"12.0"); got != want {
		t.Errorf("a dump is\n%s\nwant\n%s", got, want)
	}
	if got, want := string(r.AppendDump(nil, true)), box+fmt.Sprintf(rest, "0.0114441", "11.7188", "11",
		"0.0117188", "12"); got != want {
		t.Errorf("a dump with six digits is\n%s\nwant\n%s", got, want)
	}
}

func TestStatisticsNameEveryMemory(t *testing.T) {
	t.Parallel()
	r := newBooks(0)
	enter(t, r, alloc(3, 1, 1024, DRAM, 7), alloc(3, 2, 2048, L1Small, 7),
		Request{Kind: CBAlloc, Device: 3, Size: 512, ID: 9})
	want := "\n📊 Current Statistics:\n  Device 3:\n    Buffers: 2\n    DRAM: 1024 bytes (1.0 KB)\n    L1: 0 bytes " +
		"(0.0 KB)\n" +
		"    Total: 3072 bytes\n    L1_SMALL: 2048 bytes (2.0 KB)\n    CB: 512 bytes (0.5 KB)\n  Active " +
		"allocations: 2\n"
	if got := string(r.AppendStatistics(nil, false)); got != want {
		t.Errorf("statistics are\n%s\nwant\n%s", got, want)
	}
}

func TestHistoryTellsLeaksFromDoubleFrees(t *testing.T) {
	t.Parallel()
	r := newBooks(HistoryEvents)
	for range 60 {
		enter(t, r, alloc(0, 1, 10, DRAM, 7), free(0, 1, 7))
	}
	enter(t, r, alloc(0, 1, 10, DRAM, 7), free(0, 2, 7), alloc(0, 3, 1, DRAM, 7), free(0, 3, 7),
		alloc(0, 3, 2, DRAM, 7), free(0, 3, 7))
	want := "History: 3 buffers, 1 balanced, 1 leaked, 1 double-freed, 1 of changing size\n" +
		"Leaked buffers (allocations > frees): 1\n  Device 0: Buffer 0x1 allocated 61 times, freed 60 times\n" +
		"Double-freed buffers (frees > allocations): 1\n  Device 0: Buffer 0x2 allocated 0 times, freed 1 times\n"
	if got := string(r.AppendUneven(nil)); got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
	k := key{1, 0, buffers}
	if h := r.shard(k).past[k]; len(h.last) != HistoryEvents {
		t.Errorf("%d events are kept, want %d", len(h.last), HistoryEvents)
	}
	dump := string(r.AppendDump(nil, false))
	if got := strings.Count(dump, " bytes (PID 7, ref_count="); got != shownEvents ||
		!strings.Contains(dump, "ALLOC 10 bytes (PID 7, ref_count=1)") {
		t.Errorf("%d events are shown, want %d:\n%s", got, shownEvents, dump)
	}
}

func TestOnlyTheBuffersOfDeadProcessesAreSweptAndPIDsUsedAgainAreSeen(t *testing.T) {
	t.Parallel()
	w := &world{start: map[int32]uint64{1: 100, 2: 100, 3: 100}}
	r := newBooks(0)
	for pid := int32(0); pid <= 4; pid++ {
		q := alloc(0, uint64(pid)+1, 1<<20, DRAM, pid)
		r.apply(&q, process{pid: pid, owner: pid, start: w.Start(pid)})
	}
	q := Request{Kind: KernelLoad, Device: 1, ID: 9, Size: 1 << 20}
	r.apply(&q, process{pid: 2, owner: 2, start: 100})
	w.kill(2)
	w.kill(0)
	w.start[3] = 200 // another process has the number now
	want := "\n⚠️  Detected dead processes, cleaning up orphaned buffers...\n" +
		"   PID 2 is dead, removing its buffers...\n   ✓ Removed 1 buffers (1.000 MB) from PID 2\n   ✓ Removed 1 " +
		"kernels (1.000 MB) from PID 2\n" +
		"   PID 3 is dead, removing its buffers...\n   ✓ Removed 1 buffers (1.000 MB) from PID 3\n\n"
	if got := string(appendSwept(nil, r.Sweep(w), numbers{})); got != want {
		t.Errorf("the sweep prints\n%s\nwant\n%s", got, want)
	}
	if got := r.Live(); got != 3 {
		t.Errorf("%d buffers stay, want those of 0, 1 and 4", got)
	}
	if used := r.used(1); used[CountKernel] != 0 {
		t.Errorf("%d bytes of kernels stay", used[CountKernel])
	}
	if swept := r.Sweep(w); swept != nil {
		t.Errorf("a second sweep finds %v", swept)
	}
}

// model is the books as a map, to check the real ones against.
type model map[key]*slot

func (m model) apply(q *Request) {
	k := key{q.ID, q.Device, spaceOf(q.Kind)}
	v := m[k]
	switch q.Kind {
	case Alloc, CBAlloc, KernelLoad:
		switch {
		case v == nil:
			m[k] = &slot{id: q.ID, device: q.Device, space: k.space, memory: q.Memory, size: q.Size,
				refs: 1, pid: q.PID}
		case k.space == buffers:
			v.refs++
		default:
			v.size = q.Size
		}
	default:
		if v == nil {
			return
		}
		if v.refs--; v.refs == 0 {
			delete(m, k)
		}
	}
}

// agrees compares the books with the model, counters too.
func (m model) agrees(t *testing.T, r *Registry) {
	t.Helper()
	var want [MaxDevices][counters]uint64
	for k, v := range m {
		want[k.device][totalOf(k.space, v.memory)] += v.size
	}
	for d := range want {
		if got := r.used(int32(d)); got != want[d] {
			t.Errorf("device %d: counters %v, want %v", d, got, want[d])
		}
	}
	n := 0
	if err := r.Each(func(b Buffer) error {
		n++
		v := m[keyOf(&b)]
		if v == nil || v.size != b.Size || v.refs != b.Refs || v.pid != b.PID {
			return fmt.Errorf("the books hold %+v, the model %+v", b, v)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if n != len(m) {
		t.Errorf("the books hold %d, the model %d", n, len(m))
	}
}

// isDumped compares a dump with the model.
func (m model) isDumped(t testing.TB, d *Dump) {
	t.Helper()
	for _, b := range d.Buffers {
		v := m[keyOf(&b)]
		if v == nil || v.size != b.Size || v.refs != b.Refs || v.pid != b.PID {
			t.Errorf("the books hold %+v, the model %+v", b, v)
			return
		}
	}
	if len(d.Buffers) != len(m) {
		t.Errorf("the books hold %d, the model %d", len(d.Buffers), len(m))
	}
}

func keyOf(b *Buffer) key {
	return key{uint64(b.ID), b.Device, map[string]space{"buffer": buffers, "cb": circular, "kernel": kernels}[b.Space]}
}

// churn is a request out of a small world, so that keys repeat.
func churn(r *rand.Rand, pid int32, ids uint64) Request {
	kinds := []Kind{Alloc, Alloc, Alloc, Free, Free, CBAlloc, CBFree, KernelLoad, KernelUnload}
	return Request{
		Kind: kinds[r.IntN(len(kinds))], Device: int32(r.IntN(4)), ID: r.Uint64N(ids), Size: 1 + r.Uint64N(1<<20),
		Memory: Memory(r.IntN(kernelClasses)), PID: pid,
	}
}

func TestTheBooksAgreeWithAModel(t *testing.T) {
	t.Parallel()
	r, m, random := newBooks(0), model{}, rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		q := churn(random, 7, 20_000)
		r.apply(&q, process{pid: 7, owner: 7})
		m.apply(&q)
	}
	m.agrees(t, r)
}

func TestTheBooksAgreeWithAModelWhenManyWriteAndOthersRead(t *testing.T) {
	t.Parallel()
	r := newBooks(0)
	models := make([]model, 8)
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	readers.Add(1)
	go func() {
		defer readers.Done()
		for {
			select {
			case <-stop:
				return
			default:
				r.AppendDump(nil, false)
				r.Sweep(&world{})
			}
		}
	}()
	for i := range models {
		models[i] = model{}
		writers.Add(1)
		go func() {
			defer writers.Done()
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for range 20_000 {
				q := churn(random, int32(i)+1, 500)
				q.ID = q.ID*uint64(len(models)) + uint64(i)
				r.apply(&q, process{pid: q.PID, owner: q.PID})
				models[i].apply(&q)
			}
		}()
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	all := model{}
	for _, m := range models {
		for k, v := range m {
			all[k] = v
		}
	}
	all.agrees(t, r)
}
