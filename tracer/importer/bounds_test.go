package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// packed is what gzip makes of head, and of text many times: it packs text once
// and says the rest again, as gzip may.
func packed(t testing.TB, head, text string, times int) []byte {
	t.Helper()
	pack := func(s string) []byte {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(z, s)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	return append(pack(head), bytes.Repeat(pack(text), times)...)
}

func said(run *record.Run, text string) bool {
	if run == nil {
		return false
	}
	for _, w := range run.Warnings {
		if strings.Contains(w.Text, text) {
			return true
		}
	}
	return false
}

// Each of these unpacks to some 100 MB, of which each byte or line costs memory
// where nothing bounds it.
func TestAFileThatIsPackedToFillTheMemoryIsReadInBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	const most = 256 << 20
	wide := strings.Repeat("a", 1000) // of RMM's lines alone there are millions
	for name, c := range map[string]struct {
		head, text string
		times      int
		err        string // empty: what was read is kept
	}{
		"RMM": {rmmHeader + "\n",
			strings.Repeat("1,10:00:00.000001,allocate,0x1,8,0x0\n1,10:00:00.000002,free,0x1,8,0x0\n",
				14000), 110, ""},
		"TL": {"",
			strings.Repeat("[TL_MEM_TRACE] "+wide+":1:2 tag=x rss_mb=1 scope_depth=0\n", 1000), 100, ""},
		"servers": {"",
			strings.Repeat(wide+"✓ [PID 7] Allocated 1 bytes of DRAM on device 1 (buffer_id=1)\n",
				1000), 100, ""},
		"smi": {"timestamp, pid, process_name, used_gpu_memory [MiB]\n",
			strings.Repeat("2026/11/20 09:30:00.000, 7, "+wide+", 512 MiB\n", 1000), 100, ""},
		"long names": {memrayHeader + "\n",
			strings.Repeat("malloc,1,1,1,t,f;"+strings.Repeat("a", 15000)+";3\n", 60), 110, ""},
		"samples of a profile": {"\x0a\x04\x08\x01\x10\x02", strings.Repeat("\x12\x00", 1<<19), 100,
			errPacked.Error()},
		"objects of a pickle": {"\x80\x04\x8c\x08segments0", strings.Repeat("]\x940", 1<<19),
			64, "more objects than"},
		"zeros": {rmmHeader + "\n", strings.Repeat("\x00", 1<<20),
			100, "no event could be read"},
		"blank lines": {rmmHeader + "\n", strings.Repeat("\n", 1<<20),
			100, "no event could be read"},
	} {
		file := packed(t, c.head, c.text, c.times)
		before := inUse()
		watch := &heapWatch{r: bytes.NewReader(file)}
		run, err := Read(watch, "f")
		grown := int64(watch.most) - int64(before)
		t.Logf("%-22s %5d KB packed, at most %4d MiB", name, len(file)/1000, grown>>20)
		if grown > most {
			t.Errorf("%s took %d MiB", name, grown>>20)
		}
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %q", name, err, c.err)
		case c.err == "" && (err != nil ||
			!said(run, "the rest was left out: the file unpacks to more than 100 times its size")):
			t.Errorf("%s: %v, %v", name, err, run)
		}
	}
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// heapWatch is a reader that looks how much memory is in use while it is read,
// a little at a time.
type heapWatch struct {
	r    io.Reader
	most uint64
}

func (w *heapWatch) Read(b []byte) (int, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.most = max(w.most, m.HeapAlloc)
	return w.r.Read(b[:min(len(b), 4<<10)])
}

func TestUnpackingIsBoundedByTheSizeOfTheFile(t *testing.T) {
	t.Parallel()
	u, err := unpack(newReader(string(packed(t, "", strings.Repeat("a", 1<<16), 64))))
	if err != nil {
		t.Fatal(err)
	}
	u.free = 1 << 10
	n, err := io.Copy(io.Discard, u)
	if !errors.Is(err, errPacked) || n > u.free+mostPacked*u.packed.n || n < u.free {
		t.Errorf("%d bytes of %d, %v", n, u.packed.n, err)
	}
}

