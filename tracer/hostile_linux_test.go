package tracer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// shell traces a script of the shell at the rates that are the default.
func shell(t *testing.T, script string, change func(*Config)) (Result, *record.Run) {
	t.Helper()
	cfg := Config{Command: []string{"sh", "-c", script}, Out: filepath.Join(t.TempDir(), "run"),
		Calm: 250 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	return trace(t, cfg)
}

func TestATreeOfTwoThousandProcessesIsRecordedWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	script := `i=0; while [ $i -lt 2000 ]; do sleep 600 & i=$((i+1)); done; : >"$0/all"
		while [ ! -e "$0/stop" ]; do sleep .2; done; kill $(jobs -p); exit 7`
	cfg := func(c *Config) {
		c.Command = []string{"bash", "-c", script, dir}
		rows := int64(0) // when all were there
		c.Progress = func(p Progress) {
			if _, err := os.Stat(filepath.Join(dir, "all")); err == nil && rows == 0 {
				rows = p.Rows
			}
			if rows > 0 && p.Rows > rows+4100 { // each had one since, and some two
				os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600)
			}
		}
	}
	res, run := shell(t, "", cfg)
	pids := distinct(run.Samples.Column(record.ColPID))
	if len(pids) < 2001 || res.ExitCode != 7 || len(run.Warnings) != 0 || len(res.Warnings) != 0 {
		t.Errorf("rows of %d processes, want 2001; code %d; %v %v", len(pids), res.ExitCode, run.Warnings, res.Warnings)
	}
	if s := run.Meta.Sampling; s.LostRows != 0 || s.LostEvents != 0 {
		t.Errorf("%+v", s)
	} else {
		t.Logf("%.1f s, %.1f s of CPU, %d MiB, %d rows", run.Meta.End.Sub(run.Meta.Start).Seconds(), s.CPUSeconds,
			s.RSSBytes>>20, s.Rows)
	}
}

func TestAStormOfForksTakesNothingFromTheProgramsOwnRows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	res, run := shell(t, `n=0; while [ $n -lt 25 ]; do for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep .1 & done; wait
		n=$((n+1)); done; exit 3`, nil)
	if res.ExitCode != 3 || len(res.Warnings) != 0 || len(run.Warnings) != 0 {
		t.Errorf("code %d, %v, %v", res.ExitCode, res.Warnings, run.Warnings)
	}
	own, children := 0, map[float64]bool{}
	for _, pid := range run.Samples.Column(record.ColPID) {
		if record.IsUnknown(pid) || int(pid) == res.PID {
			own++
		} else {
			children[pid] = true
		}
	}
	// A tree is looked at twice a second, so some of 300 children of .1 s are seen.
	if own < 10 || len(children) == 0 {
		t.Errorf("%d rows of the program, %d children", own, len(children))
	}
}

// lostGPU is a driver that answers, then says for a while that the device is lost, and
// answers again.
type lostGPU struct {
	asked atomic.Int64
	down  atomic.Bool
}

func (g *lostGPU) Read(pids []int, dst []probe.Charge) ([]probe.Charge, error) {
	g.asked.Add(1)
	for _, pid := range pids {
		c := probe.Charge{PID: pid, LocalBytes: 1 << 30, HostBytes: probe.Unknown}
		if g.down.Load() {
			c.Device, c.LocalBytes = -1, probe.Unknown
		}
		dst = append(dst, c)
	}
	if g.down.Load() {
		return dst, errors.New("nvml: list processes: the GPU needs a reset")
	}
	return dst, nil
}

func (g *lostGPU) Close() {}

func TestAGPUThatIsLostIsUnknownUntilItIsBackAndSaidOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	gpu := &lostGPU{}
	time.AfterFunc(500*time.Millisecond, func() { gpu.down.Store(true) })
	time.AfterFunc(2500*time.Millisecond, func() { gpu.down.Store(false) })
	res, run := shell(t, "exec sleep 5", func(c *Config) { c.GPU = gpu })
	states := ""
	for _, v := range run.Samples.Column(record.ColGPU) {
		state := "known"
		switch {
		case record.IsUnknown(v):
			state = "unknown"
		case v == 0:
			t.Fatal("what is unknown is 0")
		}
		if !strings.HasSuffix(states, " "+state) {
			states += " " + state
		}
	}
	if states = strings.TrimPrefix(states, " unknown"); states != " known unknown known" {
		t.Errorf("GPU bytes are%s", states)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "needs a reset") {
		t.Errorf("warnings %q", res.Warnings)
	}
}

