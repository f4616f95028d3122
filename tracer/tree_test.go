//go:build linux

package tracer

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// traceFamily traces a program with children, which all stay until what a test
// waits for is in the run folder.
func traceFamily(t *testing.T, mode, what string, isIn func(dir string) bool) Result {
	t.Helper()
	in, hold := pipe(t)
	dir := ""
	out, ended := startTraced(t, context.Background(), mode, func(c *Config) { c.Stdin, dir = in, c.Out })
	expectLine(t, out, "ready")
	until(t, what, func() bool { return isIn(dir) })
	hold.Close()
	return <-ended
}

func TestChildrenOfTheProgramGetRowsOfTheirOwn(t *testing.T) {
	t.Parallel()
	res := traceFamily(t, "tree 3", "rows of four processes", func(dir string) bool {
		run, err := record.Open(dir) // while it is written
		return err == nil && len(distinct(run.Samples.Column(record.ColPID))) >= 4
	})
	run, err := record.Open(res.Dir)
	if err != nil || len(run.Warnings) != 0 {
		t.Fatal(err, run.Warnings)
	}
	pids := map[float64]int{}
	for _, pid := range run.Samples.Column(record.ColPID) {
		if record.IsUnknown(pid) {
			pid = float64(run.Meta.PID)
		}
		pids[pid]++
	}
	if len(pids) != 4 || pids[float64(res.PID)] == 0 {
		t.Errorf("rows by pid %v", pids)
	}
}

func distinct(values []float64) map[float64]bool {
	set := map[float64]bool{}
	for _, v := range values {
		if !record.IsUnknown(v) {
			set[v] = true
		}
	}
	return set
}

func TestAttachRecordsUntilTheProcessEnds(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	cmd.Env = append(os.Environ(), "PYTORCH_CUDA_ALLOC_CONF=its-own")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Out: t.TempDir() + "/run", Interval: 5 * time.Millisecond}
	cfg.Progress = func(p Progress) {
		if p.Rows > 3 {
			stdin.Close() // a second Close does nothing
		}
	}
	go cmd.Wait()
	res, err := Attach(context.Background(), cmd.Process.Pid, cfg)
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(res.Dir)
	if err != nil || run.Samples.Len() < 4 || run.Meta.ExitCode != nil || run.Meta.End == nil ||
		strings.Join(run.Meta.Command, " ") != "cat" {
		t.Errorf("%+v, %v", run.Meta, err)
	}
	if got := run.Meta.Env["PYTORCH_CUDA_ALLOC_CONF"]; runtime.GOOS == "linux" && got != "its-own" {
		t.Errorf("the environment of the process is %v", run.Meta.Env)
	}
	if _, err := Attach(context.Background(), cmd.Process.Pid, cfg); !errors.Is(err, probe.ErrExited) {
		t.Errorf("attach to a process that has gone: %v", err)
	}
}

func TestAttachEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	res, err := Attach(ctx, os.Getpid(), Config{Out: t.TempDir() + "/run", Interval: 5 * time.Millisecond})
	if err != nil || res.ExitCode != -1 || res.Meta.Sampling.Rows == 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// gpuList is a reader whose readings and failures a test sets.
type gpuList func(pids []int, dst []probe.Charge) ([]probe.Charge, error)

func (g gpuList) Read(pids []int, dst []probe.Charge) ([]probe.Charge, error) { return g(pids, dst) }
func (g gpuList) Close()                                                      {}

func TestDriversThatFailAreOneWarningAndAskedOnceASecond(t *testing.T) {
	t.Parallel()
	calls := 0
	cfg := childConfig(t, "work 200 1000")
	cfg.GPU = gpuList(func([]int, []probe.Charge) ([]probe.Charge, error) {
		calls++
		return nil,
			errors.New("no driver")
	})
	begin := time.Now()
	res, _ := trace(t, cfg)
	most := 2 + int(time.Since(begin)/time.Second)
	if len(res.Warnings) != 1 || res.Warnings[0] != "GPU bytes are missing: no driver" || calls > most {
		t.Errorf("%d calls, warnings %q", calls, res.Warnings)
	}
}

func TestGPUBytesOfSeveralDevicesHaveAColumnEachAndASum(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "work 200 1000")
	cfg.GPU = gpuList(func(pids []int, dst []probe.Charge) ([]probe.Charge, error) {
		return append(dst, probe.Charge{PID: pids[0], Device: 0, LocalBytes: 1000, HostBytes: probe.Unknown},
			probe.Charge{PID: pids[0], Device: 2, LocalBytes: 200, HostBytes: 34}), nil
	})
	_, run := trace(t, cfg)
	total, third := known(run.Samples, "gpu_bytes"), known(run.Samples, "gpu_bytes@2")
	if len(third) == 0 || third[0] != 234 || total[len(total)-1] != 1234 {
		t.Errorf("gpu_bytes %v, of device 2 %v", total, third)
	}
}

func TestARunLeavesNoGoroutineAndNoFileOpen(t *testing.T) {
	count := func() (int, int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(fds)
	}
	trace(t, childConfig(t, "exit 0")) // what starts once and stays
	goroutines, fds := count()
	for range 5 {
		cfg := childConfig(t, "work 5 100")
		cfg.Progress = func(Progress) {}
		trace(t, cfg)
	}
	until(t, "all goroutines and files are gone", func() bool {
		g, f := count()
		return g <= goroutines && f <= fds
	})
}
