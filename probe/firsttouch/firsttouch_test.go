package firsttouch

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const maps = `00400000-00500000 r-xp 00000000 fe:00 10 /usr/bin/prog
00600000-00700000 rw-p 00000000 00:00 0 [heap]
10000000-10100000 r-xp 00000000 fe:00 11 /usr/lib/libc.so.6
10100000-10200000 rw-p 00000000 fe:00 11 /usr/lib/libc.so.6
20000000-20100000 r-xp 00000000 fe:00 12 /usr/lib/libstdc++.so.6.0.30
30000000-30100000 r-xp 00000000 fe:00 13 /usr/lib/libcuda.so.580.159.04
40000000-40100000 r-xp 00000000 fe:00 14 /venv/_multiarray_umath.cpython-312-x86_64-linux-gnu.so
50000000-50100000 r-xp 00000000 00:00 0
60000000-60100000 r-xp 00000000 fe:00 15 /opt/libmine.so
70000000-70100000 r--p 00000000 fe:00 16 /data/model.gguf
`

const (
	inProg, inLibc, inStd, inCuda = 0x400100, 0x10000100, 0x20000100, 0x30000100
	inNumpy, inJIT, inMine        = 0x40000100, 0x50000100, 0x60000100
	inHeap, inFile, inNothing     = 0x600100, 0x70000100, 0x7fffffff0000
)

func testSpace(tb testing.TB, skip ...string) *space {
	tb.Helper()
	s, err := parseSpace(strings.NewReader(maps), "/usr/bin/prog", skip)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func words(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

func TestTheOwnerIsTheFirstWhoDoesNotServeOthers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		s      sample
		skip   []string
		owner  string
		leaf   string
		method Method
	}{
		{"own code", sample{frames: []uint64{inCuda, inProg}}, nil, "libcuda", "libcuda", ByLeaf},
		{"memset without a frame", sample{frames: []uint64{inLibc, inProg}, caller: inNumpy},
			nil, "_multiarray_umath", "libc", ByCaller},
		{"through two run-time libraries", sample{frames: []uint64{inLibc, inStd, inLibc, inCuda},
			caller: inStd}, nil, "libcuda", "libc", ByChain},
		{"a chain that ends in noise", sample{frames: []uint64{inLibc, inHeap, inNothing},
			stack: words(1, inHeap, inLibc, inCuda, inProg)}, nil, "libcuda", "libc", ByScan},
		{"nobody but the run-time library", sample{frames: []uint64{inLibc, inStd}}, nil, "libstdc++",
			"libc", ByNobody},
		{"generated code", sample{frames: []uint64{inJIT}}, nil, OwnerJIT, OwnerJIT, ByLeaf},
		{"a private allocator", sample{frames: []uint64{inMine, inCuda}}, []string{"libmine"}, "libcuda",
			"libmine", ByChain},
		{"the program", sample{frames: []uint64{inProg}}, nil, "prog", "prog", ByLeaf},
		{"a leaf nowhere", sample{frames: []uint64{inNothing, inCuda}}, nil, "libcuda", "", ByChain},
		{"nothing at all", sample{frames: []uint64{inNothing}}, nil, "", "", ByNobody},
		{"no frame", sample{}, nil, "", "", ByNobody},
	}
	for _, c := range cases {
		owner, leaf, _, how := testSpace(t, c.skip...).owner(&c.s)
		if name(owner) != c.owner || name(leaf) != c.leaf || how != c.method {
			t.Errorf("%s: %q by %q, %v; want %q by %q, %v", c.name, name(owner), name(leaf), how, c.owner,
				c.leaf, c.method)
		}
	}
}

func name(g *segment) string {
	if g == nil {
		return ""
	}
	return g.library
}

func TestRunTimeLibrariesServeAndFrameworksDoNot(t *testing.T) {
	t.Parallel()
	for _, l := range []string{"libc", "libc-2.31", "ld-linux-x86-64", "ld-musl-x86_64", "libstdc++",
		"libgcc_s", "libjemalloc", "[vdso]"} {
		if !serves(l) {
			t.Errorf("%s touches pages for others", l)
		}
	}
	for _, l := range []string{"libcuda", "libcudart", "libcublas", "python3.12", "libtorch_cuda", "libnvrtc",
		"xla_cuda_plugin", "prog", ""} {
		if serves(l) {
			t.Errorf("what %s touches is its own", l)
		}
	}
}

