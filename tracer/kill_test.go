//go:build unix

package tracer

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// checkKilled opens the folder of a killed run and holds that its rows are
// those of a run that went well up to some moment: every line but the last is
// whole, the times ascend and the steps never go back. The last line may be
// cut: Linux ends a write(2) between two pages when a fatal signal is pending.
func checkKilled(t *testing.T, dir string) int {
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range run.Warnings {
		// Killed before the first row, or between making the file and it.
		if !strings.Contains(w.Text, "no samples") && w.Text != "the file is empty" &&
			!strings.Contains(w.Text, "last line is cut short") {
			t.Errorf("warning %v", w)
		}
	}
	if run.Meta.Schema != 1 || len(run.Meta.Command) == 0 {
		t.Errorf("run.json %+v", run.Meta)
	}
	lastT, lastStep := -1.0, 0.0
	steps := run.Samples.Column(record.ColStep)
	for i, ms := range run.Samples.Column(record.ColTime) {
		if !(ms > lastT) {
			t.Errorf("row %d: time %g after %g", i, ms, lastT)
		}
		lastT = ms
		if steps != nil && !record.IsUnknown(steps[i]) {
			if steps[i] < lastStep {
				t.Errorf("row %d: step %g after %g", i, steps[i], lastStep)
			}
			lastStep = steps[i]
		}
	}
	return run.Samples.Len()
}

func TestTheFolderSurvivesTheDeathOfTheTracerAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	rows := 0
	for range 40 {
		cmd, out := tracerProcess(t, "trace")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The folder is there from the moment run.json is.
		until(t, "run.json is there", func() bool {
			_,
				err := os.Stat(filepath.Join(out, record.FileMeta))
			return err == nil
		})
		time.Sleep(time.Duration(rng.Int64N(int64(120 * time.Millisecond))))
		cmd.Process.Kill()
		cmd.Wait()
		rows += checkKilled(t, out)
		killTraced(t, out)
	}
	if rows < 40 {
		t.Errorf("%d rows in 40 runs: nothing was recorded before the kills", rows)
	}
}

// killTraced checks that the traced program outlived its tracer, and ends it.
func killTraced(t *testing.T, dir string) {
	run, err := record.Open(dir)
	if err != nil || run.Meta.PID == 0 {
		return // killed before the program started, or before it was noted
	}
	if err := syscall.Kill(run.Meta.PID, syscall.SIGKILL); err != nil {
		t.Errorf("the traced program did not outlive its tracer: %v", err)
	}
}

func TestTheFolderSurvivesTheDeathOfTheProgramAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	for range 40 {
		cfg := childConfig(t, "work 100000 1000") // fewer steps a second than rows are kept of
		cfg.Interval = 2 * time.Millisecond
		pids := make(chan int, 1)
		cfg.Progress = func(p Progress) {
			select {
			case pids <- p.PID:
			default:
			}
		}
		wait := time.Duration(rng.Int64N(int64(60 * time.Millisecond)))
		go func() {
			pid := <-pids
			time.Sleep(wait)
			syscall.Kill(pid, syscall.SIGKILL)
		}()
		res, run := trace(t, cfg)
		if res.ExitCode != 137 || res.Signal != "SIGKILL" || *run.Meta.ExitCode != 137 || run.Samples.Len() == 0 {
			t.Errorf("%+v, %d rows", res, run.Samples.Len())
		}
		for _, w := range res.Warnings {
			t.Errorf("warning %s", w)
		}
		checkKilled(t, res.Dir)
	}
}

// startTraced runs a child in the background, its stdout read by the test.
func startTraced(t *testing.T, ctx context.Context, mode string, change func(*Config)) (*bufio.Reader, <-chan Result) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cfg := childConfig(t, mode)
	cfg.Stdout = w
	if change != nil {
		change(&cfg)
	}
	ended := make(chan Result, 1)
	go func() {
		res, err := Run(ctx, cfg)
		if err != nil {
			t.Error(err)
		}
		w.Close()
		ended <- res
	}()
	return bufio.NewReader(r), ended
}

