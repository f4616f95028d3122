package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
	"github.com/gpumem/gpumem/tracer/record"
)

// grower is a program that keeps 200 kB every 10 ms, about 19 MiB a second.
const grower = `import time
print("ready", flush=True)
keep = []
while True:
    keep.append(bytearray(200_000))
    time.sleep(.01)
`

// startPython starts a script and waits until it says that it is ready.
func startPython(t testing.TB, name, script string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the script said %q: %v", line, err)
	}
	return cmd
}

// start starts a program that is ended with the test.
func start(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

func pidOf(cmd *exec.Cmd) string { return strconv.Itoa(cmd.Process.Pid) }

func glob(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %q, %v", pattern, list, err)
	}
	return list[0]
}

func TestAttachJudgesAProgramThatRunsAlready(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	leak := startPython(t, "leaky.py", grower)
	dir := t.TempDir()
	got := patiently(6, func(length string) outcome {
		return gpumem(t, dir, "attach", pidOf(leak), "--for", length, "--fail-on", "any")
	})
	if got.code != 6 || !strings.Contains(got.stdout, "host-growth") {
		t.Fatalf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	// The answer is short, as run's is; the report has the rest, and is named last.
	told := strings.Split(strings.TrimRight(got.stdout, "\n"), "\n")
	if last := told[len(told)-1]; len(told) > 25 || !strings.HasPrefix(last, "Report: gpumem-leaky-") ||
		!strings.HasSuffix(last, "/report.html") {
		t.Errorf("%d lines, the last is %q:\n%s", len(told), last, got.stdout)
	}
	folders, _ := filepath.Glob(filepath.Join(dir, "gpumem-leaky-*"))
	if len(folders) == 0 {
		t.Fatal("no run folder was left")
	}
	v := readVerdict(t, folders[len(folders)-1])
	if v.Verdict != "host-growth" {
		t.Errorf("verdict %+v", v)
	}
	if leak.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("the program did not survive being watched")
	}
}

func TestCtrlCEndsAttachAndStillJudges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	leak := startPython(t, "leaky.py", grower)
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, "attach", pidOf(leak), "--out", "out", "--json")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForRows(t, filepath.Join(dir, "out", record.FileSamples), 40)
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if v := readVerdict(t, filepath.Join(dir, "out")); v.Window.Samples < 30 ||
		!strings.Contains(stdout.String(), `"verdict"`) {
		t.Errorf("verdict %+v, stdout %s", v, stdout.String())
	}
}

// waitForRows waits until a file has so many lines.
func waitForRows(t *testing.T, path string, rows int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(
		10 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && bytes.Count(b, []byte("\n")) > rows {
			return
		}
	}
	t.Fatalf("%s did not get %d rows", path, rows)
}

func TestAttachSaysInOneLineWhyItCannot(t *testing.T) {
	t.Parallel()
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zombie.Wait() })
	waitForZombie(t, zombie.Process.Pid)
	threaded := startPython(t, "threaded.py",
		"import threading, time\nthreading.Thread(target=time.sleep, args=(60,), "+
			"daemon=True).start()\nprint('ready', flush=True)\ntime.sleep(60)\n")
	for _, c := range []struct {
		args []string
		code int
		say  string
	}{
		{[]string{"trainer"}, 2, `"trainer" is not a PID`},
		{[]string{"0"}, 2, "is not a PID"},
		{nil, 2, "takes one PID"},
		{[]string{"1", "2"}, 2, "takes one PID"},
		{[]string{"1", "--for", "-3s"}, 2, "must not be negative"},
		{[]string{"1", "--gpu", "nvidia"}, 2, "no such source"},
		{[]string{"1", "--inject", "preload"}, 2, "auto, python, ebpf or none"},
		{[]string{"2000000000"}, 1, "no such process"},
		{[]string{strconv.Itoa(zombie.Process.Pid)}, 1, "zombie"},
		{[]string{threadOf(t, threaded.Process.Pid)}, 2, "is a thread of process " + pidOf(threaded)},
	} {
		got := gpumem(t, t.TempDir(), append([]string{"attach"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.say) ||
			strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("attach %q: code %d, want %d with %q\n%s%s", c.args, got.code, c.code,
				c.say, got.stdout, got.stderr)
		}
	}
}

func TestAttachSaysOfAProgramThatEndsAtOnceThatItWasTooSoon(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	brief := exec.Command("cat") // ends with its stdin
	stdin, err := brief.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := brief.Start(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	go func() {
		defer brief.Wait()
		defer stdin.Close()
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(
			5 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "run", record.FileSamples)); err == nil {
				return
			}
		}
	}()
	got := gpumem(t, dir, "attach", pidOf(brief), "--interval", "10s", "--out", "run")
	if got.code != 1 || !strings.Contains(got.stderr, "too soon to be judged") ||
		strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func waitForZombie(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(
		time.Millisecond) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
			bytes.Contains(b, []byte(") Z ")) {
			return
		}
	}
	t.Fatal("the child did not become a zombie")
}