func TestSharesAndBytesAddUp(t *testing.T) {
	t.Parallel()
	s, tl := testSpace(t), newTally()
	for range 3 {
		tl.add(&sample{frames: []uint64{inCuda}, address: inHeap}, s, 10)
	}
	tl.add(&sample{frames: []uint64{inLibc, inProg}, address: inFile}, s, 10)
	got := tl.list(400, 4096)
	if len(got) != 2 || got[0].Library != "libcuda" || got[0].Share != 0.75 || got[0].Faults != 300 ||
		got[0].Bytes != 300*4096 {
		t.Fatalf("got %+v", got)
	}
	if o := got[1]; o.FileShare != 1 || o.Leaves[0].Library != "libc" || o.Path != "/usr/bin/prog" {
		t.Errorf("got %+v", o)
	}
	tl.add(&sample{}, s, 10)
	if got := tl.list(400, 4096); len(got) != 3 || got[1].Library != OwnerUnknown {
		t.Errorf("got %+v", got)
	}
	if Method(99).String() != "unknown" || ByScan.String() != "scan" {
		t.Error("edge values")
	}
}

func TestChurnIsNotTakenForGrowth(t *testing.T) {
	t.Parallel()
	const MiB = 1 << 20
	cases := []struct {
		name           string
		touched, grown int64
		known          bool
		samples        uint64
		want           Judgement
	}{
		{"a compiler called again and again", 459 * MiB, 18 * MiB, true, 9999, Churn},
		{"events never destroyed", 637 * MiB, 630 * MiB, true, 9999, Growth},
		{"huge pages: grew by more than it faulted", 10 * MiB, 900 * MiB, true, 999, Growth},
		{"in between", 100 * MiB, 30 * MiB, true, 999, Mixed},
		{"shrank", 100 * MiB, -30 * MiB, true, 999, Churn},
		{"few samples", 100 * MiB, 100 * MiB, true, 3, Undecided},
		{"few bytes", MiB / 2, MiB / 2, true, 999, Undecided},
		{"growth unknown", 100 * MiB, 0, false, 999, Undecided},
		{"nothing", 0, 0, true, 0, Undecided},
	}
	for _, c := range cases {
		got := judge(c.touched, c.grown, c.known, c.samples)
		if got.Judgement != c.want || got.Kept < 0 || got.Kept > 1 {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}

func TestThinningKeepsTheTargetsShare(t *testing.T) {
	t.Parallel()
	const interval, share = 50 * time.Millisecond, 0.005
	for _, rate := range []float64{0, 1, 100, 1e4, 1e5, 3e5} {
		on := window(rate, interval, share)
		period := nextPeriod(rate, on, interval, share)
		faults := rate * on.Seconds()
		cost := faults*faultCost.Seconds() + faults/float64(period)*sampleCost.Seconds()
		if cost > share*interval.Seconds()*1.01 || on > interval || period%2 == 0 {
			t.Errorf("%g faults/s: on for %v, period %d, costs %.2f %%", rate, on, period,
				100*cost/interval.Seconds())
		}
	}
	if on := window(1e3, interval, share); on != interval {
		t.Errorf("a slow program is watched all the time, not %v", on)
	}
	for _, rate := range []float64{1e15, math.Inf(1), math.NaN()} {
		on := window(rate, interval, share)
		if p := nextPeriod(rate, on, interval, share); on < 0 || on > interval || p == 0 || p >= maxPeriod {
			t.Errorf("rate %v: %v, %d", rate, on, p)
		}
	}
}

func TestARefusalSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	cases := []struct {
		r    rights
		want string
	}{
		{rights{paranoid: 4, paranoidKnown: true}, "perf_event_paranoid=2"},
		{rights{paranoid: 2, paranoidKnown: true}, "another user's"},
		{rights{}, "CAP_PERFMON is missing"},
		{rights{paranoid: 2, paranoidKnown: true, perfmon: true}, "seccomp"},
	}
	for _, c := range cases {
		err := denied(7, c.r, fs.ErrPermission)
		if !strings.Contains(err.Error(), c.want) || !errors.Is(err, fs.ErrPermission) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}

func TestOptionsAreRoundedToWhatTheKernelTakes(t *testing.T) {
	t.Parallel()
	for in, want := range map[int]int{0: DefaultRingPages, -1: DefaultRingPages, 1: 1, 3: 4,
		1 << 30: 1 << 12} {
		if got := (Options{RingPages: in}).withDefaults().RingPages; got != want {
			t.Errorf("%d pages become %d, want %d", in, got, want)
		}
	}
}

// recordOf makes a record with its head.
func recordOf(kind uint32, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, 0)
	b = binary.NativeEndian.AppendUint16(b, uint16(headerSize+len(body)))
	return append(b, body...)
}

func TestRecordsAreReadInBothLayouts(t *testing.T) {
	t.Parallel()
	stack := append(words(32, inCuda, 2, 3, 4), words(16)...) // room, bytes, how many are real
	amd64 := append(words(0xabc000, 3, ^uint64(0)-511, inLibc, inProg), stack...)
	arm64 := append(words(0xabc000, 2, inLibc, inProg, 2, inNumpy), stack...)
	noRegisters := append(words(0xabc000, 1, inLibc, 0), words(0)...)
	for _, c := range []struct {
		name   string
		layout layout
		body   []byte
		frames []uint64
		caller uint64
		stack  int
	}{
		{"amd64", layout{stack: true}, amd64, []uint64{inLibc, inProg}, inCuda, 16},
		{"arm64", layout{registers: 1, stack: true}, arm64, []uint64{inLibc, inProg}, inNumpy, 16},
		{"kernel thread", layout{registers: 1, stack: true}, noRegisters, []uint64{inLibc}, 0, 0},
		{"chain only", layout{}, words(0xabc000, 1, inLibc), []uint64{inLibc}, 0, 0},
	} {
		d := decoder{layout: c.layout}
		n := 0
		d.each(recordOf(recordSample, c.body), func(s *sample) {
			n++
			if s.address != 0xabc000 || !slices.Equal(s.frames, c.frames) || s.caller != c.caller ||
				len(s.stack) != c.stack {
				t.Errorf("%s: %+v", c.name, s)
			}
		})
		if n != 1 || d.bad != 0 {
			t.Errorf("%s: %d samples, %d bad", c.name, n, d.bad)
		}
	}
}

func TestLossAndThrottlingAreCounted(t *testing.T) {
	t.Parallel()
	b := slices.Concat(recordOf(recordLost, words(1, 40)), recordOf(recordLostSamples, words(2)),
		recordOf(recordThrottle, words(1, 2, 3)),
		recordOf(99, nil), recordOf(recordSample, words(1)), recordOf(recordSample, words(1, 1<<60)))
	d := decoder{}
	d.each(b, func(*sample) { t.Error("no whole sample is here") })
	if d.lost != 42 || d.throttled != 1 || d.bad != 2 {
		t.Errorf("lost %d, throttled %d, bad %d", d.lost, d.throttled, d.bad)
	}
	r := Report{Lost: d.lost, UserOnly: true, Unfollowed: 1, Faults: 9}
	if w := r.warnings(d.bad, d.throttled); len(w) != 6 {
		t.Errorf("every loss is told: %q", w)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(recordOf(recordSample, append(words(0xabc000, 2, inLibc, inProg), words(16, inCuda, 2, 16)...)),
		true, true)
	f.Add(recordOf(recordLost, words(1, 40)), false, false)
	f.Add([]byte{9, 0, 0, 0, 0, 0, 8, 0}, true, false)
	f.Fuzz(func(t *testing.T, b []byte, registers, stack bool) {
		d := decoder{layout: layout{stack: stack}}
		if registers {
			d.layout.registers = 1
		}
		s, tl := testSpace(t), newTally()
		d.each(b, func(x *sample) {
			if len(x.frames) > maxFrames || len(x.stack) > len(b) {
				t.Fatalf("more than there is: %+v", x)
			}
			tl.add(x, s, 1)
		})
		total := 0.0
		for _, o := range tl.list(1000, 4096) {
			total += o.Share
		}
		if tl.samples > 0 && math.Abs(total-1) > 1e-9 {
			t.Fatalf("shares add up to %v", total)
		}
	})
}

func FuzzSpace(f *testing.F) {
	f.Add(maps, uint64(inCuda))
	f.Add("0-ffffffffffffffff r-xp 0 0:0 0\n0-0 r-xp 0 0:0 0\n", uint64(0))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		s, err := parseSpace(strings.NewReader(text), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if g := s.find(address); g != nil && (address < g.start || address >= g.end) {
			t.Fatalf("%x is not in %x-%x", address, g.start, g.end)
		}
	})
}

func BenchmarkAttribution(b *testing.B) {
	s, tl := testSpace(b), newTally()
	record := recordOf(recordSample, append(words(0xabc000, 3, inLibc, inStd, inProg),
		append(words(512), make([]byte, 520)...)...))
	d := decoder{layout: layout{stack: true}}
	b.ReportAllocs()
	for b.Loop() {
		d.each(record, func(x *sample) { tl.add(x, s, 1) })
	}
}
