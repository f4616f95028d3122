package hotspot

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// counter is one of a file that is made up: a number, or a text where there is one.
type counter struct {
	name string
	v    int64
	text string
}

// published is the file of a machine with such counters.
func published(order binary.AppendByteOrder, list ...counter) []byte {
	var entries []byte
	for _, c := range list {
		data := (head + len(c.name) + 1 + 7) &^ 7
		value, kind, elements := order.AppendUint64(nil, uint64(c.v)), byte(long), 0
		if c.text != "" {
			value, kind, elements = append([]byte(c.text), 0), byteType, len(c.text)+1
		}
		e := order.AppendUint32(nil, uint32(data+(len(value)+7)&^7))
		e = order.AppendUint32(e, head)
		e = order.AppendUint32(e, uint32(elements))
		e = append(e, kind, 0, 1, 1)
		e = order.AppendUint32(e, uint32(data))
		e = append(e, c.name...)
		e = append(e, make([]byte, data-len(e))...)
		e = append(e, value...)
		entries = append(entries, append(e, make([]byte, -len(e)&7)...)...)
	}
	b := []byte{0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1}
	if order.String() == binary.BigEndian.String() {
		b[4] = 0
	}
	for _, v := range []uint32{uint32(prologue + len(entries)), 0, 0, 0, prologue, uint32(len(list))} {
		b = order.AppendUint32(b, v)
	}
	return append(b, entries...)
}

// serial are the counters of the serial collector.
func serial() []counter {
	return []counter{
		{"java.threads.live", 9, ""}, {"sun.gc.policy.name", 0, "Copy:MSC"},
		{"sun.gc.generation.0.maxCapacity", 10 << 20, ""}, {"sun.gc.generation.1.maxCapacity", 20 << 20, ""},
		{"sun.gc.generation.0.space.0.used", 7000, ""}, {"sun.gc.generation.0.space.1.used", 100, ""},
		{"sun.gc.generation.0.space.2.used", 0, ""}, {"sun.gc.generation.1.space.0.used", 3000, ""},
		{"sun.gc.collector.0.invocations", 12, ""}, {"sun.gc.collector.1.invocations", 3, ""},
		{"sun.gc.metaspace.used", 5555, ""},
	}
}

func TestAHeapIsReadFromTheCountersThatAMachinePublishes(t *testing.T) {
	t.Parallel()
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		h, err := Parse(published(order, serial()...))
		if want := (Heap{Reserved: 30 << 20, Kept: 3100, Collections: 15, Full: 3}); err != nil || h != want {
			t.Errorf("%s: %+v, %v", order, h, err)
		}
	}
}

// g1 is the file of OpenJDK 17 with -Xmx256m, cut to what it had used.
func g1(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "g1"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestG1SharesOneHeapBetweenItsGenerations(t *testing.T) {
	t.Parallel()
	h, err := Parse(g1(t))
	if err != nil || h.Reserved != 256<<20 || h.Kept != 55803392+4194304 || h.Collections < 1 || h.Full != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestOfACollectorThatIsNotKnownNothingIs(t *testing.T) {
	t.Parallel()
	other := serial()
	other[1].text = "Z"
	if h, err := Parse(published(binary.LittleEndian, other...)); err != nil || h != UnknownHeap() {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := Parse(published(binary.LittleEndian)); err != nil || h != UnknownHeap() {
		t.Errorf("without counters: %+v, %v", h, err)
	}
}

func TestWhatIsNoFileOfCountersIsAnError(t *testing.T) {
	t.Parallel()
	whole := published(binary.LittleEndian, serial()...)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	for name, b := range map[string][]byte{
		"empty": nil, "cut": whole[:len(whole)-9], "another magic": change(0, 0),
		"another version": change(5, 1), "not ready": change(7, 0), "an entry of no length": change(prologue, 0),
		"more entries than there are": change(28, 200),
	} {
		if h, err := Parse(b); err == nil || h != UnknownHeap() {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(g1(f))
	f.Add(published(binary.LittleEndian, serial()...))
	f.Add(published(binary.BigEndian, serial()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Parse(b)
		if err != nil && h != UnknownHeap() {
			t.Errorf("%v, and yet %+v", err, h)
		}
		for _, v := range []int64{h.Reserved, h.Kept, h.Collections, h.Full} {
			if v < Unknown {
				t.Errorf("%+v", h)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	file := g1(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(file); err != nil {
			b.Fatal(err)
		}
	}
}
