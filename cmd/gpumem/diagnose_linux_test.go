package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/scan"
)

var update = flag.Bool("update", false, "rewrite the golden files of diagnose")

// fixture is a made-up machine with an AMD card, a leaking trainer in two
// builds, an editor's helper, a zombie and names that would break a table.
func fixture(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(path, to string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	put("proc/uptime", "90000.00 1.00\n")
	put("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n")
	put("proc/self/cgroup", "0::/job\n")
	put("sys/fs/cgroup/job/memory.max", "4294967296\n")
	put("sys/fs/cgroup/job/memory.current", "1073741824\n")
	put("etc/passwd", "root:x:0:0::/:/bin/sh\nana:x:1000:1000::/:/bin/sh\n漢字漢字漢字:x:1001:1001::/:/bin/sh\n")
	process := func(pid int, name, state string, uid, rss, start int, exe string, words ...string) {
		dir := "proc/" + strconv.Itoa(pid)
		put(dir+"/stat", fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 4194560 0 0 0 0 6000 3000 0 0 20 0 3 0 %d 0 0\n", pid, name, state, start))
		memory := ""
		if rss > 0 {
			memory = fmt.Sprintf("VmRSS:\t%d kB\nRssAnon:\t%d kB\nRssFile:\t1024 kB\nRssShmem:\t0 kB\nVmSwap:\t512 kB\n", rss, rss-1024)
		}
		put(dir+"/status", fmt.Sprintf("Tgid:\t%d\nUid:\t%d\t%d\t%d\t%d\n%s", pid, uid, uid, uid, uid, memory))
		put(dir+"/cmdline", strings.Join(words, "\x00")+"\x00")
		put(dir+"/statm", "1 1 0 0 0 0 0\n")
		if exe != "" {
			day := 10
			if strings.Contains(exe, "new") {
				day = 19
			}
			put(exe, "a program\n"+exe)
			at := time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)
			if err := os.Chtimes(filepath.Join(root, exe), at, at); err != nil {
				t.Fatal(err)
			}
			link(dir+"/exe", filepath.Join(root, exe))
		}
	}
	client := func(pid, id, vram int) {
		dir := "proc/" + strconv.Itoa(pid)
		link(dir+"/fd/5", "/dev/dri/renderD128")
		put(dir+"/fdinfo/5", fmt.Sprintf("drm-driver:\tamdgpu\ndrm-pdev:\t0000:43:00.0\ndrm-client-id:\t%d\ndrm-memory-vram:\t%d KiB\ndrm-memory-gtt:\t64 KiB\n", id, vram))
	}
	process(101, "trainer", "R", 1000, 900000, 8900000, "opt/new/trainer", "/opt/new/trainer", "--model", "llama")
	process(102, "trainer", "S", 1000, 300000, 5000000, "opt/old/trainer", "/opt/old/trainer")
	process(103, "python3", "S", 1001, 200000, 8999000, "usr/bin/python3.12", "python3.12", "/home/用户/训练.py", "--名前", strings.Repeat("長い引数 ", 30))
	process(104, "code", "S", 1000, 150000, 1000000, "usr/share/code/code", "/usr/share/code/code", "--type=gpu-process", "--x")
	process(105, "tl", "T", 1000, 2000, 8990000, "usr/bin/tl", "tl", "run", "a.tl\x1b[31m\x07\u202e")
	process(106, "grep", "S", 1000, 1500, 8990000, "usr/bin/grep", "grep", "tl", "tensorlogic")
	process(107, "trainer", "Z", 1000, 0, 8990000, "")
	client(101, 1, 4194304)
	client(104, 2, 131072)
	card := "sys/class/drm/card1/device/"
	put(card+"uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:43:00.0\n")
	put(card+"vendor", "0x1002\n")
	put(card+"device", "0x744c\n")
	put(card+"mem_info_vram_total", "25753026560\n")
	put(card+"mem_info_vram_used", "6442450944\n")
	for _, id := range []string{"51110"} {
		put("sys/class/kfd/kfd/topology/nodes/1/gpu_id", id+"\n")
		put("sys/class/kfd/kfd/topology/nodes/1/properties", "location_id 17152\ndomain 0\n")
		put("sys/class/kfd/kfd/proc/4242/vram_"+id, "1073741824\n")
	}
	return root
}

// lookAtFixture is a diagnosis of the fixture, with what differs from run to
// run made the same.
func lookAtFixture(t *testing.T, args ...int) *diagnosis {
	t.Helper()
	f := defaultDiagnoseFlags()
	f.gpu.root = fixture(t)
	f.gpu.names = []string{scan.DRM, scan.KFD} // NVIDIA's would be the real one
	d, err := look(context.Background(), stdio{os.Stdin, os.Stdout, os.Stderr}, f, args)
	if err != nil {
		t.Fatal(err)
	}
	d.host, d.scan.At, d.scan.Elapsed = "machine", time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), 1234*time.Microsecond
	d.absent = []scan.Absence{{Source: scan.NVML, Err: errors.New("nvml: load the library: no such file; try: install the driver")}}
	return d
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite it with -update):\n%s", path, got)
	}
}