func TestAFileSystemThatWasFullTakesRowsAgain(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root mounts a small file system")
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	small := t.TempDir()
	if err := unix.Mount("gpumem-test", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(small, unix.MNT_DETACH) })
	filler := filepath.Join(small, "filler")
	time.AfterFunc(600*time.Millisecond, func() { os.WriteFile(filler, make([]byte, 1<<20), 0o600) })
	time.AfterFunc(2*time.Second, func() { os.Remove(filler) })
	res, run := shell(t, "sleep 4; exit 5", func(c *Config) {
		c.Out, c.Interval, c.Calm = filepath.Join(small, "run"), 2*time.Millisecond, 0
	})
	s := run.Meta.Sampling
	if res.ExitCode != 5 || run.Meta.End == nil || s.LostRows == 0 {
		t.Fatalf("code %d, %+v", res.ExitCode, run.Meta)
	}
	times := run.Samples.Column(record.ColTime)
	if last := times[len(times)-1]; last < 3000 || s.Rows != int64(len(times)) {
		t.Errorf("the last of %d rows is at %.0f ms; %+v", len(times), last, s)
	}
	if all := strings.Join(res.Warnings, "\n"); strings.Count(all, "rows are lost") != 1 {
		t.Errorf("the loss is said %d times: %s", strings.Count(all, "rows are lost"), all)
	}
}

func TestATracerThatWasStoppedGoesOnAndCountsWhatItMissed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	cmd, dir := tracerProcess(t, "trace")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	rows := func() (n int, last float64) {
		run, err := record.Open(dir)
		if err != nil || run.Samples.Len() == 0 {
			return 0, 0
		}
		times := run.Samples.Column(record.ColTime)
		return len(times), times[len(times)-1]
	}
	until(t, "50 rows", func() bool { n, _ := rows(); return n > 50 })
	cmd.Process.Signal(syscall.SIGSTOP)
	_, before := rows()
	time.Sleep(500 * time.Millisecond)
	cmd.Process.Signal(syscall.SIGCONT)
	until(t, "rows after the stop", func() bool { _, last := rows(); return last > before+700 })
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	ended = true
	run, err := record.Open(dir)
	if err != nil || len(run.Warnings) != 0 || run.Meta.Sampling == nil {
		t.Fatalf("%v, %v, %+v", err, run.Warnings, run.Meta.Sampling)
	}
	if missed := run.Meta.Sampling.Missed; missed < 100 {
		t.Errorf("%d samples are missed, want most of the 250 of the stop", missed)
	}
}

func TestAWallClockThatWasSetBackEndsNoRunBeforeItsStart(t *testing.T) {
	t.Parallel()
	// As if the clock had been an hour ahead when the run began.
	start := time.Now().Add(time.Hour).Round(0)
	_, run := shell(t, "sleep .3", func(c *Config) { c.Meta.Start = start })
	took := run.Meta.End.Sub(run.Meta.Start)
	times := run.Samples.Column(record.ColTime)
	if last := time.Duration(times[len(times)-1] * 1e6); took < last || took > last+time.Minute {
		t.Errorf("the run took %s, its last row is of %s", took, last)
	}
}

func TestAPIDThatIsUsedAgainIsAnotherProcess(t *testing.T) {
	t.Parallel()
	const next = "/proc/sys/kernel/ns_last_pid"
	if f, err := os.OpenFile(next, os.O_WRONLY, 0); err != nil {
		t.Skipf("the next pid cannot be chosen here: %v", err)
	} else {
		f.Close()
	}
	s, _ := calmRun(t, 0)
	first := exec.CommandContext(context.Background(), "sleep", "600")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	pid := first.Process.Pid
	s.mu.Lock()
	old := s.follow(pid)
	s.row(old, s.clock.Now(), nil)
	s.mu.Unlock()
	first.Process.Kill()
	first.Wait()
	var second *exec.Cmd
	for range 200 { // others start processes as well
		os.WriteFile(next, fmt.Append(nil, pid-1), 0)
		second = exec.Command("sleep", "600")
		if err := second.Start(); err != nil {
			t.Fatal(err)
		}
		if second.Process.Pid == pid {
			break
		}
		second.Process.Kill()
		second.Wait()
	}
	defer func() { second.Process.Kill(); second.Wait() }()
	if second.Process.Pid != pid {
		t.Skip("other processes took the pid each time")
	}
	rows := s.out.Stats().Rows
	s.tick()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.procs[pid] != nil || s.out.Stats().Rows != rows+1 { // our own row
		t.Errorf("the process of the same pid has a row as the one that has gone")
	}
	if again := s.follow(pid); again == old || !again.ps.Alive() {
		t.Error("the new process is not followed as one of its own")
	}
}
