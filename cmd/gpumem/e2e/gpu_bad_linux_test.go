package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/cuda/cudatest"
	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
)

func TestADriverWithoutADeviceIsOneClearLineAndNoZero(t *testing.T) {
	t.Parallel()
	library := nvmltest.Build(t, nvmltest.Newest, "driver 580")
	env := []string{"LD_LIBRARY_PATH=" + filepath.Dir(library)}
	target := start(t, "sleep", "60")
	for _, args := range [][]string{
		{"run", "--gpu", "nvml", "--", "true"}, {"attach", "--gpu", "nvml", pidOf(target)},
		{"diagnose", "--gpu", "nvml"},
	} {
		got := gpumemEnv(t, t.TempDir(), env, args...)
		if got.code != 1 || !strings.Contains(got.stderr, "shows no device") ||
			strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%v: code %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	for _, args := range [][]string{{"devices"}, {"diagnose", "--gpu", "auto"}} {
		got := gpumemEnv(t, t.TempDir(), env, args...)
		if got.code != 0 || !strings.Contains(got.stdout,
			"nvml not available: the driver is here and shows no device") {
			t.Errorf("%v: code %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestADeviceThatCannotBeOpenedEndsTheRunWithItsOneLine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, c := range []struct{ says, want string }{
		{"init 100", "CUDA_VISIBLE_DEVICES"}, // it is empty, say
		{"devices 0", "the driver shows no device"},
	} {
		env := stubDriver(t)
		conf := filepath.Join(strings.TrimPrefix(env, "LD_LIBRARY_PATH="), cudatest.FileName+".conf")
		if err := os.WriteFile(conf, []byte(c.says+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := gpumemEnv(t, t.TempDir(), []string{env}, "run", "--device", "cuda", "--out", "r", "xor")
		if got.code != 1 || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("%s: code %d\n%s%s", c.says, got.code, got.stdout, got.stderr)
		}
		if lines := strings.Count(got.stderr, "\n"); lines > 3 || strings.Contains(got.stderr, "0 B") {
			t.Errorf("%s: %d lines hide the one that matters:\n%s", c.says, lines, got.stderr)
		}
	}
}

func TestAPidThatIsNoProcessIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	threaded := startPython(t, "threaded.py",
		"import threading, time\nthreading.Thread(target=time.sleep, args=(60,), "+
			"daemon=True).start()\nprint('ready', flush=True)\ntime.sleep(60)\n")
	thread := threadOf(t, threaded.Process.Pid)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"diagnose", thread}, 2, "is a thread of process " + pidOf(threaded)},
		{[]string{"diagnose", "2000000000"}, 1, "no such process"},
		{[]string{"diagnose", "--for", "3s", "2000000000"}, 1, "no such process"},
		{[]string{"diagnose", "0"}, 2, "is not a PID"},
		{[]string{"diagnose", "-5"}, 2, "-5"},
		{[]string{"attach", thread}, 2, "is a thread of process " + pidOf(threaded)},
	} {
		got := gpumem(t, t.TempDir(), c.args...)
		if got.code != c.code || !strings.Contains(got.stderr, c.says) ||
			strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%v: code %d, want %d with %q\n%s%s", c.args, got.code, c.code, c.says,
				got.stdout, got.stderr)
		}
	}
}
