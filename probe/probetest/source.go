package probetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe/source"
)

// Stage is a source on a made-up machine with one device, which a test plays
// with. A process of which the driver tells no figure holds source.Unknown.
type Stage struct {
	Source source.Source
	// Holds says what the device holds for which process from now on; processes
	// that it does not name hold nothing.
	Holds func(map[int]int64)
	// Vanish takes the driver away while the source is open.
	Vanish func()
	// Most is how many processes the stand-in can have; 0 is 10,000.
	Most int
}

// TestSource is the conformance suite of sources: each call of open makes a fresh
// stage on which nothing is held. It needs no GPU.
func TestSource(t *testing.T, open func(t *testing.T) Stage) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Stage){
		"names its devices":                           namesItsDevices,
		"charges each process once":                   chargesOnce,
		"says unknown for what is not told, not zero": unknownIsNoZero,
		"follows processes that give back and end":    followsTheEnd,
		"survives a driver that vanishes":             survivesTheDriver,
		"closes twice and then knows nothing":         closesTwice,
		"charges ten thousand processes":              chargesMany,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() { s.Source.Close() })
			check(t, s)
		})
	}
}

// ask is what the source charges at once and by a reader, by process.
func (s *Stage) ask(t *testing.T, pids ...int) (at, again map[int]int64, h source.Holdings) {
	t.Helper()
	h = s.Source.Charges(context.Background(), pids)
	for _, w := range h.Warnings {
		oneLine(t, "warning", w)
	}
	r := s.Source.Reader()
	defer r.Close()
	list, err := r.Read(pids, nil)
	if err != nil {
		oneLine(t, "error", err.Error())
	}
	return s.byPID(t, h.Charges), s.byPID(t, list), h
}

// byPID checks charges for what holds of each.
func (s *Stage) byPID(t *testing.T, list []source.Charge) map[int]int64 {
	t.Helper()
	devices := len(s.Source.Devices(context.Background()))
	out := map[int]int64{}
	for _, c := range list {
		untold := c.Device == source.AnyDevice
		if c.PID <= 0 || !untold && (c.Device < 0 || c.Device >= devices) ||
			min(c.LocalBytes, c.HostBytes) < source.Unknown {
			t.Errorf("impossible charge %+v of %d devices", c, devices)
		}
		if untold && c.Bytes() != source.Unknown {
			t.Errorf("a charge of nobody knows what with bytes: %+v", c)
		}
		if b, twice := out[c.PID]; twice && !(untold && b == source.Unknown) {
			t.Errorf("process %d is charged twice: %+v", c.PID, c)
		}
		out[c.PID] = c.Bytes()
	}
	return out
}

func oneLine(t *testing.T, what, text string) {
	t.Helper()
	if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\r\n") {
		t.Errorf("%s is not one line: %q", what, text)
	}
}

func namesItsDevices(t *testing.T, s Stage) {
	name := s.Source.Name()
	if name == "" || strings.ContainsAny(name, " \t\n") {
		t.Errorf("the source is called %q", name)
	}
	first, second := s.Source.Devices(context.Background()), s.Source.Devices(context.Background())
	if len(first) != 1 || len(second) != 1 {
		t.Fatalf("%d and %d devices, want one", len(first), len(second))
	}
	d := first[0]
	if d.Source != name || d.Index != 0 || d.Driver == "" || d.PCI != second[0].PCI ||
		d.Name != second[0].Name {
		t.Errorf("device %+v of %s, then %+v", d, name, second[0])
	}
	if min(d.TotalBytes, d.UsedBytes, d.ReservedBytes) < source.Unknown {
		t.Errorf("figures %+v", d)
	}
	for _, text := range append(slices.Concat(d.Notes, s.Source.Limits()), d.Name, d.Driver) {
		oneLine(t, "text", text)
	}
}

func chargesOnce(t *testing.T, s Stage) {
	s.Holds(map[int]int64{42: 4096, 43: 8192})
	at, again, h := s.ask(t, 42, 43, 44)
	for what, got := range map[string]map[int]int64{"at once": at, "again and again": again} {
		if got[42] != 4096 || got[43] != 8192 || len(got) != 2 {
			t.Errorf("%s: %v, want 4096 for 42, 8192 for 43 and nothing for 44", what, got)
		}
	}
	if len(h.Devices) != 1 || h.Devices[0].Bytes != 12288 || h.Devices[0].Silent {
		t.Errorf("the device holds %+v, want 12288", h.Devices)
	}
}