func TestALongLogKeepsItsExtremesItsTimesAndItsEnd(t *testing.T) {
	t.Parallel()
	const events = 40_000
	var b strings.Builder
	b.WriteString(rmmHeader + "\n")
	for i := range events {
		size := 1
		if i == 12_345 { // one tall peak
			size = 1 << 30
		}
		at := fmt.Sprintf("10:00:%02d.%06d", i/1000, i%1000*1000)
		fmt.Fprintf(&b, "1,%s,allocate,0x%x,%d,0x0\n1,%s,free,0x%x,%d,0x0\n", at, i+1, size, at, i+1, size)
	}
	run := &record.Run{Path: "f"}
	r := newRMM(newReader(b.String()), run)
	r.rows.most = 1000
	if err := r.read(); err != nil {
		t.Fatal(err)
	}
	live, at := run.Samples.Column(record.ColLive), run.Samples.Column(record.ColTime)
	peak, gap := 0., 0.
	for i := range live {
		peak = max(peak, live[i])
		if i > 0 {
			gap = max(gap, at[i]-at[i-1])
		}
	}
	allocs := run.Samples.Column(record.ColAllocs)
	if len(live) > 1000 || len(live) < 250 || peak != 1<<30 || gap > 500 || allocs[len(allocs)-1] != events ||
		live[len(live)-1] != 0 {
		t.Errorf("%d rows, peak %v, %v ms apart, %v allocations", len(live), peak, gap, allocs[len(allocs)-1])
	}
	if !said(run, "of each 256 of the 80000 rows the lowest and the highest are kept") {
		t.Error(run.Warnings)
	}
}

func TestThinnedRowsOfSeveralProcessesStayApart(t *testing.T) {
	t.Parallel()
	rows := newTable(record.ColPID, record.ColGPU)
	rows.by, rows.apart, rows.most = record.ColGPU, record.ColPID, 600
	for i := range 20_000 {
		rows.row()
		rows.set(record.ColPID, float64(1+i%3))
		rows.set(record.ColGPU, float64(i/3))
	}
	s := rows.samples()
	var count [4]int
	for _, pid := range s.Column(record.ColPID) {
		count[int(pid)]++
	}
	if s.Len() > 600 || count[1] < 50 || count[2] < 50 || count[3] < 50 || rows.full {
		t.Errorf("%d rows, %v by process", s.Len(), count)
	}
	for i := range 20_000 { // each row a process of its own: nothing can be put together
		rows.row()
		rows.set(record.ColPID, float64(10+i))
		if rows.full {
			break
		}
	}
	if !rows.full || rows.len() > 2000 {
		t.Errorf("%d rows of as many processes are kept", rows.len())
	}
}

func TestAllocationsBeyondWhatIsRememberedStillCount(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(rmmHeader + "\n")
	for i := range 100 {
		fmt.Fprintf(&b, "1,10:00:00.%06d,allocate,0x%x,10,0x0\n", i, i+1)
	}
	for i := range 90 {
		fmt.Fprintf(&b, "1,10:00:01.%06d,free,0x%x,10,0x0\n", i, 100-i)
	}
	run := &record.Run{Path: "f"}
	r := newRMM(newReader(b.String()), run)
	r.most = 20
	if err := r.read(); err != nil {
		t.Fatal(err)
	}
	live, count := run.Samples.Column(record.ColLive), run.Samples.Column(record.ColLiveCount)
	if live[99] != 1000 || count[99] != 100 || live[189] != 100 || count[189] != 10 || len(live) != 190 {
		t.Errorf("%v bytes in %v, then %v in %v", live[99], count[99], live[len(live)-1], count[len(count)-1])
	}
	if !said(run, "80 allocations beyond 20 live ones were counted and not remembered") {
		t.Error(run.Warnings)
	}
}

func TestAProfileOfMillionsOfSamplesIsRefusedUnpacked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		mib  int
	}{
		"samples": {"\x12\x00", 8}, "places": {"\x22\x00", 10}, "functions": {"\x2a\x00", 12},
		"names":            {"\x32\x00", 48},
		"lines of a place": {"\x22\x7e" + strings.Repeat("\x22\x00", 63), 24},
		"labels":           {"\x12\x7e" + strings.Repeat("\x1a\x00", 63), 14},
		"packed numbers":   {"\x12\x7e\x0a\x7c" + strings.Repeat("\x01", 124), 36},
	} {
		data := "\x0a\x04\x08\x01\x10\x02" + strings.Repeat(c.text, c.mib<<20/len(c.text))
		if _, err := Read(strings.NewReader(data), "f"); !errors.Is(err, errHeavy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := weighProfile(file(t, "jax_before.pprof")); err != nil {
		t.Errorf("a real profile: %v", err)
	}
}

func TestALineWithoutAnEndEndsTheReading(t *testing.T) {
	t.Parallel()
	head := rmmHeader + "\n1,10:00:00.000001,allocate,0x1,8,0x0\n"
	run, err := Read(io.MultiReader(strings.NewReader(head), zeros{}), "f")
	if err != nil || run.Samples.Len() != 1 ||
		!said(run, "the rest was left out: a line has no end within 64 MiB") {
		t.Errorf("%v, %v", run, err)
	}
}

// zeros is /dev/zero.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