// threadOf is a thread of a process that is not its first.
func threadOf(t *testing.T, pid int) string {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(list) < 2 {
		t.Fatalf("threads %v, %v", list, err)
	}
	// In the order of names 10000 stands before 9999, which may be the process.
	other := slices.IndexFunc(list, func(e os.DirEntry) bool { return e.Name() != strconv.Itoa(pid) })
	return list[other].Name()
}

// TestAttachRefusesAnothersProcess runs as nobody where we are root; else the
// first process of the machine is another's.
func TestAttachRefusesAnothersProcess(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gpumem-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "gpumem")
	// cp writes it: a program that is open for writing here cannot be run while
	// something that a parallel test started holds it open, too.
	if err := errors.Join(exec.Command("cp", binary, program).Run(), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	pid := "1"
	attach := func(args ...string) outcome {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(program, append([]string{"attach", pid}, args...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		cmd.Run() // its code tells
		return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
	if os.Geteuid() == 0 {
		pid = pidOf(start(t, "sleep", "60"))
	}
	if got := attach(); got.code != 1 || !strings.Contains(got.stderr, "belongs to root") ||
		strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("code %d\n%s", got.code, got.stderr)
	}
	if got := attach("--partial", "--for", "1s"); got.code != 0 || !strings.Contains(got.stdout, "host") {
		t.Errorf("with --partial: code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestAttachFollowsTheWholeTree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	tree := exec.Command("sh", "-c", "sleep 60 & sleep 60 & wait")
	tree.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := tree.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-tree.Process.Pid, syscall.SIGKILL) // the whole group
		tree.Wait()
	})
	dir := t.TempDir()
	if got := gpumem(t, dir, "attach", pidOf(tree), "--for", "2s", "--out", "out"); got.code != 0 {
		t.Fatalf("code %d\n%s", got.code, got.stderr)
	}
	run, err := record.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	pids := map[float64]bool{}
	for _, pid := range run.Samples.Column(record.ColPID) {
		if !record.IsUnknown(pid) {
			pids[pid] = true
		}
	}
	if len(pids) != 3 {
		t.Errorf("rows of %d processes, want 3", len(pids))
	}
}

const stubDevices = "driver 580.1\ndevice H200 GPU-aa 00000000:65:00.0 150754820096 4713373184 " +
	"667942912\nreload 1"

// stub builds a stand-in for NVIDIA's library and returns it with the
// environment in which it is found.
func stub(t *testing.T, conf ...string) (library string, env []string) {
	t.Helper()
	library = nvmltest.Build(t, nvmltest.Newest, append([]string{stubDevices}, conf...)...)
	return library, []string{"LD_LIBRARY_PATH=" + filepath.Dir(library)}
}

func TestARunRecordsTheGPUBytesOfItsProcesses(t *testing.T) {
	t.Parallel()
	library, env := stub(t)
	dir := t.TempDir()
	script := fmt.Sprintf("echo process 0 c $$ 123456789 >>%s.conf; sleep 1", library)
	got := gpumemEnv(t, dir, env, "run", "--out", "out", "--", "sh", "-c", script)
	if got.code != 0 {
		t.Fatalf("code %d\n%s", got.code, got.stderr)
	}
	run, err := record.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	most := 0.
	for _, v := range run.Samples.Column(record.ColGPU) {
		if !record.IsUnknown(v) {
			most = max(most, v)
		}
	}
	if most != 123456789 || run.Meta.Device != "H200" || run.Meta.Driver != "nvidia 580.1" ||
		run.Meta.CapacityBytes["device memory"] != 150754820096 {
		t.Errorf("gpu_bytes up to %.0f, meta %+v", most, run.Meta)
	}
}

func TestADeviceLostWhileRecordingIsOneWarning(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	target := start(t, "sleep", "60")
	library, env := stub(t, "process 0 c "+pidOf(target)+" 5000")
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, "attach", pidOf(target), "--out", "out")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	samples := filepath.Join(dir, "out", record.FileSamples)
	waitForRows(t, samples, 10)
	standin.Write(t, library, stubDevices, "list_code 0 15")
	waitForRows(t, samples, 60)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if n := strings.Count(stderr.String(), "GPU is lost"); n != 1 {
		t.Errorf("%d warnings, want one\n%s", n, stderr.String())
	}
}

// noLibrary is the environment of a machine without NVIDIA's library, also on
// one that has it: what is found first cannot be loaded.
func noLibrary(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libnvidia-ml.so.1"), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"LD_LIBRARY_PATH=" + dir}
}

