package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/gpumem/gpumem/tracer/record"
)

// file is a recording under testdata: real ones of JAX 0.10.2 on a CPU, memray
// 1.20.0 and gpumem serve, of 2026-11-21, with paths shortened.
func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readFile(t *testing.T, data []byte, name string) *record.Run {
	t.Helper()
	run, err := Read(bytes.NewReader(data), name)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestAJAXProfileGivesLiveMemoryAndItsLine(t *testing.T) {
	t.Parallel()
	run := readFile(t, file(t, "jax_before.pprof"), "jax_before.pprof")
	want(t, run, record.ColLive, 5*256*256*4)
	want(t, run, record.ColLiveCount, 5)
	if s := sitesOf(run); len(s) != 1 || s[0].Site != "/opt/demo/train.py:7 step" || s[0].Count != 5 {
		t.Errorf("%+v", s)
	}
	if run.Samples.Column(record.ColTime) != nil || !warned(run, 0, "cannot show growth") ||
		run.Meta.Versions["recording"] != string(JAX) {
		t.Errorf("%+v %+v", run.Meta, run.Warnings)
	}
}

// jaxProfile is a profile as JAX's runtime writes one of two devices.
func jaxProfile(t *testing.T) []byte {
	t.Helper()
	buffer := func(device string) map[string][]string {
		return map[string][]string{"kind": {"buffer"}, "device": {device}}
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "allocations", Unit: "count"},
		{Type: "space", Unit: "bytes"}}}
	p.Sample = []*profile.Sample{
		{Value: []int64{2, 100}, Label: buffer("cuda:0")},
		{Value: []int64{3, 50}, Label: buffer("TPU_3(process=0,(0,0,0,0))")},
		{Value: []int64{1, 7000}, Label: map[string][]string{"kind": {"executable"}}},
		{Value: []int64{-1, 5}, Label: buffer("cuda:0")},
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDevicesAndCompiledProgramsOfAProfileAreToldApart(t *testing.T) {
	t.Parallel()
	run := readFile(t, jaxProfile(t), "two.prof")
	want(t, run, record.ColLive+"@0", 100)
	want(t, run, record.ColLive+"@3", 50)
	want(t, run, record.ColLiveCount+"@3", 3)
	want(t, run, record.ColExecutable, 7000)
	if !warned(run, 0, "is not an amount") {
		t.Errorf("%+v", run.Warnings)
	}
}

func TestAProfileOfTimeIsRefused(t *testing.T) {
	t.Parallel()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b, "cpu.prof"); err == nil ||
		!strings.Contains(err.Error(), "a profile of cpu, not of memory") {
		t.Error(err)
	}
}

func TestTwoProfilesShowWhatGrewBetweenThem(t *testing.T) {
	t.Parallel()
	before, after := readFile(t, file(t, "jax_before.pprof"), "a"),
		readFile(t, file(t, "jax_after.pprof"), "b")
	run, err := Join([]*record.Run{before, after}, true)
	if err != nil {
		t.Fatal(err)
	}
	want(t, run, record.ColLive, 5*mib/4, 45*mib/4)
	want(t, run, record.ColStep, 1, 2)
	if s := sitesOf(run); len(s) != 1 || s[0].GrowthBytes != 10*mib {
		t.Errorf("%+v", s)
	}
	if e := run.Events; e[0].Name != record.PhaseBaseline || e[1].Name != record.PhaseReleased ||
		e[1].TMs <= e[0].TMs {
		t.Errorf("%+v", e)
	}
	if run.Samples.Column(record.ColTime) != nil || warned(run, 0, "cannot show growth") ||
		len(run.Warnings) != 1 {
		t.Errorf("%+v", run.Warnings)
	}
}

func TestSnapshotsWithTimesLieThatFarApart(t *testing.T) {
	t.Parallel()
	a, b := readFile(t, snapshot(t), "a"), readFile(t, snapshot(t), "b")
	later := b.Meta.End.Add(90_500_000_000)
	b.Meta.End = &later
	run, err := Join([]*record.Run{a, b}, false)
	if err != nil {
		t.Fatal(err)
	}
	want(t, run, record.ColTime, 0, 90_500)
	if run.Samples.Len() != 2 || run.Events[0].Kind != record.KindSites {
		t.Errorf("%+v", run.Events)
	}
}

func TestOnlyStatesOfOneKindAndOfOneMomentAreJoined(t *testing.T) {
	t.Parallel()
	jax, log := readFile(t, file(t, "jax_before.pprof"), "a"),
		readFile(t, file(t, "allocation_server.log"), "b")
	if _, err := Join([]*record.Run{log, log}, false); !errors.Is(err, ErrOneFile) {
		t.Error(err)
	}
	if _, err := Join([]*record.Run{jax, log}, false); err == nil || errors.Is(err, ErrOneFile) {
		t.Error(err)
	}
	if _, err := Join(nil, false); err == nil {
		t.Error("nothing was joined")
	}
}

