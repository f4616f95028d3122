package diagnosis

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe/probetest"
	"github.com/gpumem/gpumem/probe/scan"
)

var update = flag.Bool("update", false, "rewrite the golden files of diagnose")

// fixture is a made-up machine with an AMD card, a leaking trainer in two
// builds, an editor's helper, a zombie and names that would break a table.
func fixture(t *testing.T) string {
	t.Helper()
	root := probetest.NewRoot(t)
	root.File("proc/uptime", "90000.00 1.00\n")
	root.File("proc/meminfo",
		"MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n")
	root.File("proc/self/cgroup", "0::/job\n")
	root.File("sys/fs/cgroup/job/memory.max", "4294967296\n")
	root.File("sys/fs/cgroup/job/memory.current", "1073741824\n")
	root.File("etc/passwd",
		"root:x:0:0::/:/bin/sh\nana:x:1000:1000::/:/bin/sh\n漢字漢字漢字:x:1001:1001::/:/bin/sh\n")
	process := func(pid int, name, state string, uid, rss, start int, exe string, words ...string) {
		dir := "proc/" + strconv.Itoa(pid)
		root.File(dir+"/stat",
			fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 4194560 0 0 0 0 6000 3000 0 0 20 0 3 0 %d 0 0\n", pid,
				name, state, start))
		memory := ""
		if rss > 0 {
			memory = fmt.Sprintf(
				"VmRSS:\t%d kB\nRssAnon:\t%d kB\nRssFile:\t1024 kB\nRssShmem:\t0 kB\nVmSwap:\t512 kB\n",
				rss, rss-1024)
		}
		root.File(dir+"/status", fmt.Sprintf("Tgid:\t%d\nUid:\t%d\t%d\t%d\t%d\n%s", pid, uid, uid, uid,
			uid, memory))
		root.File(dir+"/cmdline", strings.Join(words, "\x00")+"\x00")
		root.File(dir+"/statm", "1 1 0 0 0 0 0\n")
		if exe != "" {
			day := 10
			if strings.Contains(exe, "new") {
				day = 19
			}
			root.File(exe, "a program\n"+exe)
			at := time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)
			if err := os.Chtimes(filepath.Join(root.Path, exe), at, at); err != nil {
				t.Fatal(err)
			}
			root.Link(dir+"/exe", filepath.Join(root.Path, exe))
		}
	}
	client := func(pid, id, vram int) {
		root.FD(pid, 5, "/dev/dri/renderD128",
			fmt.Sprintf(
				"drm-driver:\tamdgpu\ndrm-pdev:\t0000:43:00.0\ndrm-client-id:\t%d\ndrm-memory-vram:\t%d "+
					"KiB\ndrm-memory-gtt:\t64 KiB\n", id, vram))
	}
	process(101, "trainer", "R", 1000, 900000, 8900000, "opt/new/trainer", "/opt/new/trainer",
		"--model", "llama")
	process(102, "trainer", "S", 1000, 300000, 5000000, "opt/old/trainer", "/opt/old/trainer")
	process(103, "python3", "S", 1001, 200000, 8999000, "usr/bin/python3.12", "python3.12", "/home/用户/训练.py",
		"--名前", strings.Repeat("長い引数 ", 30))
	process(104, "code", "S", 1000, 150000, 1000000, "usr/share/code/code", "/usr/share/code/code",
		"--type=gpu-process", "--x")
	process(105, "tl", "T", 1000, 2000, 8990000, "usr/bin/tl", "tl", "run", "a.tl\x1b[31m\x07\u202e")
	process(106, "grep", "S", 1000, 1500, 8990000, "usr/bin/grep", "grep", "tl", "tensorlogic")
	process(107, "trainer", "Z", 1000, 0, 8990000, "")
	client(101, 1, 4194304)
	client(104, 2, 131072)
	card := "sys/class/drm/card1/device/"
	root.File(card+"uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:43:00.0\n")
	root.File(card+"vendor", "0x1002\n")
	root.File(card+"device", "0x744c\n")
	root.File(card+"mem_info_vram_total", "25753026560\n")
	root.File(card+"mem_info_vram_used", "6442450944\n")
	for _, id := range []string{"51110"} {
		root.File("sys/class/kfd/kfd/topology/nodes/1/gpu_id", id+"\n")
		root.File("sys/class/kfd/kfd/topology/nodes/1/properties", "location_id 17152\ndomain 0\n")
		root.File("sys/class/kfd/kfd/proc/4242/vram_"+id, "1073741824\n")
	}
	return root.Path
}

