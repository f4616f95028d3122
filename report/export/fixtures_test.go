package export

import (
	"bytes"
	"errors"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

const mib = 1 << 20

// leak is a run of 200 samples, 50 ms apart, of a program that keeps a tensor
// of 1 MiB a step while its pool and its host memory stand still, with a child
// process, marks, survivors and a purge.
func leak() *record.Run {
	names := []string{record.ColTime, record.ColPID, record.ColStep, record.ColLive, record.ColIdle,
		record.ColGPU, record.ColLiveCount, record.ColRSS}
	cols := make([][]float64, len(names))
	row := func(values ...float64) {
		for i, v := range values {
			cols[i] = append(cols[i], v)
		}
	}
	nan := record.Unknown()
	for i := range 200 {
		live := float64(64+i) * mib
		row(float64(i)*50.125, 100, float64(i), live, 8*mib, live+300*mib, float64(10+i), 700*mib)
		if i%20 == 0 {
			row(float64(i)*50.125+1, 101, nan, nan, nan, nan, nan, 20*mib)
		}
	}
	end := time.Date(2026, 11, 20, 12, 0, 10, 0, time.UTC)
	claimed := int64(8 * mib)
	return &record.Run{
		Path: "runs/leak",
		Meta: record.Meta{Schema: 1, Command: []string{"python", "train.py"}, Host: "gpu-7", PID: 100, Device: "cuda:0",
			Start: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), End: &end},
		Samples: record.NewSamples(names, cols),
		Events: []record.Event{
			{TMs: 100, Kind: record.KindPhase, Name: "train", PID: 100},
			{TMs: 200, Kind: record.KindStep, Step: 4, PID: 100},
			{TMs: 9000, Kind: record.KindReceipt, Receipt: &record.Receipt{Action: "purge", ClaimedBytes: &claimed}},
			{TMs: 9900, Kind: record.KindSites, Sites: []record.Site{
				{Site: "/src/train.py:11 <module>", Bytes: 200 * mib, Count: 200},
				{Site: "at::native::conv2d", Bytes: 40 * mib, Count: 4},
			}},
			{TMs: 9500, Kind: record.KindWindow, PID: 100, Detail: []byte(`{"part":0,"parts":1,"steps":1,
				"roles":["parameters"],"boundaries":[9],"live":[[0,1024,0]],"events":[[2,512,1,0],[2,-512,5,-1]],
				"stacks":[[0]],"frames":["/src/train.py:11 step"]}`)},
		},
	}
}

// healthy stands still and has no sites.
func healthy() *record.Run {
	run := leak()
	for _, name := range []string{record.ColLive, record.ColGPU, record.ColLiveCount} {
		values := run.Samples.Column(name)
		for i := range values {
			if !record.IsUnknown(values[i]) {
				values[i] = values[0]
			}
		}
	}
	run.Events = run.Events[:2]
	return run
}

// untimed has two devices, no times and nothing else.
func untimed() *record.Run {
	return &record.Run{Path: "untimed", Samples: record.NewSamples(
		[]string{record.ColLive + "@0", record.ColIdle + "@0", record.ColLive + "@2"},
		[][]float64{{1, 5, 3}, {4, record.Unknown(), 0}, {7, 7, 0}})}
}

// hostile has what no program should print: controls, markup, bytes that are no
// text, and numbers that no file holds.
func hostile() *record.Run {
	run := leak()
	bad := "<script>alert(1)</script>\x00\x1b[31m\xff\"'\\\n]]>&" + strings.Repeat("x", 100_000)
	run.Meta.Command, run.Meta.Workload, run.Meta.Host, run.Meta.Device, run.Path = []string{bad}, bad, bad, bad, bad
	run.Samples.Column(record.ColRSS)[3] = math.Inf(1)
	for i := range run.Events {
		run.Events[i].Name, run.Events[i].Text, run.Events[i].At = bad, bad, bad
		for j := range run.Events[i].Sites {
			run.Events[i].Sites[j].Site = bad + run.Events[i].Sites[j].Site
		}
	}
	run.Events = append(run.Events, record.Event{TMs: math.NaN(), Kind: record.KindEvent, Name: "x"})
	return run
}

// exported is a run in a format.
func exported(t testing.TB, format Format, run *record.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	o := Options{Version: "1.2.3", SourceRoot: "/src"}
	if err := Write(&b, format, run, verdict.Judge(run, verdict.Options{}), o); err != nil {
		t.Fatalf("%s of %s: %v", format, run.Path, err)
	}
	return b.Bytes()
}

// tool is the path of a program that checks a file, or skips.
func tool(t *testing.T, name, where string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (%s): the file is checked by its structure alone", name, where)
	}
	return path
}

// python runs a program with data on stdin and returns what it prints; it skips
// when a module is missing.
func python(t *testing.T, modules, program string, data []byte) string {
	t.Helper()
	path := tool(t, "python3", "Debian package python3")
	if modules != "" {
		if err := exec.Command(path, "-c", "import "+modules).Run(); err != nil {
			t.Skipf("python3 has no %s: the file is not read by it", modules)
		}
	}
	cmd := exec.Command(path, "-c", program)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	return string(out)
}

func TestEveryFormatIsWrittenTwiceTheSame(t *testing.T) {
	t.Parallel()
	for _, k := range Formats() {
		if a, b := exported(t, k.Format, leak()), exported(t, k.Format, leak()); !bytes.Equal(a, b) {
			t.Errorf("%s differs from one time to the next", k.Format)
		}
	}
}

func TestARunWithoutWhatTheFormatIsAboutIsRefused(t *testing.T) {
	t.Parallel()
	empty := &record.Run{Path: "empty", Samples: &record.Samples{}}
	for format, run := range map[Format]*record.Run{
		PProf: healthy(), Folded: healthy(), MemoryViz: empty, Parquet: empty, Perfetto: untimed(),
	} {
		var b bytes.Buffer
		err := Write(&b, format, run, verdict.Judge(run, verdict.Options{}), Options{})
		if !errors.Is(err, ErrNothing) || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes written", format, err, b.Len())
		}
	}
	if err := Write(&bytes.Buffer{}, "xls", empty, &verdict.Verdict{}, Options{}); err == nil {
		t.Error("an unknown format was written")
	}
}

func TestAnErrorOfTheWriterComesBack(t *testing.T) {
	t.Parallel()
	for _, k := range Formats() {
		run := leak()
		if err := Write(fullDisk{}, k.Format, run, verdict.Judge(run, verdict.Options{}),
			Options{}); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", k.Format, err)
		}
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
