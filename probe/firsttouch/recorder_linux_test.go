package firsttouch

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// program is the growing program of testdata, running.
type program struct {
	pid   int
	stdin io.WriteCloser
}

// compile builds the program and a library of the given name.
func compile(tb testing.TB, library string, flags ...string) (main, lib string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("the quick lane leaves this to the whole")
	}
	dir := tb.TempDir()
	main, lib = filepath.Join(dir, "grow"), filepath.Join(dir, library+".so.1.2")
	for _, args := range [][]string{
		append([]string{"-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o",
			lib, "testdata/lib.c"}, flags...),
		{"-O2", "-pthread", "-o", main, "testdata/main.c", "-ldl"},
	} {
		if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			tb.Fatalf("build the growing program (needs a C compiler): %v\n%s", err, out)
		}
	}
	return main, lib
}

// launch starts the program and waits until it is ready to grow.
func launch(tb testing.TB, main string, args ...string) *program {
	tb.Helper()
	cmd := exec.Command(main, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		tb.Fatalf("the program says %q, %v", line, err)
	}
	return &program{cmd.Process.Pid, in}
}

func (p *program) grow(tb testing.TB) {
	tb.Helper()
	if _, err := p.stdin.Write([]byte("go\n")); err != nil {
		tb.Fatal(err)
	}
}

// record watches a program from before its growth until the recording holds
// enough: for twice as long as the last time where a busy machine gave too few
// samples. ok is false on a machine that forbids it: then the refusal must say
// what is missing, which is all that can be claimed there.
func record(t *testing.T, o Options, p *program, d time.Duration) (report Report, ok bool) {
	t.Helper()
	for most := 32 * d; d <= most && report.Samples < 2*enough; d *= 2 {
		r, err := Start(p.pid, o)
		if err != nil {
			checkRefusal(t, err)
			return Report{}, false
		}
		p.grow(t)
		select {
		case <-r.Done():
		case <-time.After(d):
		}
		report = r.Stop()
		t.Logf("%+v", report)
	}
	return report, true
}

// checkRefusal checks a refusal's text against what this machine allows.
func checkRefusal(t *testing.T, err error) {
	t.Helper()
	t.Logf("refused here: %v", err)
	var e *Error
	if !errors.As(err, &e) || e.Hint == "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("a refusal must say in one line what to do: %v", err)
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, ErrUnsupported) {
		t.Errorf("neither permission nor support is missing: %v", err)
	}
	if r := readRights(); errors.Is(err, fs.ErrPermission) && r.paranoidKnown && r.paranoid <= 2 &&
		!r.perfmon &&
		!strings.Contains(err.Error(), "another user") {
		t.Errorf("paranoid is %d, yet it says %v", r.paranoid, err)
	}
}

func TestTheLibraryThatWantedThePageIsNamed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, function string
		flags          []string
		how            Method // of most samples
	}{
		{"its own code touches", "grow_direct", nil, ByLeaf},
		{"memset touches for it", "grow_memset", nil, ByCaller},
		{"memset touches for it, frame pointers kept", "grow_memset",
			[]string{"-fno-omit-frame-pointer"}, ByCaller},
		{"malloc touches for it", "grow_small", nil, ByScan},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			main, lib := compile(t, "libgrower", c.flags...)
			report, ok := record(t, Options{}, launch(t, main, lib, c.function), time.Second)
			if !ok {
				return
			}
			if len(report.Owners) == 0 || report.Owners[0].Library != "libgrower" ||
				report.Owners[0].Share < 0.9 {
				t.Fatalf("owners: %+v", report.Owners)
			}
			o := report.Owners[0]
			if o.Path != lib || o.FileShare > 0.1 || o.Samples < 20 {
				t.Errorf("owner: %+v", o)
			}
			if runtime.GOARCH == "amd64" && o.ByMethod[c.how] < o.Samples/2 {
				t.Errorf("most should be found by %v: %v", c.how, o.ByMethod)
			}
			if report.Churn.Judgement != Growth {
				t.Errorf("what stays is growth: %+v", report.Churn)
			}
			if share := shareIn(t, lib, c.function, report.Places); share < .5 {
				t.Errorf("%s has %.2f of the places: %+v", c.function, share, report.Places)
			}
		})
	}
}

// shareIn is the share of the places that lie in a function of a library.
func shareIn(t *testing.T, lib, function string, places []Place) (share float64) {
	t.Helper()
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == function })
	for _, program := range f.Progs {
		if program.Type != elf.PT_LOAD || program.Flags&elf.PF_X == 0 {
			continue
		}
		for _, p := range places {
			address := p.Chain[0].Offset - program.Off + program.Vaddr
			if p.Chain[0].Path == lib && address >= symbols[at].Value &&
				address < symbols[at].Value+symbols[at].Size {
				share += p.Share
			}
		}
	}
	return share
}

