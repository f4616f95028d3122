package capture

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestSiblingStubsThatLookForTheNextLibraryFindIt(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModeNone, ModePreload, ModeAudit} {
		run(t, launch{mode: mode, args: []string{tools.path("sibling")}})
	}
}

func TestTheLookupIsPassedOnByAJump(t *testing.T) {
	t.Parallel()
	if len(library) == 0 {
		t.Skip("no interposer is built for this processor")
	}
	path := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(path, library, 0o600); err != nil {
		t.Fatal(err)
	}
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("no objdump here; TestSiblingStubs… sees the effect")
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]bool{}
	for _, s := range symbols {
		if s.Name != "dlsym" || s.Section == elf.SHN_UNDEF {
			continue
		}
		versions[s.Version] = true
		out, err := exec.Command(objdump, "-d", fmt.Sprintf("--start-address=%d", s.Value),
			fmt.Sprintf("--stop-address=%d", s.Value+s.Size), path).Output()
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine == elf.EM_X86_64 && !strings.Contains(string(out), "jmp    *") {
			t.Error("dlsym does not end in an indirect jump: RTLD_NEXT would mean the library after ours")
		}
	}
	if len(versions) != 2 {
		t.Errorf("dlsym is exported at the versions %v, want two", versions)
	}
}

func TestInterposersStackInBothOrders(t *testing.T) {
	t.Parallel()
	tools := build(t)
	other := tools.path("other.so")
	for _, how := range []string{"plt", "dlsym"} {
		// Ours first: Prepare keeps the user's list behind.
		e := run(t, launch{env: []string{"LD_PRELOAD=" + other}, args: []string{tools.app(how), "basic"}})
		wantCells(t, e, basicCells)
		if !strings.Contains(e.stderr, "other saw 3") {
			t.Errorf("%s: the other interposer saw not its three calls: %q", how, e.stderr)
		}
		if w := e.reader.Warnings(e.pid); len(w) != 1 || !strings.Contains(w[0], "interposes dlsym") {
			t.Errorf("%s: warnings %q, want one about the other interposer", how, w)
		}
	}
	// The other first.
	for _, how := range []string{"plt", "dlsym"} {
		l := launch{args: []string{tools.app(how), "basic"}}
		cmd := start(t, &l)
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+other+":"+lookup(cmd.Env, "LD_PRELOAD"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "other saw 3") {
			t.Errorf("%s: %v, %s", how, err, out)
		}
		wantCells(t, ended{pid: cmd.Process.Pid, reader: follow(t, l.dir)}, basicCells)
	}
}

func TestAProfilerThatTheDriverTakesInWorksAsWithoutUs(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModeNone, ModePreload, ModeAudit} {
		e := run(t, launch{
			mode: mode, env: []string{"CUDA_INJECTION64_PATH=" + tools.path("profiler.so")},
			args: []string{tools.app("dlsym"), "basic"},
		})
		if e.stderr != "profiler subscribed: 0\n" {
			t.Errorf("%s: the profiler says %q, want that it is CUPTI's one subscriber", mode, e.stderr)
		}
		if mode != ModeNone {
			wantCells(t, e, basicCells)
		}
	}
}

func TestTwoCopiesOfOursCountOnce(t *testing.T) {
	t.Parallel()
	tools := build(t)
	second := filepath.Join(t.TempDir(), "second.so")
	if err := os.WriteFile(second, library, 0o700); err != nil {
		t.Fatal(err)
	}
	e := run(t, launch{env: []string{"LD_PRELOAD=" + second}, args: []string{tools.app("dlsym"), "basic"}})
	wantCells(t, e, basicCells)
}

func TestAProgramOfTheSanitizerRuns(t *testing.T) {
	t.Parallel()
	tools := build(t)
	app := filepath.Join(t.TempDir(), "app_asan")
	cmd := exec.Command("cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address", "-DVIA_PLT",
		"testdata/app.c",
		tools.path("libcuda.so.1"), "-Wl,-rpath,"+string(tools), "-pthread", "-o", app)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the C compiler has no address sanitizer: %s", lastOf(string(out)))
	}
	e := run(t, launch{env: []string{"ASAN_OPTIONS=detect_leaks=0"}, args: []string{app, "basic"}})
	wantCells(t, e, basicCells)
}

func TestAThousandForksRunAndLeaveNothing(t *testing.T) {
	t.Parallel()
	tools := build(t)
	e := run(t, launch{args: []string{tools.app("plt"), "fork", "1000"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096 + 8192, record.ColCaptureLost: 0})
	if pids := e.reader.PIDs(); len(pids) != 1 {
		t.Errorf("%d processes have rings, want only the one that called the driver", len(pids))
	}
}

func TestForkedChildrenHaveRingsOfTheirOwn(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		e := run(t, launch{mode: mode, env: []string{EnvSlots + "=64"},
			args: []string{tools.app("plt"), "forkuse", "20"}})
		wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096 + 8192, record.ColDriverAllocs: 2})
		children := 0
		for _, pid := range e.reader.PIDs() {
			if pid != e.pid && cells(e.reader, pid)[record.ColDriverAllocBytes] == 1000 {
				children++
			}
		}
		if children != 20 {
			t.Errorf("%s: %d children were captured, want 20", mode, children)
		}
	}
}

