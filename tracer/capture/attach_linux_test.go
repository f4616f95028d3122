package capture

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf/link"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/tracer/record"
)

// envPlainAttach makes the test binary attach to itself and print the error.
const envPlainAttach = "GPUMEM_TEST_PLAIN_ATTACH"

// attached starts a program that waits, and puts probes on it. Where the
// kernel refuses, what it is told by is tested instead.
func attached(t *testing.T, args ...string) (*Reader, *exec.Cmd, func(line string)) {
	t.Helper()
	l := launch{mode: ModeNone, args: args}
	cmd := start(t, &l)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the program does not start")
	}
	r, err := Attach(cmd.Process.Pid)
	if errors.Is(err, ErrPrivileges) || errors.Is(err, ErrUnsupported) {
		if !strings.Contains(err.Error(), "CAP_BPF") && !errors.Is(err, ErrUnsupported) {
			t.Errorf("the refusal says not what is missing: %v", err)
		}
		t.Skipf("the kernel allows no probes here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, cmd, func(line string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("the program ended early")
		}
	}
}

func TestProbesSeeWhatARunningProcessAllocates(t *testing.T) {
	tools := build(t)
	for _, how := range []string{"plt", "chain", "static"} {
		t.Run(how, func(t *testing.T) {
			r, cmd, say := attached(t, tools.app(how), "interactive")
			pid := cmd.Process.Pid
			if r.Cells(pid) != nil || r.Why(pid, "") == "" {
				t.Error("something is known before the first call")
			}
			say("1000")
			say("500")
			if err := r.Poll(); err != nil {
				t.Fatal(err)
			}
			wantCells(t, ended{pid: pid, reader: r},
				map[string]int64{record.ColDriverAllocBytes: 1500, record.ColDriverAllocs: 2,
					record.ColEvents: 2, record.ColCaptureLost: 0})
			s, ok := siteWith(r.Sites(pid), "leak_here")
			if !ok || s.Bytes != 1500 {
				t.Errorf("sites %+v, want leak_here with 1500 bytes", r.Sites(pid))
			}
			if w := r.Warnings(pid); len(w) != 1 || !strings.Contains(w[0], "before the attach are unknown") {
				t.Errorf("warnings %q", w)
			}
		})
	}
}

func TestProbesAndInterposerAgree(t *testing.T) {
	tools := build(t)
	r, cmd, say := attached(t, tools.app("plt"), "interactive", "basic")
	say("basic")
	if err := r.Poll(); err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(basicCells)
	delete(want, record.ColContexts) // retained before the attach, and once more
	wantCells(t, ended{pid: cmd.Process.Pid, reader: r}, want)
}

// Before Linux 6.6 each function has a probe of its own.
func TestSingleProbesSeeTheSame(t *testing.T) {
	tools := build(t)
	r, cmd, say := attached(t, tools.app("plt"), "interactive")
	pid := cmd.Process.Pid
	one, ok := r.taps[pid].(*tap)
	if !ok {
		t.Fatal("no probes")
	}
	path, err := driverPath(pid)
	if err != nil {
		t.Fatal(err)
	}
	places, err := findPlaces(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := link.OpenExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(one.detach(), one.load(false)); err != nil {
		t.Fatal(err)
	}
	if err := one.attachEach(file, places); err != nil {
		t.Fatal(err)
	}
	say("700")
	if err := r.Poll(); err != nil {
		t.Fatal(err)
	}
	wantCells(t, ended{pid: pid, reader: r},
		map[string]int64{record.ColDriverAllocBytes: 700, record.ColEvents: 1, record.ColCaptureLost: 0})
}

func TestAPlainUserIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "gpumem-plain-") // of a mode that the other user can pass
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "plain")
	if err := errors.Join(os.Chmod(dir, 0o755), standin.WriteProgram(binary, self, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Dir = "/"
	cmd.Env = []string{envPlainAttach + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), ErrPrivileges.Error()) ||
		!strings.Contains(string(out), "CAP_BPF and CAP_PERFMON") {
		t.Errorf("a plain user is told: %s", out)
	}
}

func TestAttachRefusesAProcessThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := Attach(1<<22 + 1); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("attach to no process: %v", err)
	}
}

func TestARefusalOfTheKernelSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	err := explain(syscall.EPERM)
	if !errors.Is(err, ErrPrivileges) || !strings.Contains(err.Error(), "CAP_BPF and CAP_PERFMON") {
		t.Errorf("EPERM becomes %v", err)
	}
}

func TestProbesFollowEveryHookOfTheInterposer(t *testing.T) {
	t.Parallel()
	hooks := append(hooksInSource(t), hooksOfHIP(t)...)
	var names []string
	for _, p := range probed {
		names = append(names, p.name)
	}
	slices.Sort(names)
	hooks = slices.DeleteFunc(hooks, func(h string) bool {
		// Probes ask no pools, which is all that waiting for the device is hooked for, and
		// do not know which device is reset.
		return strings.Contains(h, "GetProcAddress") || strings.Contains(h, "Synchronize") ||
			h == "hipDeviceReset"
	})
	slices.Sort(hooks)
	if !slices.Equal(names, hooks) {
		t.Errorf("probes follow\n%q\nthe interposer hooks\n%q", names, hooks)
	}
}
