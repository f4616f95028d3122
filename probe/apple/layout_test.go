package apple

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// The bytes of these tests are built from the published structures; the
// offsets are their fields' places, counted by hand from XNU's headers.

func put(b []byte, offset int, v int64) { binary.LittleEndian.PutUint64(b[offset:], uint64(v)) }

func TestAUsageIsReadFromTheFieldsOfTheStructure(t *testing.T) {
	t.Parallel()
	b := make([]byte, 296)
	for i := range b {
		b[i] = 0xee // what is read at a wrong place shows
	}
	for offset, v := range map[int]int64{16: 11, 24: 12, 56: 13, 64: 14, 72: 15, 80: 16, 88: 0, 240: 17} {
		put(b, offset, v)
	}
	got, err := parseUsage(b)
	want := Usage{UserTicks: 11, SystemTicks: 12, Wired: 13, Resident: 14, Footprint: 15, Started: 16,
		PeakFootprint: 17}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := parseUsage(b[:295]); err == nil {
		t.Error("a structure that is cut off was read")
	}
}

func TestOnlyFieldsThatTheKernelFilledAreKnown(t *testing.T) {
	t.Parallel()
	b := make([]byte, vmInfoWords*4)
	for offset, v := range map[int]int64{16: 1, 48: 2, 64: 3, 120: 4, 144: 5, 168: 6, 176: 7, 272: 8,
		280: 9, 288: 10} {
		put(b, offset, v)
	}
	whole := Ledger{Resident: 1, Internal: 2, External: 3, Compressed: 4, Footprint: 5, PeakFootprint: 6,
		PurgeableNonvolatile: 7,
		Graphics:             8, GraphicsCompressed: 9, GraphicsNoFootprint: 10}
	rev2 := whole
	rev2.PeakFootprint, rev2.PurgeableNonvolatile, rev2.Graphics, rev2.GraphicsCompressed, rev2.GraphicsNoFootprint =
		Unknown, Unknown, Unknown, Unknown, Unknown
	rev0 := rev2
	rev0.Footprint = Unknown
	for words, want := range map[int]Ledger{89: whole, 84: whole, 42: rev2, 38: rev2, 36: rev0, 37: rev0} {
		got, err := parseLedger(b, words)
		if err != nil || got != want {
			t.Errorf("%d words: %+v, %v, want %+v", words, got, err, want)
		}
		if g, known := got.GraphicsBytes(), words >= 84; known && g != 17 || !known && g != Unknown {
			t.Errorf("%d words: graphics %d", words, g)
		}
	}
	for _, words := range []int{-1, 90} {
		if _, err := parseLedger(b, words); err == nil {
			t.Errorf("%d words were read out of %d B", words, len(b))
		}
	}
}

func TestALedgerBelowZeroIsZero(t *testing.T) {
	t.Parallel()
	b := make([]byte, vmInfoWords*4)
	put(b, 272, -4096)
	if l, err := parseLedger(b, vmInfoWords); err != nil || l.Graphics != 0 {
		t.Errorf("graphics %d, %v", l.Graphics, err)
	}
}

func TestSmallStructuresAreReadAndTooSmallOnesAreNot(t *testing.T) {
	t.Parallel()
	threads := make([]byte, 96)
	binary.LittleEndian.PutUint32(threads[84:], 7)
	if n, err := parseThreads(threads); err != nil || n != 7 {
		t.Errorf("threads %d, %v", n, err)
	}
	host := make([]byte, 152)
	binary.LittleEndian.PutUint32(host, 10)
	binary.LittleEndian.PutUint32(host[8:], 20)
	if p, err := parsePages(host, 16384); err != nil || p != (Pages{Free: 163840, Inactive: 327680}) {
		t.Errorf("pages %+v, %v", p, err)
	}
	swap := make([]byte, 32)
	put(swap, 0, 2<<30)
	put(swap, 8, 1<<30)
	if s, err := ParseSwap(swap); err != nil || s != (Swap{Total: 2 << 30, Free: 1 << 30}) {
		t.Errorf("swap %+v, %v", s, err)
	}
	if parseNumber([]byte{1, 0, 0, 0}) != 1 || parseNumber([]byte{0, 1, 0, 0, 0, 0, 0, 0}) != 256 ||
		parseNumber([]byte{1}) != Unknown {
		t.Error("numbers of a sysctl are misread")
	}
	for what, err := range map[string]error{
		"threads": second(parseThreads(threads[:95])), "pages": second(parsePages(host[:15], 4096)),
		"pages of no size": second(parsePages(host, 0)), "swap": second(ParseSwap(swap[:23])),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTicksThatDoNotFitAreTheLongestTime(t *testing.T) {
	t.Parallel()
	k := &Kernel{numer: 125, denom: 3}
	for ticks, want := range map[uint64]time.Duration{0: 0, 24_000_000: time.Second,
		math.MaxUint64: math.MaxInt64} {
		if got := k.Duration(ticks); got != want {
			t.Errorf("%d ticks are %v, want %v", ticks, got, want)
		}
	}
}

func FuzzLayouts(f *testing.F) {
	f.Add(make([]byte, 400), 89)
	f.Fuzz(func(t *testing.T, b []byte, words int) {
		if u, err := parseUsage(b); err == nil && (u.Footprint < 0 || u.Resident < 0) {
			t.Errorf("negative: %+v", u)
		}
		if l, err := parseLedger(b, words); err == nil && l.Graphics < Unknown {
			t.Errorf("negative: %+v", l)
		}
		_, _ = parseThreads(b)
		_, _ = parsePages(b, 4096)
		_, _ = ParseSwap(b)
		_ = parseNumber(b)
	})
}