func TestAbsentSourcesAreSilentUnlessAskedFor(t *testing.T) {
	t.Parallel()
	env := noLibrary(t)
	if got := gpumemEnv(t, t.TempDir(), env, "run", "--", "true"); strings.Contains(got.stderr, "nvml") {
		t.Errorf("an absent library is talked about:\n%s", got.stderr)
	}
	got := gpumemEnv(t, t.TempDir(), env, "run", "--gpu", "nvml", "--", "true")
	if got.code != 1 || !strings.HasPrefix(got.stderr, "gpumem: --gpu nvml: ") ||
		strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	if got := gpumem(t, t.TempDir(), "run", "--gpu", "none,nvml", "--", "true"); got.code != 2 {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}

func TestDevicesHasALineForEachDeviceAndEachAbsence(t *testing.T) {
	t.Parallel()
	_, env := stub(t)
	got := gpumemEnv(t, t.TempDir(), env, "devices")
	for _, want := range []string{"cuda:0", "H200", "GPU-aa", "\nsoft ", "\nhost ", "drm not available: ",
		"kfd not available: ", "apple not available: "} {
		if strings.Count(got.stdout, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got.stdout)
		}
	}
	if got := gpumemEnv(t, t.TempDir(), noLibrary(t), "devices"); !strings.Contains(got.stdout,
		"\nnvml not available:") || got.code != 0 {
		t.Errorf("code %d:\n%s", got.code, got.stdout)
	}
	checkWidth(t, got.stdout)
}

// driverLeak asks the CUDA driver for a MiB every 20 ms and keeps it.
const driverLeak = `#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
int cuInit(unsigned);
int cuMemAlloc_v2(uint64_t *, size_t);
int main(void) {
	uint64_t p;
	cuInit(0);
	puts("ready");
	fflush(stdout);
	for (;;) {
		cuMemAlloc_v2(&p, 1 << 20);
		usleep(20000);
	}
}
`

// onStubDriver compiles a C program in dir against the capture's stub of libcuda.
func onStubDriver(t *testing.T, dir, text string) (program string) {
	t.Helper()
	program = filepath.Join(dir, "leak")
	source, library := filepath.Join(dir, "leak.c"), filepath.Join(dir, "libcuda.so.1")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-O2", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-Wl,-soname,libcuda.so.1",
			"../../../tracer/capture/testdata/libcuda.c", "-o", library},
		{"-O2", source, library, "-Wl,-rpath," + dir, "-o", program},
	} {
		if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			t.Fatalf("cc: %v\n%s", err, out)
		}
	}
	return program
}

func TestAttachWithProbesTellsWhatTheProgramAllocatesFromThenOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	program := onStubDriver(t, dir, driverLeak)
	leak := start(t, program)
	got := gpumem(t, dir, "attach", pidOf(leak), "--inject", "ebpf", "--for", "4s", "-v", "--out", "out")
	if strings.Contains(got.stdout, "CAP_BPF") || strings.Contains(got.stdout, "not supported") {
		t.Skipf("the kernel allows no probes here: %s", got.stdout)
	}
	run, err := record.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatalf("%v\n%s", err, got.stderr)
	}
	held := run.Samples.Column("driver_alloc_bytes")
	if len(held) == 0 || !(held[len(held)-1] > 10<<20) {
		t.Errorf("driver_alloc_bytes %v", held)
	}
	if !strings.Contains(got.stdout, "leak+0x") ||
		!strings.Contains(got.stdout, "before the attach are unknown") {
		t.Errorf("no site, or no word on what came before:\n%s", got.stdout)
	}
}

func TestPlainAttachPutsProbesOnTheDriverWhereTheyArePermitted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	leak := start(t, onStubDriver(t, dir, driverLeak))
	library, env := stub(t)
	standin.Write(t, library, stubDevices, fmt.Sprintf("process 0 c %s %d", pidOf(leak), 900<<20))
	got := gpumemEnv(t, dir, env, "attach", pidOf(leak), "--for", "4s", "-v", "--out", "out")
	if probed := gpumem(t, dir, "attach", pidOf(leak), "--inject", "ebpf", "--for", "1s", "-v", "--out",
		"probed"); strings.Contains(probed.stdout, "CAP_BPF") || strings.Contains(probed.stdout, "not supported") {
		t.Skipf("the kernel allows no probes here: %s", probed.stdout)
	}
	if got.code != 0 || !strings.Contains(got.stdout, "leak+0x") {
		t.Errorf("no site: code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	events, err := os.ReadFile(filepath.Join(dir, "out", record.FileEvents))
	if err != nil || !strings.Contains(string(events), "943718400 B of device memory were held when gpumem attached") {
		t.Errorf("no word on what was held before: %v\n%s", err, events)
	}
	if outside := gpumemEnv(t, dir, env, "attach", pidOf(leak), "--inject", "none", "--for", "1s", "-v", "--out",
		"none"); strings.Contains(outside.stdout, "leak+0x") {
		t.Errorf("--inject none is not from outside only:\n%s", outside.stdout)
	}
}

// checkWidth fails for lines over 100 columns.
func checkWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := plain.Cells(strings.TrimSuffix(line, "\n")); n > plain.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
