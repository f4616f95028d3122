package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// ringOf writes a ring with the given events; its process does not exist.
func ringOf(capacity uint32, events ...event) []byte {
	le := binary.LittleEndian
	b := make([]byte, headerSize+int(capacity)*slotSize)
	copy(b, ringMagic)
	for i, v := range []uint32{ringVersion, headerSize, slotSize, capacity, 1<<22 + 1, 1} {
		le.PutUint32(b[8+4*i:], v)
	}
	le.PutUint64(b[48:], flagSlots|flagDriver)
	le.PutUint64(b[64:], uint64(len(events)))
	for i, e := range events {
		s := b[headerSize+i%int(capacity)*slotSize:]
		le.PutUint64(s, uint64(i)+1)
		le.PutUint64(s[8:], uint64(e.time))
		le.PutUint64(s[16:], e.ptr)
		le.PutUint64(s[24:], e.size)
		le.PutUint32(s[32:], e.tid)
		le.PutUint16(s[36:], uint16(e.kind))
		le.PutUint16(s[38:], uint16(e.rc))
		le.PutUint16(s[40:], uint16(e.device))
		s[42], s[43] = maxFrames, e.flags
		le.PutUint64(s[48:], e.aux)
		for f, pc := range e.frames {
			le.PutUint64(s[56+8*f:], pc)
		}
		sum := uint64(i) ^ uint64(e.time) ^ e.ptr*3 ^ e.size*5 ^ e.aux*7 ^ uint64(
			e.kind)<<48 ^ maxFrames<<32 ^ uint64(e.tid)
		le.PutUint32(s[44:], uint32(sum^sum>>32))
	}
	return b
}

func openRingOf(t testing.TB, b []byte) *Reader {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "4194305.0.ring"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

const nobodysPID = 1<<22 + 1 // one more than Linux has

func TestARingIsReadToItsEndAndThenTakenAway(t *testing.T) {
	t.Parallel()
	r := openRingOf(t, ringOf(64, event{kind: kindAlloc, ptr: 4096, size: 10},
		event{kind: kindEvent, ptr: 8}))
	for range stuckPolls + 2 {
		if err := r.Poll(); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int64{}
	for _, c := range r.Cells(nobodysPID) {
		got[c.Column] = c.Value
	}
	if got[record.ColDriverAllocBytes] != 10 || got[record.ColEvents] != 1 {
		t.Errorf("cells %v", got)
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) != 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

func TestATornOrDamagedRingCountsItsLoss(t *testing.T) {
	t.Parallel()
	alloc := func(i uint64) event { return event{kind: kindAlloc, ptr: i << 12, size: 1} }
	whole := ringOf(64, alloc(1), alloc(2), alloc(3))
	second := headerSize + slotSize
	for _, c := range []struct {
		name       string
		change     func(b []byte)
		live, lost int64
	}{
		{"whole", func([]byte) {}, 3, 0},
		{"never completed", func(b []byte) { binary.LittleEndian.PutUint64(b[second:], 0) }, 2, 1},
		{"changed on the way", func(b []byte) { b[second+24]++ }, 2, 1},
		{"overwritten", func(b []byte) { binary.LittleEndian.PutUint64(b[second:], 66) }, 2, 1},
		{"too many frames", func(b []byte) { b[second+42] = 200 }, 2, 1},
		{"head beyond all", func(b []byte) { binary.LittleEndian.PutUint64(b[64:], 1000) }, 0, 1000},
	} {
		b := bytes.Clone(whole)
		c.change(b)
		r := openRingOf(t, b)
		if err := r.Poll(); err != nil {
			t.Fatal(err)
		}
		p := r.procs[nobodysPID]
		if p.ledger.count[classDevice] != c.live || p.lost != uint64(c.lost) {
			t.Errorf("%s: %d live and %d lost, want %d and %d", c.name, p.ledger.count[classDevice],
				p.lost, c.live, c.lost)
		}
	}
}

func TestAFileThatIsNoRingIsAWarning(t *testing.T) {
	t.Parallel()
	r := openRingOf(t, []byte("nothing of the kind"))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "4194305.0.ring"), old, old); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Poll(); err != nil {
			t.Fatal(err)
		}
	}
	if w := r.Warnings(0); len(w) != 1 || !strings.Contains(w[0], "not a gpumem ring") {
		t.Errorf("warnings %q", w)
	}
}