func TestMemraysCSVGivesTheHeapAndItsLines(t *testing.T) {
	t.Parallel()
	run := readFile(t, file(t, "memray_leaks.csv"), "memray_leaks.csv")
	sum := int64(0)
	for _, s := range sitesOf(run) {
		sum += s.Bytes
	}
	want(t, run, record.ColHostHeap, float64(sum))
	if s := sitesOf(run)[0]; s.Site != "grow.py:4 grow" || s.Count < 200 || s.Bytes < 20_000_000 {
		t.Errorf("%+v", s)
	}
}

func TestFieldsInQuotesAreReadAsOne(t *testing.T) {
	t.Parallel()
	text := memrayHeader + "\n" + `MALLOC,2,10,1,"a ""b"", c","f;x,y.py;3|g;z.py;4"` +
		"\nMALLOC,x,10,1,,\nMALLOC,1,-1,1,,\nshort\nMALLOC,1,5,1,0x1,\n"
	run := readFile(t, []byte(text), "q.csv")
	if s := sitesOf(run); len(s) != 2 || s[0].Site != "x,y.py:3 f" || s[0].Count != 2 ||
		s[1].Site != noStack {
		t.Errorf("%+v", s)
	}
	for line, text := range map[int]string{3: "bad number", 4: "bad size", 5: "fields instead of 6"} {
		if !warned(run, line, text) {
			t.Errorf("line %d: %+v", line, run.Warnings)
		}
	}
}

func TestMemraysStatisticsHoldNoAccount(t *testing.T) {
	t.Parallel()
	run := readFile(t, file(t, "memray_stats.json"), "memray_stats.json")
	for _, name := range run.Samples.Names() {
		switch name {
		case record.ColAllocs, record.ColAllocatedBytes, record.ColPeakHostHeap:
		default:
			t.Errorf("column %s", name)
		}
	}
	if run.Meta.PID == 0 || run.Meta.End == nil || run.Meta.End.Before(run.Meta.Start) ||
		!warned(run, 0, "not what is held") {
		t.Errorf("%+v %+v", run.Meta, run.Warnings)
	}
	if run.Events[0].At != "<listcomp>:grow.py:6" {
		t.Errorf("%+v", run.Events)
	}
}

func TestAnAllocationServersLogGivesTheBooksAfterEachEvent(t *testing.T) {
	t.Parallel()
	log := `
✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x30000)
✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x30000, ref_count=2)
✓ [PID 8] Allocated 1000 bytes of DRAM on device 0 (buffer_id=17)
✗ [PID 7] Freed buffer 0x30000 on device 0 (4096 bytes, ref_count=1 remaining)
✗ [PID 7] Freed buffer 0x30000 on device 0 (4096 bytes, FINAL)
⚠ [PID 8] Deallocation for unknown buffer 0x99 on device 0 (allocated before tracking started)
✓ [CB_ALLOC] Device 0: +0.500 MB (Total: 0.500 MB)
✓ [KERNEL_LOAD] Application kernel on Device 0: +0.250 MB (Total: 0.250 MB)
✓ [PID 8] Allocated lots of bytes
   PID 8 is dead, removing its buffers...
Current Statistics:
`
	run := readFile(t, []byte(log), "server.log")
	want(t, run, record.ColLive, 4096, 4096, 5096, 5096, 1000, 1000, 1000, 0)
	want(t, run, record.ColLiveCount, 1, 1, 2, 2, 1, 1, 1, 0)
	want(t, run, "l1_bytes", 4096, 4096, 4096, 4096, 0, 0, 0, 0)
	want(t, run, record.ColAllocs, 1, 2, 3, 3, 3, 3, 3, 3)
	want(t, run, "cb_bytes", record.Unknown(), record.Unknown(), record.Unknown(), record.Unknown(),
		record.Unknown(), mib/2, mib/2, mib/2)
	if !warned(run, 10, "cannot be read") || !warned(run, 11, "process 8 died with 1 buffers") ||
		!warned(run, 0, "freed twice, or was allocated before the log began: 1") {
		t.Errorf("%+v", run.Warnings)
	}
}

func TestARealServersLogSaysWhoHoldsWhat(t *testing.T) {
	t.Parallel()
	text := string(file(t, "allocation_server.log"))
	alive, _, _ := strings.Cut(text, "Detected dead")
	run := readFile(t, []byte(alive), "server.log")
	if h := run.Events[0].Holders; len(h) != 2 || !strings.Contains(h[0].Path, "DRAM of device") ||
		h[0].Bytes < mib {
		t.Errorf("%+v", h)
	}
	live := run.Samples.Column(record.ColLive + "@1")
	if n := len(live); live[n-1] < 2*mib {
		t.Errorf("%v", live[n-1])
	}
}

