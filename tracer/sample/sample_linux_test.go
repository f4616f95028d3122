package sample

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/probetest"
	"github.com/gpumem/gpumem/tracer/record"
)

// machine is one with a process 7 of 40 KiB, and with so much swap.
func machine(t *testing.T, swap string) (probetest.Root, probe.Machine) {
	root := probetest.NewRoot(t)
	root.Folder("proc/7")
	root.File("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\nSwapTotal: "+swap+" kB\nSwapFree: 0 kB\n")
	root.File("proc/7/stat", "7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0 0\n")
	root.File("proc/7/statm", "100 10 4 1 0 5 0\n")
	root.File("proc/7/status", "Name:\tx\nVmRSS:\t40 kB\nRssAnon:\t24 kB\nRssFile:\t12 kB\nRssShmem:\t4 "+
		"kB\nVmSwap:\t8 kB\n")
	return root, probe.Machine{Proc: filepath.Join(root.Path, "proc")}
}

// rowOf is a row by column.
func rowOf(t *testing.T, p *Process, at int64) map[string]int64 {
	t.Helper()
	cells, err := p.Row(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]int64{}
	for _, c := range cells {
		row[c.Column] = c.Value
	}
	return row
}

func TestEachRowHasTheFootprintWithoutPagesOfFiles(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{0, time.Hour} {
		root, m := machine(t, "0")
		s := New(Options{Now: new(clock).now, Interval: time.Second, SplitEvery: every, Machine: m})
		p, err := s.Open(7)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if row := rowOf(t, p, 0); row[record.ColFootprint] != (24+4+8)<<10 || row[record.ColRSSFile] != 12<<10 ||
			row[record.ColSwap] != 8<<10 {
			t.Errorf("every %s: the first row is %v", every, row)
		}
		// It reads a file of 400 KiB: nobody gets that back.
		page := int64(os.Getpagesize())
		root.File("proc/7/statm", "1000 110 104 1 0 5 0\n")
		root.File("proc/7/status", "Name:\tx\nVmRSS:\t440 kB\nRssAnon:\t24 kB\nRssFile:\t412 kB\nRssShmem:\t4 "+
			"kB\nVmSwap:\t8 kB\n")
		if row := rowOf(t, p, 1); row[record.ColFootprint] != 36<<10 || row[record.ColRSS] != 110*page {
			t.Errorf("every %s: the second row is %v", every, row)
		}
	}
}

func TestTheSplitComesAsOftenAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	_, m := machine(t, "1000")
	s := New(Options{Now: new(clock).now, Interval: time.Second, SplitEvery: 200 * time.Millisecond, Machine: m})
	p, err := s.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	has := func(at time.Duration) bool {
		_, split := rowOf(t, p, int64(at))[record.ColRSSFile]
		return split
	}
	if !has(0) || has(199*time.Millisecond) || !has(200*time.Millisecond) || has(399*time.Millisecond) {
		t.Error("it is not in the first row and in one each 200 ms")
	}
	if p.SplitNext(); !has(399 * time.Millisecond) {
		t.Error("it is not in a row that was to have it")
	}
}

func TestAProcessThatEndsIsGoneAndItsFilesAreClosed(t *testing.T) {
	t.Parallel()
	root, m := machine(t, "0")
	s := New(Options{Now: new(clock).now, Interval: time.Second, Machine: m})
	p, err := s.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	root.File("proc/7/statm", "0 0 0 0 0 0 0\n")
	root.File("proc/7/status", "Name:\tx\nState:\tZ (zombie)\n")
	if cells, err := p.Row(0, nil); err == nil || len(cells) != 0 || p.Alive() || p.Memory().RSS != probe.Unknown {
		t.Errorf("%v, %v, alive %v", cells, err, p.Alive())
	}
}

