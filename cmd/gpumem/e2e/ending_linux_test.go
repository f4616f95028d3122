package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// shell runs a script in which $G is gpumem.
func shell(t *testing.T, dir, script string) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "G="+binary)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func TestTheProgramsExitCodeSurvivesWhateverCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   int
		says   string
	}{
		"the folder goes, the program ends well": {`$G run -q --out d -- sh -c 'sleep .2; rm -rf d; exit 0'`,
			0, "read the run back"},
		"the folder goes, the program fails": {`$G run -q --out d -- sh -c 'sleep .2; rm -rf d; exit 9'`,
			9, "read the run back"},
		"the folder goes, a verdict is asked for": {
			`$G run -q --out d --fail-on any -- sh -c 'sleep .2; rm -rf d; exit 0'`, 1, "no verdict to check",
		},
		"the folder goes, the program fails under --fail-on": {
			`$G run -q --out d --fail-on any -- sh -c 'sleep .2; rm -rf d; exit 9'`, 9, "read the run back",
		},
		"the output's folder goes": {
			`mkdir o; $G run -q --out d -o o/x -- sh -c 'rmdir o; exit 5'`,
			5, "write o/x: the folder o does not exist",
		},
		"a full stderr": {`$G run -q --out d -- sh -c 'exit 6' 2>/dev/full`, 6, ""},
		"a full output": {`$G run -q --out d -o /dev/full -- sh -c 'exit 6'`,
			6, "write /dev/full: no space left"},
		"a stderr nobody reads": {`$G run -q --out d -- sh -c 'exit 6' 2>&1 | true; exit ${PIPESTATUS[0]}`,
			6, ""},
		"no stderr":                {`$G run -q --out d -- sh -c 'exit 6' 2>&-`, 6, ""},
		"a signal, a full stderr":  {`$G run -q --out d -- sh -c 'kill -9 $$' 2>/dev/full`, 137, ""},
		"a format without content": {`$G run -q --out d --format pprof -- sh -c 'exit 4'`, 4, "site"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shell(t, t.TempDir(), c.script)
			if got.code != c.code || !strings.Contains(got.stderr, c.says) {
				t.Errorf("code %d, want %d, and %q in:\n%s", got.code, c.code, c.says, got.stderr)
			}
		})
	}
}

func TestAFullDiskKeepsTheProgramsExitCodeAndWhatWasRecorded(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
	// However slowly rows come, the program runs until the disk has been full for a while.
	const program = `until [ "$(stat -fc %a .)" = 0 ]; do sleep .1; done; sleep 1; echo all; exit 7`
	got := shell(t, disk, `$G run -q --interval 1ms --out full -- sh -c '`+program+`'`)
	if got.code != 7 || got.stdout != "all\n" ||
		!strings.Contains(got.stderr, "rows are lost: write sample") {
		t.Errorf("code %d, %q\n%s", got.code, got.stdout, got.stderr)
	}
	samples, err := os.ReadFile(filepath.Join(disk, "full", "samples.csv"))
	if rows := strings.Count(string(samples), "\n"); err != nil || rows < 200 {
		t.Errorf("%d rows are left, %v", rows, err)
	}
}

func TestProgramsThatStartAtOnceInOneFolderAreAllRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 30 {
		wait.Go(func() {
			if got := gpumem(t, dir, "run", "-q", "--no-tui", "--", "sh", "-c", "exit 7"); got.code != 7 {
				t.Errorf("code %d: %s", got.code, got.stderr)
			}
		})
	}
	wait.Wait()
	reports, err := filepath.Glob(filepath.Join(dir, "gpumem-sh-*", "verdict.json"))
	if err != nil || len(reports) != 30 {
		t.Errorf("%d verdicts of 30 runs, %v", len(reports), err)
	}
}

func TestARunThatDoesNotTakePlaceLeavesNoFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := gpumem(t, dir, "run", "-q", "--no-tui", "--metrics", "256.0.0.1:1", "--", "true")
	if left, _ := os.ReadDir(dir); got.code == 0 || len(left) > 0 {
		t.Errorf("code %d, left %v: %s", got.code, left, got.stderr)
	}
}

func TestAnOutputThatCannotBeWrittenIsRefusedBeforeTheProgramRuns(t *testing.T) {
	t.Parallel()
	for output, says := range map[string]string{
		"-o missing/x":             "the folder missing does not exist",
		"-o file":                  "file exists; overwrite it with --force",
		"-o link":                  "link exists; overwrite it with --force",
		"-o .":                     ". is a folder",
		"-o d":                     "-o d is the run folder",
		"-o file/x":                "not a directory",
		"-o /dev/fd/77":            "the descriptor is not open for writing",
		"-o x --format none":       "none",
		"-o file --force --out no": "", // runs
		"-o d/answer":              "", // as soon as the run folder is there
		"-o -":                     "",
	} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got := shell(t, dir,
				fmt.Sprintf(`echo old > file; ln -s file link; $G run -q --out d %s -- touch ran`, output))
			if ran := exists(filepath.Join(dir, "ran")); ran != (says == "") ||
				!strings.Contains(got.stderr, says) || (got.code == 0) != ran {
				t.Errorf("ran %v, code %d, want %q in: %s", ran, got.code, says, got.stderr)
			}
			if lines := strings.Count(got.stderr, "\n"); says != "" && lines != 1 {
				t.Errorf("%d lines: %s", lines, got.stderr)
			}
		})
	}
}