func TestExecStartsAnew(t *testing.T) {
	t.Parallel()
	tools := build(t)
	limit := []string{"STUB_LIMIT=" + strconv.Itoa(4<<20)}
	e := run(t, launch{env: limit, args: []string{tools.app("plt"), "exec"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 3 << 20, record.ColDriverAllocs: 1,
		record.ColDriverFailed: 1})
}

func TestARefusedAllocationIsKeptWithItsSize(t *testing.T) {
	t.Parallel()
	tools := build(t)
	e := run(t, launch{env: []string{"STUB_LIMIT=" + strconv.Itoa(4<<20)},
		args: []string{tools.app("chain"), "fail"}})
	got := e.reader.Failures(e.pid)
	if len(got) != 1 {
		t.Fatalf("%d refused allocations, want one", len(got))
	}
	f := got[0]
	if f.Bytes != 2<<20 || f.Code != 2 || f.LiveBytes != 3<<20 || f.Kind != "device memory" ||
		f.Device != 0 || f.Time <= 0 || f.FreeBytes != 1<<20 {
		t.Errorf("the refused allocation is %+v", f)
	}
	if len(f.Held) != 1 || f.Held[0].Bytes != 3<<20 || !strings.Contains(f.Held[0].Site, "testdata/app.c:") {
		t.Errorf("held then: %+v", f.Held)
	}
	if !strings.Contains(f.Site, "testdata/app.c:") {
		t.Errorf("its site is %q, want one with its line", f.Site)
	}
}

func TestAFreeThatTheDriverRefusedFreesNothing(t *testing.T) {
	t.Parallel()
	tools := build(t)
	e := run(t, launch{args: []string{tools.app("plt"), "badfree"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096, record.ColDriverFrees: 0})
}

func TestDestroyingAContextFreesWhatBelongsToIt(t *testing.T) {
	t.Parallel()
	tools := build(t)
	e := run(t, launch{args: []string{tools.app("plt"), "context"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096, record.ColDriverAllocBytes +
		"@0": 4096, record.ColDriverAllocBytes + "@1": 0, record.ColEvents: 0, record.ColContexts: 1})
}

func TestTheProgramSeesItsOwnErrnoAndAnyFramePointer(t *testing.T) {
	t.Parallel()
	tools := build(t)
	run(t, launch{args: []string{tools.app("plt"), "errno"}})
	e := run(t, launch{args: []string{tools.app("plt"), "badframes"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 700})
}

func TestThreadsLoseNothing(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		e := run(t, launch{mode: mode, args: []string{tools.app("plt"), "threads", "1000"}})
		wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 0, record.ColDriverAllocs: 4000,
			record.ColDriverFrees: 4000, record.ColCaptureLost: 0})
	}
}

func TestClosedDescriptorsAreNoConcern(t *testing.T) {
	t.Parallel()
	tools := build(t)
	e := run(t, launch{args: []string{tools.app("plt"), "closefds"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096, record.ColCaptureLost: 0})
}

func TestDroppedPrivilegesAndRootDirectoriesAreCountedWhereTheyHurt(t *testing.T) {
	t.Parallel()
	tools := build(t)
	if os.Getuid() != 0 {
		t.Skip("only root can drop privileges and change the root directory")
	}
	e := run(t, launch{args: []string{tools.app("plt"), "lower"}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096 + 8192, record.ColCaptureLost: 1})
	if w := e.reader.Warnings(e.pid); len(w) != 1 || !strings.Contains(w[0], "1 events of forked children") {
		t.Errorf("warnings %q, want one about the child that could not reach the directory", w)
	}
	e = run(t, launch{args: []string{tools.app("plt"), "jail", t.TempDir()}})
	wantCells(t, e, map[string]int64{record.ColDriverAllocBytes: 4096, record.ColCaptureLost: 0})
}

func TestASetuidProgramIsExplained(t *testing.T) {
	t.Parallel()
	tools := build(t)
	if os.Getuid() != 0 {
		t.Skip("only root can make a program of another user's")
	}
	content, err := os.ReadFile(tools.app("dlsym"))
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(t.TempDir(), "raised")
	if err := standin.WriteProgram(app, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(app, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(app, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	e := run(t, launch{args: []string{app, "nothing"}})
	if why := e.reader.Why(e.pid, app); !strings.Contains(why, "setuid") {
		t.Errorf("the reason given is %q", why)
	}
}

func TestARingOutlivesAKillAtAnyMoment(t *testing.T) {
	t.Parallel()
	tools := build(t)
	const slots = 1 << 17
	for range 10 {
		l := launch{env: []string{EnvSlots + "=" + strconv.Itoa(slots)},
			args: []string{tools.app("plt"), "forever"}}
		cmd := start(t, &l)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(10000)) * time.Microsecond) // any moment
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // it was killed
		p := follow(t, l.dir).procs[cmd.Process.Pid]
		head := p.ring.head.head
		if p.ledger.events+p.lost != head {
			t.Errorf("%d events were begun, but %d read and %d lost", head, p.ledger.events, p.lost)
		}
		// Each of the four threads may have begun one that it never completed,
		// and holds at most one block.
		// In a ring that went round, a thread that was kept from its work for a
		// whole turn may besides have written its old event over a newer one.
		overwritten, incomplete := head-min(head, slots), uint64(4)
		if overwritten > 0 {
			incomplete *= 2
		}
		if p.lost > overwritten+incomplete {
			t.Errorf("%d events were lost, %d of them overwritten: at most %d may be incomplete", p.lost,
				overwritten, incomplete)
		}
		if live := p.ledger.count[classDevice]; overwritten == 0 && (live < 0 || live > 4+int64(p.lost)) {
			t.Errorf("%d blocks live, want at most one a thread", live)
		}
	}
}

func TestAnOverflownRingCountsWhatItLost(t *testing.T) {
	t.Parallel()
	tools := build(t)
	e := run(t, launch{env: []string{EnvSlots + "=64"}, args: []string{tools.app("plt"), "leak", "500"}})
	got := cells(e.reader, e.pid)
	if got[record.ColCaptureLost] != 1002-64 || got[record.ColDriverAllocs] != 32 {
		t.Errorf("lost %d, allocations seen %d; want 938 and 32", got[record.ColCaptureLost],
			got[record.ColDriverAllocs])
	}
	if got[record.ColEvents] != 500 {
		t.Errorf("%d events by the counts, want all 500", got[record.ColEvents])
	}
	if w := e.reader.Warnings(e.pid); len(w) != 1 || !strings.Contains(w[0], "938 events were lost") {
		t.Errorf("warnings %q", w)
	}
}

func TestSitesNameTheCallerAndItsGrowth(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		l := launch{mode: mode, args: []string{tools.app("dlsym"), "interactive"}}
		cmd := start(t, &l)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		say := func(text string) {
			if _, err := io.WriteString(in, text); err != nil {
				t.Fatal(err)
			}
		}
		hear := func(n int) {
			if _, err := io.ReadFull(out, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		hear(len("ready\n"))
		say("1000\n")
		hear(len("done\n"))
		r := follow(t, l.dir)
		say("500\n")
		hear(len("done\n"))
		if err := r.Final(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		say("700\n") // while it ends
		hear(len("done\n"))
		in.Close()
		if err := errors.Join(cmd.Wait(), r.Poll()); err != nil {
			t.Fatal(err)
		}
		sites := r.Sites(cmd.Process.Pid)
		s, ok := siteWith(sites, "leak_here")
		if !ok || s.Bytes != 1500 || s.Count != 2 || !strings.HasPrefix(s.Site, "testdata/app.c:") {
			t.Errorf("%s: sites %+v, want leak_here with the 1500 bytes from before the end", mode, sites)
		}
		if s, ok := siteWith(sites, " test::Pool::leak_event_here [event]"); !ok || s.Count != 2 ||
			s.Bytes != 0 {
			t.Errorf("%s: sites %+v, want leak_event_here, a method of C++, with two events", mode, sites)
		}
		libraries := r.Libraries(cmd.Process.Pid)
		found := false
		for _, l := range libraries {
			found = found || l.Path == tools.app("dlsym") && len(l.BuildID) == 40
		}
		if !found {
			t.Errorf("%s: libraries %+v, want the program with its build id", mode, libraries)
		}
	}
}

// TestSitesOfCodeWithoutFramePointersAreThoseOfTheProgram has programs as nvcc makes
// them: neither they nor the CUDA runtime keep frame pointers, and the runtime is a
// library or, by default, part of the program.
func TestSitesOfCodeWithoutFramePointersAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, name := range []string{"frames_shared", "frames_static"} {
		l := launch{args: []string{tools.path(name)}}
		cmd := start(t, &l)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("done\n"))); err != nil {
			t.Fatal(err)
		}
		const took = (64 + 20) << 20
		r := follow(t, l.dir)
		wantCells(t, ended{pid: cmd.Process.Pid, dir: l.dir, reader: r}, map[string]int64{
			record.ColDriverAllocBytes: took, record.ColDriverProgramBytes: took, record.ColDriverProgramCount: 21,
		})
		sites := r.Sites(cmd.Process.Pid)
		if s, ok := siteWith(sites, " take_a_block"); !ok || s.Bytes != took || s.Count != 21 || len(sites) != 1 {
			t.Errorf("%s: sites %+v, want take_a_block with all", name, sites)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
