package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// threeLines are the snapshot lines of the N-Queens investigation (TL-08).
const threeLines = `Memory: 319 MB (metal_pool_mb=0, metal_pool_count=70, metal_pool_bytes=55104)
Memory: 5812 MB (metal_pool_mb=0, metal_pool_count=312, metal_pool_bytes=98776)
Memory: 7600 MB (metal_pool_mb=0, metal_pool_count=356, metal_pool_bytes=106472)
`

func read(t testing.TB, text string, o Options) *record.Run {
	t.Helper()
	run, err := ReadWith(strings.NewReader(text), "x.log", o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func want(t *testing.T, run *record.Run, column string, values ...float64) {
	t.Helper()
	got := run.Samples.Column(column)
	if len(got) != len(values) {
		t.Fatalf("%s: %v, want %v", column, got, values)
	}
	for i, v := range values {
		if got[i] != v && !(record.IsUnknown(got[i]) && record.IsUnknown(v)) {
			t.Errorf("%s[%d]: %v, want %v", column, i, got[i], v)
		}
	}
}

// warned reports whether a warning of the line holds the text; line 0 is the
// file as a whole.
func warned(run *record.Run, line int, text string) bool {
	for _, w := range run.Warnings {
		if w.Line == line && strings.Contains(w.Column+" "+w.Text, text) {
			return true
		}
	}
	return false
}

func TestThreeSnapshotLinesGiveTheirSamples(t *testing.T) {
	t.Parallel()
	run := read(t, threeLines, Options{StepsPerLine: 1500})
	want(t, run, record.ColRSS, 319*mib, 5812*mib, 7600*mib)
	want(t, run, record.ColLive, 55104, 98776, 106472)
	want(t, run, record.ColLiveCount, 70, 312, 356)
	want(t, run, record.ColStep, 1500, 3000, 4500)
	for _, absent := range []string{record.ColTime, record.ColIdle, record.ColGPU, record.ColRefs} {
		if run.Samples.Column(absent) != nil {
			t.Errorf("%s is not in the log", absent)
		}
	}
	if !warned(run, 0, "no times") || !warned(run, 0, "live and idle") {
		t.Errorf("what had to be assumed is not said: %+v", run.Warnings)
	}
	if run.Meta.Flags["steps-per-line"] != "1500" {
		t.Errorf("flags %v", run.Meta.Flags)
	}
}

func TestStepsAreNotGuessed(t *testing.T) {
	t.Parallel()
	run := read(t, threeLines, Options{})
	want(t, run, record.ColStep, 1, 2, 3)
	if !warned(run, 0, "--steps-per-line") {
		t.Errorf("%+v", run.Warnings)
	}
}

const traceLog = `Compiling n_queens.tl
Epoch 1 complete in 0.0500s
[TL_MEM_TRACE] n_queens.tl:12:5 tag=Let rss_mb=100 metal_pool_bytes=1000 metal_pool_count=3 pool_count=7 refcount_count=20 scope_depth=2
board: . . Q .[TL_MEM_TRACE] n_queens.tl:14:5 tag=Assign rss_mb=150 metal_pool_bytes=1000 metal_pool_count=3 pool_count=7 refcount_count=20 scope_depth=2
Epoch 2 complete in 0.0489s
[TL_MEM_TRACE] n_queens.tl:14:5 tag=Assign rss_mb=210 metal_pool_bytes=1256 metal_pool_count=4 pool_count=7 refcount_count=21 scope_depth=2
[TL_MEM_TRACE] unknown:0:0 tag=Expr rss_mb=-1 metal_pool_bytes=1256 metal_pool_count=4 pool_count=7 refcount_count=20 scope_depth=1
`

func TestStatementsBecomeRowsAmongOtherOutput(t *testing.T) {
	t.Parallel()
	run := read(t, traceLog, Options{})
	want(t, run, record.ColRSS, 100*mib, 150*mib, 210*mib, record.Unknown())
	want(t, run, record.ColLive, 1000, 1000, 1256, 1256)
	want(t, run, record.ColIdleCount, 7, 7, 7, 7)
	want(t, run, record.ColRefs, 20, 20, 21, 20)
	want(t, run, record.ColScopeDepth, 2, 2, 2, 1)
	want(t, run, record.ColStep, 1, 1, 2, 2)
	var rank []string
	for _, e := range run.Events {
		if e.Kind == record.KindStatement {
			rank = append(rank, fmt.Sprintf("%s %s %s", e.At, e.Name, e.Detail))
		}
	}
	got := strings.Join(rank, "\n")
	if got != `n_queens.tl:14:5 Assign {"rss_delta_bytes":115343360,"count":2}`+
		"\n"+`n_queens.tl:12:5 Let {"rss_delta_bytes":0,"count":1}` {
		t.Errorf("rank of statements:\n%s", got)
	}
	for _, w := range run.Warnings {
		if w.Line != 0 {
			t.Errorf("warning about a good line: %+v", w)
		}
	}
}

func TestStatementsAloneCountAsSteps(t *testing.T) {
	t.Parallel()
	log := strings.ReplaceAll(traceLog, "Epoch", "epoch")
	run := read(t, log, Options{})
	want(t, run, record.ColStep, 1, 2, 3, 4)
	if !warned(run, 0, "one statement counts as one step") {
		t.Errorf("%+v", run.Warnings)
	}
}

func TestASecondTrainingCountsOn(t *testing.T) {
	t.Parallel()
	line := "[TL_MEM_TRACE] a.tl:1:1 tag=Let rss_mb=1\n"
	run := read(t, "Epoch 0 complete in 1.0000s\n"+line+"Epoch 9 complete in 1.0000s\n"+
		line+"Epoch 4 complete in 1.0000s\n"+line, Options{})
	want(t, run, record.ColStep, 0, 9, 13)
	if !warned(run, 5, "another training") {
		t.Errorf("%+v", run.Warnings)
	}
}

func TestRegistersAndFreesAreBalanced(t *testing.T) {
	t.Parallel()
	made := "[TL_MEM] register_tensor ptr=0x1 bytes=4\n"
	freed := "[TL_MEM] free_tensor outcome=pooled bytes=4\n"
	row := "[TL_MEM_TRACE] a.tl:1:1 tag=Let rss_mb=1\n"
	run := read(t, made+row+made+"[TL_METAL] alloc_buffer size=4\n[TL_METAL] reuse_buffer size=4\n"+
		freed+row, Options{})
	want(t, run, record.ColAllocs, 1, 2)
	want(t, run, record.ColFrees, record.Unknown(), 1)
	want(t, run, record.ColPoolMisses, record.Unknown(), 1)
	want(t, run, record.ColPoolHits, record.Unknown(), 1)
	if !warned(run, 0, "register_tensor 2, free_tensor 1: 1 tensors were not freed") {
		t.Errorf("%+v", run.Warnings)
	}
	even := read(t, made+freed+row, Options{})
	if warned(even, 0, "register_tensor") || len(even.Events) == 0 ||
		!strings.Contains(even.Events[0].Text, "balanced") {
		t.Errorf("%+v, %+v", even.Events, even.Warnings)
	}
}

func TestABadLineCostsOnlyItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		rows       int
		warning    string
	}{
		{"no tag", "[TL_MEM_TRACE] a.tl:1:1 rss_mb=1", 3, "without a tag"},
		{"bad number", "[TL_MEM_TRACE] a.tl:1:1 tag=Let rss_mb=twelve", 4, "rss_mb"},
		{"huge number", "[TL_MEM_TRACE] a.tl:1:1 tag=Let rss_mb=99999999999999999999", 4, "rss_mb"},
		{"no pair", "[TL_MEM_TRACE] a.tl:1:1 tag=Let rss_mb=3 oops", 4, "key=value"},
		{"no end", "Memory: 3 MB (metal_pool_mb=0, metal_pool_cou", 3, "without an end"},
		{"long line", "[TL_MEM_TRACE] " + strings.Repeat("x", 3*maxLine) + " tag=Let rss_mb=1",
			3, "without a tag"},
		{"NUL bytes", "\x00\x00[TL_MEM_TRACE] a\x00b:1:1 tag=Let rss_mb=\x00", 4, "rss_mb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := read(t, "x\n"+c.line+"\n"+threeLines, Options{})
			if n := run.Samples.Len(); n != c.rows {
				t.Errorf("%d rows", n)
			}
			if !warned(run, 2, c.warning) {
				t.Errorf("no warning %q about line 2: %+v", c.warning, run.Warnings)
			}
		})
	}
}

