//go:build unix

package tracer

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// trace runs a child and opens its folder.
func trace(t *testing.T, cfg Config) (Result, *record.Run) {
	res, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return res, run
}

func known(s *record.Samples, column string) []float64 {
	var vs []float64
	for _, v := range s.Column(column) {
		if !record.IsUnknown(v) {
			vs = append(vs, v)
		}
	}
	return vs
}

func TestRunRecordsHostAndAgent(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "work 50 2000")
	cfg.Meta.Workload = "work"
	res, run := trace(t, cfg)
	if res.ExitCode != 0 || res.Signal != "" || len(res.Warnings) != 0 || len(run.Warnings) != 0 {
		t.Fatalf("%+v; %v", res, run.Warnings)
	}
	m := run.Meta
	if m.Schema != 1 || m.Device != "soft" || m.UnifiedMemory == nil || !*m.UnifiedMemory ||
		m.CapacityBytes["device memory"] != 1<<30 ||
		m.CapacityBytes["host memory"] <= 0 || m.PID != res.PID ||
		m.ExitCode == nil || *m.ExitCode != 0 || m.End == nil ||
		m.Workload != "work" || m.IntervalMs != 10 || m.StartNanos == 0 || m.OS == "" || m.Versions["go"] == "" {
		t.Errorf("run.json %+v", m)
	}
	if c := m.Machine; c == nil || c.Kernel == "" || c.Platform == "" || c.Processors < 1 ||
		c.MemoryBytes == nil || c.Booted == nil || !c.Booted.Before(m.Start) {
		t.Errorf("machine %+v", c)
	}
	s := m.Sampling
	if s == nil || s.Rows != int64(run.Samples.Len()) || s.LostRows != 0 || s.DroppedByAgent != 0 ||
		s.CPUSeconds <= 0 || s.RSSBytes <= 0 {
		t.Errorf("sampling %+v", s)
	}
	steps := known(run.Samples, record.ColStep)
	for n := 1.0; n <= 50; n++ {
		if !slices.Contains(steps, n) {
			t.Errorf("no row of step %g", n)
		}
	}
	// The program's claim of an RSS of 1 byte must not get through.
	for i, rss := range run.Samples.Column(record.ColRSS) {
		if f := run.Samples.Column(record.ColFootprint)[i]; rss == 1 || !record.IsUnknown(rss) && !(f > 1) {
			t.Errorf("row %d: rss %g", i, rss)
		}
	}
	live, held := run.Samples.Column(record.ColLive), run.Samples.Column(record.ColStep)
	for i := range live {
		if !record.IsUnknown(live[i]) && !record.IsUnknown(held[i]) && live[i] < held[i]*4096 {
			t.Errorf("row %d: step %g with %g live bytes", i, held[i], live[i])
		}
	}
	if run.Samples.Column(record.ColPID) != nil || len(known(run.Samples, record.ColHostHeap)) == 0 {
		t.Errorf("columns %v", run.Samples.Names())
	}
	var phases []string
	stepEvents := 0
	for _, e := range run.Events {
		switch e.Kind {
		case record.KindPhase:
			phases = append(phases, e.Name)
		case record.KindStep:
			stepEvents++
		case record.KindEvent:
			phases = append(phases, e.Name+" "+e.At)
		}
	}
	if want := []string{"baseline", "all steps done child.go:1:1", "released", "exiting"}; !slices.Equal(phases,
		want) || stepEvents != 50 {
		t.Errorf("phases %v, %d steps", phases, stepEvents)
	}
}

func TestRunReportsExitCodesAndSignals(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]Result{
		"exit 0": {ExitCode: 0}, "exit 1": {ExitCode: 1}, "exit 42": {ExitCode: 42}, "exit 255": {ExitCode: 255},
		"die 9": {ExitCode: 137, Signal: "SIGKILL"}, "die 15": {ExitCode: 143, Signal: "SIGTERM"},
		"sh 6": {ExitCode: 134, Signal: "SIGABRT"}, "sh 11": {ExitCode: 139, Signal: "SIGSEGV"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cfg := childConfig(t, mode)
			if number, ok := strings.CutPrefix(mode, "sh "); ok {
				// Go turns these signals into an exit of its own; a shell does not.
				cfg.Command = []string{"sh", "-c", "ulimit -c 0; kill -" + number + " $$"}
			}
			res, run := trace(t, cfg)
			if res.ExitCode != want.ExitCode || res.Signal != want.Signal || *run.Meta.ExitCode != want.ExitCode ||
				run.Meta.Signal != want.Signal {
				t.Errorf("got %d %q, run.json %d %q", res.ExitCode, res.Signal, *run.Meta.ExitCode, run.Meta.Signal)
			}
		})
	}
}