func expectLine(t *testing.T, r *bufio.Reader, want string) {
	line, err := r.ReadString('\n')
	if line != want+"\n" {
		t.Fatalf("the program said %q, %v, want %q", line, err, want)
	}
}

func TestDoneContextEndsTheProgramPolitelyFirst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := startTraced(t, ctx, "trap", nil)
	expectLine(t, out, "ready")
	cancel()
	expectLine(t, out, "interrupt")
	if res := <-ended; res.ExitCode != 7 {
		t.Errorf("%+v", res)
	}
}

func TestDoneContextKillsAProgramThatDoesNotListen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := startTraced(t, ctx, "trap ignore", func(c *Config) { c.Grace = 50 * time.Millisecond })
	expectLine(t, out, "ready")
	cancel()
	expectLine(t, out, "interrupt")
	expectLine(t, out, "terminated")
	if res := <-ended; res.ExitCode != 137 || res.Signal != "SIGKILL" {
		t.Errorf("%+v", res)
	}
}

func TestAStoppedProgramIsSampledOnAndContinues(t *testing.T) {
	t.Parallel()
	pids := make(chan int, 1)
	out, ended := startTraced(t, context.Background(), "trap", func(c *Config) {
		c.Progress = func(p Progress) {
			select {
			case pids <- p.PID:
			default:
			}
		}
	})
	expectLine(t, out, "ready")
	pid := <-pids
	syscall.Kill(pid, syscall.SIGSTOP)
	for range 3 { // rows go on
		<-pids
	}
	syscall.Kill(pid, syscall.SIGCONT)
	syscall.Kill(pid, syscall.SIGTERM)
	expectLine(t, out, "terminated")
	if res := <-ended; res.ExitCode != 7 {
		t.Errorf("%+v", res)
	}
}

// TestSignalsToTheTracerReachTheProgram runs the tracer as a process of its
// own, without a terminal, and signals it.
func TestSignalsToTheTracerReachTheProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sig  syscall.Signal
		said string
		code int
	}{{syscall.SIGINT, "interrupt", 7}, {syscall.SIGTERM, "terminated", 7}, {syscall.SIGHUP, "hangup", 137},
		{syscall.SIGUSR1, "user defined signal 1", 137}} {
		t.Run(fmt.Sprint(c.sig), func(t *testing.T) {
			t.Parallel()
			cmd, dir := tracerProcess(t, "relay")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := bufio.NewReader(pipe)
			expectLine(t, out, "ready")
			// To the whole group, as a script runner does: the program must
			// hear it once.
			syscall.Kill(-cmd.Process.Pid, c.sig)
			expectLine(t, out, c.said)
			if c.code == 137 {
				run, err := record.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				syscall.Kill(run.Meta.PID, syscall.SIGKILL)
			}
			if rest, _ := out.ReadString(0); rest != "" {
				t.Errorf("the program went on with %q", rest)
			}
			err = cmd.Wait()
			if cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("the tracer ended with %v", err)
			}
			run, err := record.Open(dir)
			if err != nil || run.Meta.End == nil || *run.Meta.ExitCode != c.code {
				t.Errorf("%+v, %v", run.Meta, err)
			}
		})
	}
}

// TestAFullQuotaLosesRowsAndNothingElse is a true failure of write(2), which
// comes with SIGXFSZ.
func TestAFullQuotaLosesRowsAndNothingElse(t *testing.T) {
	t.Parallel()
	cmd, dir := tracerProcess(t, "quota")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rows are lost") ||
		!strings.Contains(string(out), "events are lost") {
		t.Fatalf("%v\n%s", err, out)
	}
	rows := checkKilled(t, dir)
	run, err := record.Open(dir)
	if err != nil || run.Meta.End == nil || *run.Meta.ExitCode != 0 {
		t.Fatalf("%+v, %v", run.Meta, err)
	}
	if s := run.Meta.Sampling; s.Rows != int64(rows) || s.LostRows == 0 || s.LostEvents == 0 {
		t.Errorf("%d rows in the file, %+v", rows, s)
	}
}