func TestThreadsThatStartLaterAreFollowed(t *testing.T) {
	t.Parallel()
	main, lib := compile(t, "liblate")
	report, ok := record(t, Options{Interval: 5 * time.Millisecond},
		launch(t, main, lib, "grow_memset", "threads"), time.Second)
	if !ok {
		return
	}
	// At the start there is the main thread, in a second recording the two that it
	// waits for as well.
	if old := report.Threads - report.NewThreads; report.NewThreads < 4 || old < 1 || old > 3 ||
		report.Unfollowed != 0 {
		t.Errorf("threads: %d, of them new %d", report.Threads, report.NewThreads)
	}
	if len(report.Owners) == 0 || report.Owners[0].Library != "liblate" || report.Owners[0].Share < 0.9 {
		t.Errorf("owners: %+v", report.Owners)
	}
}

func TestMemoryThatIsGivenBackIsChurn(t *testing.T) {
	t.Parallel()
	main, lib := compile(t, "libchurner")
	report, ok := record(t, Options{}, launch(t, main, lib, "churn"), time.Second)
	if !ok {
		return
	}
	if report.Churn.Judgement != Churn || report.Churn.TouchedBytes < 10*report.Churn.GrowthBytes {
		t.Errorf("got %+v", report.Churn)
	}
	if len(report.Owners) == 0 || report.Owners[0].Library != "libchurner" {
		t.Errorf("churn has an owner too: %+v", report.Owners)
	}
}

func TestSkippedLibrariesAreSteppedOver(t *testing.T) {
	t.Parallel()
	main, lib := compile(t, "libmyalloc")
	report, ok := record(t, Options{Skip: []string{"libmyalloc"}}, launch(t, main, lib, "grow_direct"),
		time.Second)
	if !ok {
		return
	}
	if len(report.Owners) == 0 || report.Owners[0].Library != "grow" {
		t.Errorf("the program called it: %+v", report.Owners)
	}
}

func TestAFullRingCountsWhatItLost(t *testing.T) {
	t.Parallel()
	main, lib := compile(t, "libflood")
	report, ok := record(t, Options{Period: 1, RingPages: 1, Interval: 200 * time.Millisecond},
		launch(t, main, lib, "grow_direct"), time.Second)
	if !ok {
		return
	}
	if report.Lost == 0 || report.Faults < report.Samples+report.Lost/2 || len(report.Warnings) == 0 {
		t.Errorf("%d lost, %d samples, %d faults, %q", report.Lost, report.Samples, report.Faults,
			report.Warnings)
	}
}

func TestAProcessThatEndsLeavesItsReport(t *testing.T) {
	t.Parallel()
	main, lib := compile(t, "libbrief")
	p := launch(t, main, lib, "grow_direct")
	r, err := Start(p.pid, Options{Period: 11}) // all the time: it may end between two windows
	if err != nil {
		checkRefusal(t, err)
		return
	}
	p.grow(t)
	time.AfterFunc(300*time.Millisecond, func() { _ = p.stdin.Close() })
	select {
	case <-r.Done():
	case <-time.After(20 * time.Second):
		t.Error("the end was not noticed")
	}
	report := r.Stop()
	if !report.Ended || report.Samples == 0 || report.Owners[0].Library != "libbrief" {
		t.Errorf("got %+v", report)
	}
	if again := r.Stop(); again.Samples != report.Samples {
		t.Error("the second Stop says something else")
	}
}

func TestWhatIsNoProcessIsRefused(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{-1, 0, 1 << 30} {
		if _, err := Start(pid, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("PID %d: %v", pid, err)
		}
	}
	tids, err := threadsOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		if tid != os.Getpid() {
			_, err := Start(tid, Options{})
			if err == nil || !strings.Contains(err.Error(),
				fmt.Sprintf("thread, not a process; try: process %d", os.Getpid())) {
				t.Errorf("thread %d: %v", tid, err)
			}
			return
		}
	}
	t.Error("a Go program has several threads")
}

func TestAnotherUsersProcessIsWatchedByRootOnly(t *testing.T) {
	t.Parallel()
	// PID 1 is root's. Whoever may not watch it must be told why.
	r, err := Start(1, Options{})
	if err != nil {
		checkRefusal(t, err)
		return
	}
	if rights := readRights(); !rights.perfmon && os.Getuid() != 0 {
		t.Errorf("watched root's process without a right to")
	}
	if report := r.Stop(); report.PID != 1 || report.Threads == 0 {
		t.Errorf("got %+v", report)
	}
}