func TestDiagnoseShowsTheMachineInSections(t *testing.T) {
	t.Parallel()
	text := strings.Replace(lookAtFixture(t).text(false), runtime.GOARCH, "amd64", 1)
	checkWidth(t, text)
	if strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Error("a command line can write to the terminal")
	}
	golden(t, "diagnose.txt", text)
}

func TestDiagnoseOfOneProcessSaysWhatItIs(t *testing.T) {
	t.Parallel()
	d := lookAtFixture(t, 101)
	d.made = nil // the fixture has no mappings
	for i := range d.scan.Processes {
		d.scan.Processes[i].Executable = "/opt/new/trainer"
	}
	text := strings.Replace(d.text(false), runtime.GOARCH, "amd64", 1)
	checkWidth(t, text)
	golden(t, "diagnose_pid.txt", text)
}

func TestDiagnoseAsJSONLeavesUnknownOut(t *testing.T) {
	t.Parallel()
	d := lookAtFixture(t)
	var b strings.Builder
	if err := d.json(&b); err != nil {
		t.Fatal(err)
	}
	var got diagnosisJSON
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Processes) != 7 || got.Zombies != 1 || got.Processes[0].PID != 101 || *got.Processes[0].GPU != 4295032832 {
		t.Errorf("got %+v", got)
	}
	if z := got.Processes[6]; z.State != scan.Zombie || z.Footprint != nil || z.RSS != nil {
		t.Errorf("the zombie's memory is not known: %+v", z)
	}
	if d := got.Devices[0]; *d.Used != 6442450944 || *d.Held != 4429185024 || *d.Other != 1073741824 || *d.Uncharged != 939524096 || d.Reserved != nil {
		t.Errorf("device: used %d = held %d + other %d + not charged %d?", *d.Used, *d.Held, *d.Other, *d.Uncharged)
	}
	if len(got.Elsewhere) != 1 || got.Elsewhere[0].Why != "gone" || got.Elsewhere[0].PID != 4242 {
		t.Errorf("elsewhere %+v", got.Elsewhere)
	}
}

func TestTheFiveSectionsAreRecognised(t *testing.T) {
	t.Parallel()
	got := gpumem(t, t.TempDir(), "diagnose", "--runtime", "tl")
	for i, title := range []string{"Top 20 processes by memory", "Processes of the runtime (tl)", "Metal, GPU and MTL processes", "VSCode GPU helper processes", "GPU memory"} {
		if !strings.Contains(got.stdout, fmt.Sprintf("\n%d. %s", i+1, title)) {
			t.Errorf("section %d, %s, is missing:\n%s", i+1, title, got.stdout)
		}
	}
	checkWidth(t, got.stdout)
}

// patiently runs a command that watches for a time, and again for longer where
// it ends with another code than the one wanted: a machine that is busy with
// other things gives few samples, and the answer then asks to watch longer.
func patiently(code int, run func(length string) outcome) (got outcome) {
	for _, length := range []string{"6s", "20s", "60s"} {
		if got = run(length); got.code == code {
			break
		}
	}
	return got
}

func TestWatchingAccusesTheProcessThatGrowsAndNoOther(t *testing.T) {
	t.Parallel()
	leak := startPython(t, "leaky.py", grower)
	calm := startPython(t, "calm.py", "import time\nkeep = bytearray(50_000_000)\nprint('ready', flush=True)\ntime.sleep(600)\n")
	got := patiently(6, func(length string) outcome {
		return gpumem(t, t.TempDir(), "diagnose", pidOf(leak), pidOf(calm), "--for", length, "--json", "--fail-on", "host-growth")
	})
	var d diagnosisJSON
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	if got.code != 6 || d.Watched == nil || d.Watched.Processes != 2 || d.Watched.FalseDiscovery != falseDiscovery {
		t.Errorf("code %d, watched %+v", got.code, d.Watched)
	}
	for _, p := range d.Processes {
		want := map[int]string{leak.Process.Pid: "host-growth", calm.Process.Pid: "none"}[p.PID]
		if p.Verdict == nil || string(p.Verdict.Verdict) != want {
			t.Errorf("process %d: %+v, want %s", p.PID, p.Verdict, want)
		}
		if len(p.Made) == 0 {
			t.Errorf("process %d: what it is made of is missing", p.PID)
		}
	}
}