func TestRunOfACommandThatCannotStartLeavesAValidFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"plain": "no program", "script": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "script"), 0o755); err != nil {
		t.Fatal(err)
	}
	for command, code := range map[string]int{
		"no-such-command-anywhere": 127, filepath.Join(dir, "absent"): 127, filepath.Join(dir, "script"): 127,
		filepath.Join(dir, "plain"): 126, dir: 126,
	} {
		out := filepath.Join(t.TempDir(), "run")
		res, err := Run(context.Background(), Config{Command: []string{command}, Out: out})
		var start *StartError
		if !errors.As(err, &start) || start.Code != code || res.ExitCode != code {
			t.Errorf("%s: %+v, %v", command, res, err)
		}
		run, err := record.Open(out)
		if err != nil || *run.Meta.ExitCode != code || len(run.Events) != 1 ||
			run.Events[0].Kind != record.KindWarning {
			t.Errorf("%s: %+v, %v", command, run, err)
		}
	}
}

func TestAProgramThatCannotStartSaysWhatToMend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for command, want := range map[string]string{
		"no-such-command-anywhere":                        "no such program on the PATH",
		filepath.Join(dir, "absent"):                      "no such file or directory",
		file("script", "#!/no/such/interpreter\n", 0o755): "the interpreter or loader that it names is not",
		file("plain", "echo", 0o644):                      "chmod +x",
		dir:                                               "a folder, no program",
	} {
		_, err := startCommand(exec.Command(command), command)
		if err == nil {
			t.Fatalf("%s started", command)
		}
		text := err.Error()
		if !strings.HasPrefix(text, "start "+command+": ") || !strings.Contains(text, want) ||
			strings.Contains(text, "fork/exec") {
			t.Errorf("%s: %s", command, text)
		}
	}
}

func TestRunRefusesAFolderThatExists(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "exit 0")
	trace(t, cfg)
	if _, err := Run(context.Background(), cfg); !errors.Is(err, record.ErrExists) {
		t.Errorf("got %v", err)
	}
	cfg.Force = true
	trace(t, cfg)
}

func TestRunPassesStdinStdoutAndStderrThroughUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.Repeat("binary \x00\xff\r\n", 100_000)
	if err := os.WriteFile(dir+"/in", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := childConfig(t, "copy")
	for name, file := range map[string]**os.File{"in": &cfg.Stdin, "out": &cfg.Stdout, "err": &cfg.Stderr} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		*file = f
	}
	trace(t, cfg)
	out, err := os.ReadFile(dir + "/out")
	if err != nil || string(out) != text {
		t.Errorf("stdout has %d bytes of %d, %v", len(out), len(text), err)
	}
	if said, _ := os.ReadFile(dir + "/err"); string(said) != "done 1100000 <nil>\n" {
		t.Errorf("stderr %q", said)
	}
}

func TestRunMakesTheExperimentsAndReleasesTheProgram(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "leak")
	cfg.Purge = true
	res, run := trace(t, cfg)
	if res.ExitCode != 0 || len(res.Warnings) != 0 {
		t.Fatalf("%+v", res)
	}
	var order []string
	for _, e := range run.Events {
		switch e.Kind {
		case record.KindReceipt:
			order = append(order, e.Receipt.Action)
			if e.Receipt.Action == "purge" {
				if *e.Receipt.ClaimedBytes != 64<<20 || *e.Receipt.ReturnedBytes < 63<<20 ||
					*e.Receipt.ReturnedBytes > 66<<20 || *e.Receipt.Count != 1 {
					t.Errorf("purge claimed %d, returned %d", *e.Receipt.ClaimedBytes, *e.Receipt.ReturnedBytes)
				}
			}
		case record.KindSites:
			order = append(order, e.Sites[0].Site)
		case record.KindHolders:
			order = append(order, e.Holders[0].Path)
		}
	}
	if want := []string{"collect", "purge", "trim", "leak.go:7 <b>", "mem"}; !slices.Equal(order, want) {
		t.Errorf("order %v", order)
	}
}

func TestRunAsksForSitesWithoutExperiments(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "leak")
	exiting := 0
	cfg.Exiting = func(pid int) {
		if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
			exiting = pid
		}
	}
	res, run := trace(t, cfg)
	if exiting != res.PID {
		t.Errorf("told that process %d is exiting and still there, want %d", exiting, res.PID)
	}
	kinds := map[string]int{}
	for _, e := range run.Events {
		kinds[e.Kind]++
	}
	if kinds[record.KindReceipt] != 0 || kinds[record.KindSites] != 1 || kinds[record.KindHolders] != 1 {
		t.Errorf("events %v", kinds)
	}
}