func TestACutLastLineIsLeftOut(t *testing.T) {
	t.Parallel()
	run := read(t, threeLines+"[TL_MEM_TRACE] a.tl:1:1 tag=Let rss_mb=12", Options{})
	if run.Samples.Len() != 3 || !warned(run, 4, "cut") {
		t.Errorf("%d rows, %+v", run.Samples.Len(), run.Warnings)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	run := read(t, threeLines+strings.Repeat("[TL_MEM_TRACE] bad\n", 5000), Options{})
	if len(run.Warnings) > maxWarnings+10 || !warned(run, 0, "4900 more warnings") {
		t.Errorf("%d warnings", len(run.Warnings))
	}
}

func TestKindsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head string
		want Kind
	}{
		{threeLines, TLTrace}, {traceLog, TLTrace}, {"[TL_MEM] enter_scope\n", TLTrace},
		{rmmHeader + "\n", RMM},
		{"timestamp, pid, process_name, used_gpu_memory [MiB]\n", NvidiaSMI},
		{"pid, used_memory [MiB]\r\n", NvidiaSMI},
		{"t_ms,rss_bytes\n1,2\n", Unknown}, {"", Unknown}, {"Memory: 8192 MB\n", Unknown},
		{"\x80\x04]", Unknown},
		{"timestamp, name, memory.used [MiB]\n", Unknown},
	} {
		if got := Sniff([]byte(c.head)); got != c.want {
			t.Errorf("%q: %q, want %q", c.head, got, c.want)
		}
	}
	if _, err := Read(strings.NewReader("t_ms\n1\n"), "x.csv"); !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("%v", err)
	}
}

type failing struct{ r io.Reader }

var errDisk = errors.New("disk gone")

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = errDisk
	}
	return n, err
}

func TestWhatWasReadBeforeAnErrorIsKept(t *testing.T) {
	t.Parallel()
	run, err := Read(failing{strings.NewReader(threeLines + strings.Repeat("filler\n", SniffLen))}, "x.log")
	if err != nil || run.Samples.Len() != 3 || !warned(run, 0, "disk gone") {
		t.Errorf("%v, %+v", err, run)
	}
}