// lookAtFixture is a diagnosis of the fixture, with what differs from run to
// run made the same.
func lookAtFixture(t *testing.T, pids ...int) *Diagnosis {
	t.Helper()
	root := fixture(t)
	// NVIDIA's would be the real one.
	sources := scan.OpenSources(context.Background(),
		scan.SourceOptions{Root: root, Only: []string{scan.DRM, scan.KFD}})
	t.Cleanup(func() { sources.Close() })
	s, err := scan.Read(context.Background(), scan.Options{Root: root, PIDs: pids, Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	s.At, s.Elapsed = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), 1234*time.Microsecond
	return &Diagnosis{
		Host: "machine", Scan: s, Chosen: len(pids) > 0, Runtime: []string{"gpumem", "tl", "tensorlogic"},
		Absent: []scan.Absence{{Source: scan.NVML,
			Err: errors.New("nvml: load the library: no such file; try: install the driver")}},
	}
}

// narrow fails for lines that are too wide.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := plain.Cells(strings.TrimSuffix(line, "\n")); n > plain.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
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
	d := lookAtFixture(t)
	d.Sections, d.Wide = true, true
	text := strings.Replace(d.Text(false), runtime.GOARCH, "amd64", 1)
	narrow(t, text)
	if strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Error("a command line can write to the terminal")
	}
	golden(t, "diagnose.txt", text)
}

func TestDiagnoseShowsWhoeverRunsTheMachineItsGPUMemoryFirst(t *testing.T) {
	t.Parallel()
	text := strings.Replace(lookAtFixture(t).Text(false), runtime.GOARCH, "amd64", 1)
	narrow(t, text)
	for _, never := range []string{"VSCode", "Metal", "MTL", "BUILD", "1. ", "of the runtime"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is nothing for an operator:\n%s", never, text)
		}
	}
	golden(t, "operator.txt", text)
	d := lookAtFixture(t)
	d.Wide = true
	if wide := d.Text(false); !strings.Contains(wide, "BUILD") || strings.Contains(wide, "--wide") {
		t.Errorf("the wide form has no builds, or asks for itself:\n%s", wide)
	}
}

func TestDiagnoseOfOneProcessSaysWhatItIs(t *testing.T) {
	t.Parallel()
	d := lookAtFixture(t, 101)
	for i := range d.Scan.Processes {
		d.Scan.Processes[i].Executable = "/opt/new/trainer"
	}
	text := strings.Replace(d.Text(false), runtime.GOARCH, "amd64", 1)
	narrow(t, text)
	golden(t, "diagnose_pid.txt", text)
}

func TestDiagnoseAsJSONLeavesUnknownOut(t *testing.T) {
	t.Parallel()
	d := lookAtFixture(t)
	var b strings.Builder
	if err := d.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Document
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Processes) != 7 || got.Zombies != 1 || got.Processes[0].PID != 101 ||
		*got.Processes[0].GPU != 4295032832 {
		t.Errorf("got %+v", got)
	}
	if z := got.Processes[6]; z.State != scan.Zombie || z.Footprint != nil || z.RSS != nil {
		t.Errorf("the zombie's memory is not known: %+v", z)
	}
	if d := got.Devices[0]; *d.Used != 6442450944 || *d.Held != 4429185024 || *d.Other != 1073741824 ||
		*d.Uncharged != 939524096 || d.Reserved != nil {
		t.Errorf("device: used %d = held %d + other %d + not charged %d?", *d.Used, *d.Held, *d.Other,
			*d.Uncharged)
	}
	if len(got.Elsewhere) != 1 || got.Elsewhere[0].Why != "gone" || got.Elsewhere[0].PID != 4242 {
		t.Errorf("elsewhere %+v", got.Elsewhere)
	}
}

func TestAShortNameThatTheSystemCutMatchesTheWholeOne(t *testing.T) {
	t.Parallel()
	long := scan.Process{Name: "a-very-long-nam", State: scan.Zombie}
	if !named(&long, "a-very-long-name-indeed") || named(&long, "another") {
		t.Error("it does not, or another one does")
	}
}