func TestAProgramThatLeavesItsAgentUnansweredEndsTheRun(t *testing.T) {
	t.Parallel()
	start := time.Now()
	res, _ := trace(t, childConfig(t, "mute"))
	if res.ExitCode != 0 || time.Since(start) > listBound {
		t.Errorf("%+v after %v", res, time.Since(start))
	}
}

func TestWhatAnAgentTellsUnaskedIsRecorded(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/lines"
	lines := `{"hello":{"v":1,"pid":PID}}
{"mark":{"kind":"holders","detail":{"holders":[{"path":"list main() local seen","bytes":9,"count":3}]}}}
{"mark":{"kind":"sites","detail":{"sites":[{"site":"a.py:1 f","bytes":8,"count":2}]}}}
{"mark":{"kind":"holders","detail":"no list"}}
{"mark":{"kind":"warning","name":"something was lost"}}
`
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	res, run := trace(t, childConfig(t, "hostile "+file))
	var holders []record.Holder
	var sites []record.Site
	for _, e := range run.Events {
		holders, sites = append(holders, e.Holders...), append(sites, e.Sites...)
	}
	if len(holders) != 1 || holders[0] != (record.Holder{Path: "list main() local seen", Bytes: 9, Count: 3}) {
		t.Errorf("holders %+v", holders)
	}
	if len(sites) != 1 || sites[0] != (record.Site{Site: "a.py:1 f", Bytes: 8, Count: 2}) {
		t.Errorf("sites %+v", sites)
	}
	text := strings.Join(res.Warnings, "\n")
	for _, want := range []string{"the program's holders cannot be read", "something was lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning of %q in:\n%s", want, text)
		}
	}
}

func TestARowOfLongAgoHasNoValuesOfNow(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "late")
	if res, err := Run(context.Background(), cfg); err != nil || res.ExitCode != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	run, err := record.Open(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	told, host := run.Samples.Column(record.ColLiveCount), run.Samples.Column(record.ColRSS)
	late, fresh := 0, 0
	for i, v := range told {
		switch {
		case v == 0:
			late++
			if host[i] == host[i] {
				t.Errorf("the row of .3 s ago says that %.0f B are resident", host[i])
			}
		case v > 0 && host[i] == host[i]:
			fresh++
		}
	}
	if late != 1 || fresh == 0 {
		t.Errorf("%d rows of long ago, %d of now with the host's values", late, fresh)
	}
}

func TestHostileAgentsLoseTheirConnectionAndNothingElse(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/lines"
	hello := `{"hello":{"v":1,"pid":PID}}` + "\n"
	parts := []string{
		"not json\n",
		`{"sample":{"t_ns":1}}` + "\n", // before hello
		`{"hello":{"v":1,"pid":1}}` + "\n",
		`{"hello":{"v":0,"pid":PID}}` + "\n",
		hello + strings.Repeat("x", 2<<20) + "\n",
		hello + `{"sample":{"t_ns":9223372036854775807,"rss_bytes":5,"pid":1,"t_ms":3,"bad name":1,"x":1e400,"y":1.5,"z":null,"pool_live_bytes":7}}` + "\n" + "[]\n",
		hello + `{"mark":{"kind":"phase","name":"` + strings.Repeat("n", 1000) + `"}}` + "\n" +
			`{"done":{"id":99}}` + "\n" + `{"unknown":1}` + "\n" + "half a li",
		"",
	}
	if err := os.WriteFile(file, []byte(strings.Join(parts, "-----\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	res, run := trace(t, childConfig(t, "hostile "+file))
	if res.ExitCode != 0 {
		t.Fatalf("%+v", res)
	}
	text := strings.Join(res.Warnings, "\n")
	for _, want := range []string{"not a JSON object", "before hello", "hello says pid 1", "version 0",
		"over 1048576 bytes", "CLOCK_MONOTONIC"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning of %q in:\n%s", want, text)
		}
	}
	if !slices.Contains(known(run.Samples, record.ColStep), 3) ||
		!slices.Contains(known(run.Samples, record.ColLive), 7) {
		t.Error("the honest samples are missing")
	}
	if slices.Contains(known(run.Samples, record.ColRSS), 5) || run.Samples.Column("bad name") != nil {
		t.Errorf("columns %v", run.Samples.Names())
	}
	if len(run.Warnings) != 0 {
		t.Errorf("%v", run.Warnings)
	}
}