func TestARingThatIsCutWhileItIsReadIsNoPanic(t *testing.T) {
	t.Parallel()
	r := openRingOf(t, ringOf(64, event{kind: kindAlloc, ptr: 4096, size: 1}))
	path := filepath.Join(r.dir, "4194305.0.ring")
	for _, size := range []int64{headerSize + 10, 20, 0} {
		// taken away as damaged
		if err := os.Truncate(path, size); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := r.Poll(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPollSaysWhenTheDirectoryIsGone(t *testing.T) {
	t.Parallel()
	r := openRingOf(t, ringOf(64))
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := r.Poll(); err == nil {
		t.Error("no error")
	}
	if _, err := Open(r.dir); err == nil {
		t.Error("a directory that is not there can be opened")
	}
}

// memoryRing is a ring that lies in no file.
type memoryRing struct{ *bytes.Reader }

func (memoryRing) Close() error { return nil }

// eventBytes is how much of a fuzzed input makes one event. Addresses and sizes
// are few, so that events meet; what is not in an input is 0.
const eventBytes = 8

func eventsOf(b []byte) []event {
	var events []event
	for ; len(b) >= eventBytes && len(events) < 64; b = b[eventBytes:] {
		wide := func(v byte) uint64 { // small, or huge
			if v >= 0xf0 {
				return ^uint64(0) << (v & 0xf * 4)
			}
			return uint64(v)
		}
		events = append(events, event{
			kind: kind(b[0]), flags: b[1] & 7, ptr: wide(b[2]), size: wide(b[3]), aux: wide(b[4]),
			tid: uint32(b[5] & 3),
			rc:  int16(b[6] & 3), device: int16(b[7]&3) - 1, time: int64(len(events)),
			frames: stack{uint64(b[7] >> 2)},
		})
	}
	return events
}

// No ring makes the reader panic; what it knows is never negative. An input is
// a few events, then damage, of three bytes a piece: where, and by what.
func FuzzRing(f *testing.F) {
	k := func(kind kind) byte { return byte(kind) }
	f.Add([]byte{k(kindAlloc), 0, 16, 10, 0, 0, 0, 5, k(kindFree), 0, 16, 0, 0, 0, 0, 0}, []byte{},
		uint64(2), uint16(65535))
	f.Add([]byte{k(kindCreate), 0, 1, 9, 0, 0, 0, 1, k(kindMap), 0, 64, 9, 1, 0, 0, 0, k(kindUnmap),
		0, 64, 0xf0, 0, 0, 0, 0,
		k(kindUnmap), slotUndo, 64, 0, 0, 0, 0, 0}, []byte{}, uint64(4), uint16(65535))
	f.Add([]byte{k(kindRelease), slotUndo, 1, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, k(kindPrimaryRelease),
		0, 0xfa, 0, 0, 0, 0, 0},
		[]byte{}, uint64(70), uint16(65535))
	f.Add([]byte{k(kindPrimary), 0, 7, 0, 0, 0, 0, 1, k(kindAlloc), 0, 16, 10, 7, 0, 0, 1, k(kindEvent),
		0, 3, 0, 7, 0, 0, 1,
		k(kindPrimaryReset), 0, 0, 0, 0, 0, 0, 0}, []byte{}, uint64(4), uint16(65535))
	f.Add([]byte{k(kindAlloc), 0, 16, 10, 0, 0, 2, 1, k(kindHost), 2, 16, 10, 0, 1, 0, 1, k(kindFreeHost),
		0, 16, 0, 0, 1, 0, 0,
		k(kindFreeHost), slotUndo, 16, 0, 0, 1, 0, 0}, []byte{}, uint64(4), uint16(65535))
	f.Add([]byte{k(kindAlloc), 0, 16, 10, 0, 0, 0, 1}, []byte{16, 0, 42, 16, 0, 3, 0, 20, 1}, uint64(1),
		uint16(65535))
	f.Add([]byte{}, []byte{}, uint64(0), uint16(8))
	f.Add([]byte{k(kindAlloc), 0, 16, 10, 0, 0, 0, 1}, []byte{}, uint64(1), uint16(headerSize+10))
	f.Fuzz(func(t *testing.T, events, damage []byte, head uint64, length uint16) {
		b := ringOf(8, eventsOf(events)...)
		binary.LittleEndian.PutUint64(b[64:], head)
		for ; len(damage) >= 3; damage = damage[3:] {
			b[int(binary.BigEndian.Uint16(damage))%len(b)] ^= damage[2]
		}
		r := newReader("")
		file := memoryRing{bytes.NewReader(b[:min(len(b), int(length))])}
		if !r.follow("ring", &ring{path: "/nowhere/ring", file: file}) {
			return
		}
		for range 2 {
			if err := r.Poll(); err != nil {
				t.Fatal(err)
			}
		}
		for _, pid := range r.PIDs() {
			for _, c := range r.Cells(pid) {
				if c.Value < 0 {
					t.Errorf("%s is %d", c.Column, c.Value)
				}
			}
			r.Failures(pid)
			r.Warnings(pid)
			r.Why(pid, "")
			r.Final(pid)
			r.Sites(pid)
		}
	})
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte("7f00-8f00 r-xp 00001000 08:01 12 /usr/lib/libcuda.so.1 (deleted)\n0-1 r-xp"))
	f.Add([]byte("ffff-1 r-xp 0 0 0 /x\n-\n7f00-zz --x 0 0 0 /\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range parseMaps(bytes.NewReader(b)) {
			if m.end <= m.start || !strings.HasPrefix(m.path, "/") {
				t.Errorf("a mapping %+v", m)
			}
		}
	})
}

func TestARingThatComesLaterIsFoundAlsoInADirectoryAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	rest := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, rest, rest); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := r.Poll(); err != nil {
			t.Fatal(err)
		}
	}
	if r.listed.IsZero() {
		t.Error("a directory at rest is listed again each time")
	}
	path := filepath.Join(dir, "4194305.0.ring")
	if err := os.WriteFile(path, make([]byte, headerSize), 0o600); err != nil { // on its way to a ring
		t.Fatal(err)
	}
	poll := func() {
		if err := os.Chtimes(dir, rest.Add(time.Minute), rest.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := r.Poll(); err != nil {
			t.Fatal(err)
		}
	}
	poll()
	if err := os.WriteFile(path, ringOf(64, event{kind: kindAlloc, ptr: 4096, size: 10}), 0o600); err != nil {
		t.Fatal(err)
	}
	poll() // the directory has the same time as before
	if r.Cells(nobodysPID) == nil {
		t.Error("a ring that was begun when the directory was listed is never read")
	}
}