func unknownIsNoZero(t *testing.T, s Stage) {
	s.Holds(map[int]int64{42: source.Unknown, 43: 8192})
	at, again, h := s.ask(t, 42, 43)
	for what, got := range map[string]map[int]int64{"at once": at, "again and again": again} {
		if b, told := got[42]; !told || b != source.Unknown {
			t.Errorf("%s: %v, want unknown for 42", what, got)
		}
		if got[43] != 8192 {
			t.Errorf("%s: %v, want 8192 for 43", what, got)
		}
	}
	if h.Devices[0].Bytes != source.Unknown && h.Devices[0].Bytes != 8192 || h.Devices[0].Bytes == 0 {
		t.Errorf("the device holds %d", h.Devices[0].Bytes)
	}
}

func followsTheEnd(t *testing.T, s Stage) {
	r := s.Source.Reader()
	defer r.Close()
	read := func() map[int]int64 {
		t.Helper()
		list, err := r.Read([]int{42, 43}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.byPID(t, list)
	}
	s.Holds(map[int]int64{42: 4096, 43: 4096})
	if got := read(); got[42] != 4096 || got[43] != 4096 {
		t.Errorf("while both hold some: %v", got)
	}
	s.Holds(map[int]int64{42: 4096})
	if got := read(); got[42] != 4096 || got[43] != 0 {
		t.Errorf("after the end of 43: %v", got)
	}
	s.Holds(nil)
	if got := read(); got[42] != 0 || got[43] != 0 {
		t.Errorf("after the end of both: %v", got)
	}
}

func survivesTheDriver(t *testing.T, s Stage) {
	s.Holds(map[int]int64{42: 4096})
	r := s.Source.Reader()
	defer r.Close()
	if _, err := r.Read([]int{42}, nil); err != nil {
		t.Fatal(err)
	}
	s.Vanish()
	for range 2 {
		list, err := r.Read([]int{42}, nil)
		if err != nil {
			oneLine(t, "error", err.Error())
		}
		at, again, h := s.ask(t, 42)
		for what, b := range map[string]int64{"at once": at[42], "by a new reader": again[42],
			"by the old one": s.byPID(t, list)[42]} {
			if b > 0 {
				t.Errorf("%s: %d bytes on a device that is gone", what, b)
			}
		}
		if len(h.Devices) != 1 || len(s.Source.Devices(context.Background())) != 1 {
			t.Errorf("devices went: %+v", h.Devices)
		}
	}
}

func closesTwice(t *testing.T, s Stage) {
	s.Holds(map[int]int64{42: 4096})
	r := s.Source.Reader()
	if _, err := r.Read([]int{42}, nil); err != nil {
		t.Fatal(err)
	}
	r.Close()
	for range 2 {
		if err := s.Source.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	at, again, h := s.ask(t, 42)
	if b, told := at[42]; told && b != source.Unknown {
		t.Errorf("a closed source charges %d", b)
	}
	if b, told := again[42]; !told || b != source.Unknown {
		t.Errorf("a reader of a closed source says %d, %v, want unknown", b, told)
	}
	if len(h.Devices) != 1 || h.Devices[0].Bytes != source.Unknown || !h.Devices[0].Silent ||
		len(h.Warnings) == 0 {
		t.Errorf("a closed source holds %+v, warnings %q", h.Devices, h.Warnings)
	}
	if list := s.Source.Devices(context.Background()); len(list) != 1 || list[0].UsedBytes != source.Unknown {
		t.Errorf("devices of a closed source: %+v", list)
	}
}

func chargesMany(t *testing.T, s Stage) {
	most := s.Most
	if most == 0 {
		most = 10000
	}
	holds, pids, total := map[int]int64{}, []int(nil), int64(0)
	for i := range most {
		bytes := int64(i+1) * 4096
		holds[1000+i], pids, total = bytes, append(pids, 1000+i), total+bytes
	}
	s.Holds(holds)
	at, again, h := s.ask(t, pids...)
	for what, got := range map[string]map[int]int64{"at once": at, "again and again": again} {
		if len(got) != most {
			t.Errorf("%s: %d processes, want %d", what, len(got), most)
		}
		for pid, want := range holds {
			if got[pid] != want {
				t.Fatalf("%s: process %d has %d, want %d", what, pid, got[pid], want)
			}
		}
	}
	if h.Devices[0].Bytes != total {
		t.Errorf("the device holds %d, want %d", h.Devices[0].Bytes, total)
	}
}