// BenchmarkRow is a row of a process on two devices, without the split.
func BenchmarkRow(b *testing.B) {
	var at clock
	d := &driver{list: []probe.Charge{local(os.Getpid(), 0, 10), local(os.Getpid(), 1, 10)}}
	s := New(Options{Now: at.now, Interval: time.Second, SplitEvery: time.Hour, GPU: d})
	p, err := s.Open(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	if err := s.Ask(nil); err != nil {
		b.Fatal(err)
	}
	var cells []record.Cell
	b.ReportAllocs()
	for b.Loop() {
		if cells, err = p.Row(1, cells[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAsk is a reading of a driver that answers at once.
func BenchmarkAsk(b *testing.B) {
	var at clock
	d := &driver{}
	for pid := range 10 {
		d.list = append(d.list, local(pid, 0, 10), local(pid, 1, 10))
	}
	s := New(Options{Now: at.now, Interval: time.Second, GPU: d})
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Ask(nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestASetGivesARowOfEachProcessUntilItEnds(t *testing.T) {
	t.Parallel()
	root, m := machine(t, "0")
	d := &driver{list: []probe.Charge{local(7, 0, 10)}}
	g := New(Options{Now: new(clock).now, Interval: time.Second, Machine: m, GPU: d}).NewSet()
	defer g.Close()
	if err := g.Add(7, 54); !errors.Is(err, probe.ErrExited) {
		t.Errorf("an earlier process of that pid: %v", err)
	}
	if err := g.Add(7, 55); err != nil || g.Add(7, 0) != nil || g.Len() != 1 {
		t.Fatalf("%v, %d processes", err, g.Len())
	}
	rows, ends := 0, 0
	round := func() {
		err := g.Round(func(pid int, cells []record.Cell) {
			if rows++; pid != 7 || cells[len(cells)-1] != (record.Cell{Column: record.ColGPU, Value: 10}) {
				t.Errorf("process %d: %v", pid, cells)
			}
		}, func(pid int, err error) {
			if ends++; pid != 7 || !errors.Is(err, probe.ErrExited) {
				t.Errorf("process %d ended: %v", pid, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	round()
	root.File("proc/7/statm", "0 0 0 0 0 0 0\n")
	root.File("proc/7/status", "Name:\tx\nState:\tZ (zombie)\n")
	round()
	round()
	if rows != 1 || ends != 1 || g.Len() != 0 {
		t.Errorf("%d rows and %d ends, %d processes left", rows, ends, g.Len())
	}
}

func TestWhatIsReservedCountsSharedMemoryAndIsUnknownWhereTheHeapReservesAhead(t *testing.T) {
	t.Parallel()
	const status = "Name:\tx\nVmRSS:\t40 kB\nRssAnon:\t24 kB\nRssFile:\t12 kB\nRssShmem:\t4 kB\nVmData:\t100 kB\nVmSwap:\t0 kB\n"
	for name, c := range map[string]struct {
		maps string
		want int64
	}{
		"private memory alone": {"7f0000000000-7f0000010000 rw-p 00000000 00:00 0\n", 100 << 10},
		"shared memory":        {"7f0000000000-7f0000010000 rw-s 00000000 00:01 7 /memfd:ring (deleted)\n", 164 << 10},
		"the JVM":              {"7f0000000000-7f0000010000 r-xp 00000000 00:01 7 /opt/java/lib/server/libjvm.so\n", 0},
	} {
		root, m := machine(t, "0")
		root.File("proc/7/status", status)
		root.File("proc/7/maps", c.maps)
		p, err := New(Options{Now: new(clock).now, Interval: time.Second, Machine: m}).Open(7)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowOf(t, p, 0)[record.ColReserved]; got != c.want {
			t.Errorf("%s: %d bytes", name, got)
		}
		p.Close() //nolint:errcheck // of a test
	}
}

// CUDA's pinned memory for writing alone lies behind a device's file, and its pages are no cache.
func TestWhatADriverKeepsBehindItsDevicesFileIsInTheFootprint(t *testing.T) {
	t.Parallel()
	root, m := machine(t, "0")
	status := func(file int) {
		root.File("proc/7/status", fmt.Sprintf("Name:\tx\nVmRSS:\t%d kB\nRssAnon:\t1024 kB\nRssFile:\t%d kB\n"+
			"RssShmem:\t0 kB\nVmSwap:\t0 kB\n", 1024+file, file))
	}
	mappings := func(end string, pages int) {
		library := "7f0000000000-7f0000400000 r-xp 00000000 fe:00 7 /usr/lib/libcuda.so.1\n"
		device := "7f1000000000-7f10" + end + "0000 rw-s 00000000 00:06 9 /dev/nvidiactl\n"
		shared := "7f2000000000-7f2000400000 rw-s 00000000 00:01 8 /dev/shm/ring\n"
		root.File("proc/7/maps", library+device+shared)
		root.File("proc/7/smaps", library+"Rss: 4096 kB\n"+device+fmt.Sprintf("Rss: %d kB\n", pages)+shared+"Rss: 64 kB\n")
	}
	c := new(clock)
	p, err := New(Options{Now: c.now, Interval: time.Second, Machine: m}).Open(7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // of a test
	for i, step := range []struct {
		end         string
		file, pages int // KiB
	}{{"0040", 4096 + 2048, 2048}, {"0200", 4096 + 30000, 30000}, {"0040", 4096 + 2048, 2048}} {
		status(step.file)
		mappings(step.end, step.pages)
		*c += clock(10 * time.Second)
		got := rowOf(t, p, c.now())
		if got[record.ColFootprint] != int64(1024+step.pages)<<10 || got[record.ColFileCache] != 4<<20 {
			t.Errorf("row %d: footprint %d, file cache %d", i, got[record.ColFootprint], got[record.ColFileCache])
		}
	}
}

// A walk over the pages is dear, and the reading before it was cheap: the walk's cost counts.
func TestAWalkIsPaidForThoughTheReadingBeforeWasCheap(t *testing.T) {
	t.Parallel()
	root, m := machine(t, "0")
	library := "7f0000000000-7f0000400000 r-xp 00000000 fe:00 7 /usr/lib/libcuda.so.1\n"
	root.File("proc/7/maps", library)
	file, err := m.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // of a test
	at, took := int64(0), int64(time.Millisecond)
	now := func() int64 { at += took; return at }
	f, mem := files{MappedFiles: unknownFiles()}, probe.Memory{File: 4 << 20}
	f.read(file, &mem, now)
	device := library + "7f1000000000-7f1000400000 rw-s 00000000 00:06 9 /dev/nvidiactl\n"
	root.File("proc/7/maps", device)
	root.File("proc/7/smaps", device+"Rss: 4096 kB\n")
	took = int64(20 * time.Millisecond)
	f.read(file, &mem, now)
	if rest := f.after - at; f.DriversPages != 4<<20 || rest < filesShare*took {
		t.Errorf("%d pages, and the next reading %d ns later", f.DriversPages, rest)
	}
}