// growing is a process whose device memory grows as long as the test runs, by
// what the driver says.
func growing(t *testing.T) (target *exec.Cmd, env []string) {
	t.Helper()
	target = start(t, "sleep", "600")
	library, env := stub(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for bytes := 100 << 20; ; bytes += 1 << 20 {
			standin.Write(t, library, stubDevices, fmt.Sprintf("process 0 c %s %d", pidOf(target), bytes))
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	return target, env
}

func TestGrowthOfGPUBytesIsSeenAlthoughNobodyKnowsWhoseItIs(t *testing.T) {
	t.Parallel()
	target, env := growing(t)
	got := patiently(7, func(length string) outcome {
		return gpumemEnv(t, t.TempDir(), env, "diagnose", pidOf(target), "--for", length, "--fail-on", "any")
	})
	if got.code != 7 || !strings.Contains(got.stdout, "1 grows") || !strings.Contains(got.stdout, "/min GPU") || !strings.Contains(got.stdout, "grows, whose?") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	// What is a fact is said as one, with its interval, and what comes next.
	flat := strings.Join(strings.Fields(got.stdout), " ")
	fact := regexp.MustCompile(`device memory grows by [\d.]+ MiB a second \(95 %: [\d.]+ MiB to [\d.]+ MiB\); whether the program, its pool or the driver holds it cannot be seen from outside`)
	if !fact.MatchString(flat) || !strings.Contains(flat, "next: run it under gpumem") || !strings.Contains(flat, "gpumem attach "+pidOf(target)+" --inject ebpf") {
		t.Errorf("no fact, or no next step:\n%s", got.stdout)
	}
	checkWidth(t, got.stdout)
}

func TestAttachTurnsGrowthWithoutAnOwnerIntoACodeAndANextStep(t *testing.T) {
	t.Parallel()
	target, env := growing(t)
	dir := t.TempDir()
	got := patiently(7, func(length string) outcome {
		return gpumemEnv(t, dir, env, "attach", pidOf(target), "--for", length, "--fail-on", "any", "--out", "out", "--force")
	})
	if got.code != 7 || !strings.Contains(got.stdout, "device memory grows") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stderr, " a second (95 %: ") || !strings.Contains(got.stderr, "--inject ebpf") {
		t.Errorf("no fact, or no next step:\n%s", got.stderr)
	}
	if d := unowned(readVerdict(t, filepath.Join(dir, "out"))); d == nil || d.Per != "second" {
		t.Errorf("verdict.json has no growth without an owner: %+v", d)
	}
	// A verdict that is not asked for fails nothing.
	if got := gpumemEnv(t, dir, env, "attach", pidOf(target), "--for", "6s", "--fail-on", "host-growth"); got.code != 0 {
		t.Errorf("code %d with --fail-on host-growth\n%s", got.code, got.stderr)
	}
}

func TestAProcessThatEndsWhileWatchedIsUndecided(t *testing.T) {
	t.Parallel()
	brief := start(t, "sleep", "1")
	got := gpumem(t, t.TempDir(), "diagnose", pidOf(brief), "--for", "4s")
	if got.code != 0 || !strings.Contains(got.stdout, "1 undecided") || !strings.Contains(got.stdout, "1 ended") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestExpectNoneListsUpToFiveThatAreLeft(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("left-over-trainer-%d", os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	if err := exec.Command("cp", sleep, program).Run(); err != nil { // not written here: see TestAttachRefusesAnothersProcess
		t.Fatal(err)
	}
	args := []string{"diagnose", "--expect-none", name}
	// The name stands in our own command line and in this one, which do not count.
	start(t, "sh", "-c", "sleep 60; : "+name)
	if got := gpumem(t, t.TempDir(), args...); got.code != 0 || got.stderr != "" {
		t.Fatalf("code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got := gpumem(t, t.TempDir(), "run", "-q", "--alone", "--out", "r", "--", program, "0"); got.code != 0 {
		t.Fatalf("the only one is refused: code %d: %s", got.code, got.stderr)
	}
	for range 7 {
		start(t, program, "60")
	}
	got := gpumem(t, t.TempDir(), args...)
	if got.code != 1 || !strings.Contains(got.stderr, "7 processes of "+name+" are left:") ||
		!strings.HasSuffix(got.stderr, "and 2 more\n") || strings.Count(got.stderr, "iB)") != 5 {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	got = gpumem(t, t.TempDir(), "run", "--alone", "--out", "r", "--", program, "0")
	if got.code != 1 || !strings.HasSuffix(got.stderr, "and 2 more; end them, or start without --alone\n") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a second one is started: code %d: %s", got.code, got.stderr)
	}
	got = gpumem(t, t.TempDir(), append(args, "--json")...)
	var left leftJSON
	if err := json.Unmarshal([]byte(got.stdout), &left); err != nil || len(left.Left) != 7 || got.code != 1 {
		t.Errorf("code %d, %v: %s", got.code, err, got.stdout)
	}
}

func TestAZombieIsListedWithItsParent(t *testing.T) {
	t.Parallel()
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	waitForZombie(t, child.Process.Pid)
	got := gpumem(t, t.TempDir(), "diagnose")
	want := fmt.Sprintf("%d (true, parent %d)", child.Process.Pid, os.Getpid())
	if !strings.Contains(got.stdout, want) {
		t.Errorf("%q is missing:\n%s", want, got.stdout)
	}
}

func TestDiagnoseRefusesWhatDoesNotGoTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		say  string
	}{
		{[]string{"--fail-on", "any"}, 2, "need --for"},
		{[]string{"--for", "1s"}, 2, "must be 3s or more"},
		{[]string{"--for", "10s", "--interval", "1s"}, 2, "150 samples"},
		{[]string{"--format", "html"}, 2, "text or json"},
		{[]string{"--expect-none", "a", "1"}, 2, "stands alone"},
		{[]string{"--fail-on", "leak", "--for", "5s"}, 2, "no such verdict"},
		{[]string{"x"}, 2, "is no PID"},
		{[]string{"2000000000"}, 1, "no such process"},
		{[]string{"--no-such-flag"}, 2, "unknown flag"},
	} {
		got := gpumem(t, t.TempDir(), append([]string{"diagnose"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.say) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("diagnose %q: code %d, want %d with %q\n%s%s", c.args, got.code, c.code, c.say, got.stdout, got.stderr)
		}
	}
}

func TestNamesOfProgramsAreThoseThatPeopleUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p          scan.Process
		name, exec string
	}{
		{scan.Process{Executable: "/usr/bin/python3.12", Command: []string{"python", "-u", "-W", "ignore", "/a/train.py", "x"}}, "train.py", "python3.12"},
		{scan.Process{Executable: "/usr/bin/python3", Command: []string{"python3", "-m", "torch.run", "x"}}, "torch.run", "python3"},
		{scan.Process{Executable: "/usr/bin/python3", Command: []string{"python3", "-c", "print()"}}, "python3", "python3"},
		{scan.Process{Executable: "/opt/tl", Command: []string{"tl", "run"}}, "tl", "tl"},
		{scan.Process{Command: []string{"-bash"}, Name: "bash"}, "bash", "bash"},
		{scan.Process{Command: []string{"nginx: worker process"}, Name: "nginx"}, "nginx", "nginx"},
		{scan.Process{Executable: `C:\Program Files\x\python.exe`, Command: []string{"python"}}, "python", "python"},
		{scan.Process{Name: "kernel-ish"}, "kernel-ish", "kernel-ish"},
	} {
		if got := programName(&c.p); got != c.name {
			t.Errorf("%+v is called %q, want %q", c.p, got, c.name)
		}
		if got := executableName(&c.p); got != c.exec {
			t.Errorf("%+v runs %q, want %q", c.p, got, c.exec)
		}
	}
	long := scan.Process{Name: "a-very-long-nam", State: scan.Zombie}
	if !named(&long, "a-very-long-name-indeed") || named(&long, "another") {
		t.Error("a short name that the system cut does not match the whole one")
	}
}

func TestTheScriptAsksGpumemWhereItIs(t *testing.T) {
	t.Parallel()
	script := filepath.Join("..", "..", "scripts", "diagnose_memory_leak.sh")
	for _, here := range []bool{true, false} {
		cmd := exec.Command("bash", script, "tl")
		if here {
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text := string(out)
		if strings.Contains(text, "FOOTPRINT") != here || !strings.HasPrefix(text, "=== GPU Memory Leak Diagnosis ===") ||
			!strings.HasSuffix(text, "=== Diagnosis complete ===\n") {
			t.Errorf("with gpumem %v:\n%s", here, text)
		}
		for i, title := range []string{"Top 20 processes by memory", "Processes of the runtime (tl)", "Metal, GPU and MTL processes", "VSCode GPU helper processes", "GPU memory"} {
			if !strings.Contains(text, fmt.Sprintf("\n%d. %s", i+1, title)) {
				t.Errorf("with gpumem %v: section %d is missing:\n%s", here, i+1, text)
			}
		}
	}
}