func TestARecordingIsReadThroughItsCompression(t *testing.T) {
	t.Parallel()
	plain := file(t, "allocation_server.log")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(plain)
	z.Close()
	a, c := readFile(t, plain, "x"), readFile(t, b.Bytes(), "x")
	if a.Samples.Len() == 0 || a.Samples.Len() != c.Samples.Len() {
		t.Errorf("%d rows, %d when packed", a.Samples.Len(), c.Samples.Len())
	}
	if _, err := Read(bytes.NewReader(b.Bytes()[:20]), "cut.gz"); err == nil {
		t.Error("a cut gzip was read")
	}
}

func TestTheFormatCanBeForced(t *testing.T) {
	t.Parallel()
	text := "nothing of a log\n"
	if _, err := Read(strings.NewReader(text), "x"); !errors.Is(err, ErrUnknownFormat) {
		t.Error(err)
	}
	for _, k := range Kinds() {
		if _, err := ReadWith(strings.NewReader(text), "x", Options{From: k.Kind}); err == nil &&
			k.Kind != MemrayCSV {
			t.Errorf("%s was read from %q", k.Kind, text)
		} else if errors.Is(err, ErrUnknownFormat) {
			t.Errorf("%s: %v", k.Kind, err)
		}
	}
	late := strings.Repeat("other output of the program\n", SniffLen/20) +
		"Memory: 1 MB (metal_pool_mb=0, metal_pool_count=1, metal_pool_bytes=2)\n"
	if _, err := Read(strings.NewReader(late), "x"); !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("%v", err)
	}
	if run, err := ReadWith(strings.NewReader(late), "x", Options{From: TLTrace}); err != nil ||
		run.Samples.Len() != 1 {
		t.Errorf("%v", err)
	}
}

func TestALongTraceKeepsItsExtremesInBoundedMemory(t *testing.T) {
	t.Parallel()
	s := &torchTrace{}
	const events = 6 * maxMoments
	for i := range events {
		size, action := 100.0, torchAlloc
		switch {
		case i == 1_234_567:
			size = 1 << 40
		case i == 1_234_568:
			size, action = 1<<40, torchFree
		case i%2 == 1:
			action = torchFree
		}
		s.add(torchEvent{action: action, micros: float64(1000 + i), size: size})
	}
	s.end()
	peak := 0.0
	for i := range s.rows.n {
		peak = max(peak, s.rows.at(i).live)
	}
	if s.rows.n > maxMoments+1 || s.rows.n < maxMoments/8 || peak < 1<<40 || s.rows.at(s.rows.n-1) != s.now {
		t.Errorf("%d rows, peak %v", s.rows.n, peak)
	}
	for i := 1; i < s.rows.n; i++ {
		if s.rows.at(i).micros < s.rows.at(i-1).micros {
			t.Fatalf("row %d goes back in time", i)
		}
	}
}

func TestEventsWithoutTimesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	d := &dump{}
	d.Write([]byte{opProto, 4})
	event := func(action string, size int) func() {
		return func() { d.dict("action", action, "addr", 1, "size", size) }
	}
	d.dict("segments", func() {
		d.list(func() {
			d.dict("device", 0, "blocks", func() {
				d.list(func() { d.dict("size", 10, "state", "active_allocated") },
					func() { d.dict("size", 20, "state", "active_allocated") })
			})
		})
	}, "device_traces", func() {
		d.list(func() { d.list(event("segment_map", 30), event("alloc", 10), event("alloc", 20)) })
	})
	d.WriteByte('.')
	run := readFile(t, d.Bytes(), "untimed.pickle")
	want(t, run, record.ColLive, 0, 10, 30)
	if run.Samples.Column(record.ColTime) != nil || !warned(run, 0, "have no times") {
		t.Errorf("%v %+v", run.Samples.Names(), run.Warnings)
	}
}

func TestEqualStacksAreKeptOnce(t *testing.T) {
	t.Parallel()
	d := &dump{}
	d.Write([]byte{opProto, 4})
	frame := func() { d.dict("name", "f", "filename", "x.py", "line", 3) }
	d.list(func() { d.list(frame, frame) }, func() { d.list(frame, frame) }, func() { d.list(frame) })
	d.WriteByte('.')
	p := newPickle(newReader(d.String()))
	root, err := p.load()
	if err != nil {
		t.Fatal(err)
	}
	lists := p.list(root)
	if p.content(lists[0]) != p.content(lists[1]) || p.content(lists[0]) == p.content(lists[2]) {
		t.Error("equal lists are not shared, or others are")
	}
	if err := p.extend(lists[0], kindList, []value{kindNone}); err != nil || len(p.list(lists[1])) != 2 ||
		len(p.list(lists[0])) != 3 {
		t.Errorf("what is added to one list shows in the other: %d, %d", len(p.list(lists[0])),
			len(p.list(lists[1])))
	}
	if err := p.extend(lists[0], kindList, []value{kindNone}); err != nil || len(p.list(lists[0])) != 4 {
		t.Errorf("%d items", len(p.list(lists[0])))
	}
}

func ExampleKinds() {
	fmt.Println(Kinds()[0].Kind, Kinds()[0].Moment)
	// Output: torch-snapshot true
}
