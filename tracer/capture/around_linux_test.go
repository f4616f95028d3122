package capture

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
)

// envTempDir makes this test's program the owner of a capture directory until
// it is killed.
const envTempDir = "CAPTURE_TEST_TEMP_DIR"

func TestAProgramUnderAFileSizeLimitRunsAndIsRecordedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	tools := build(t)
	under := func(blocks string) ended {
		script := "ulimit -f " + blocks + `; exec "$@"`
		return run(t, launch{args: []string{"/bin/sh", "-c", script, "sh", tools.app("plt"), "basic"}})
	}
	e := under("100") // of 512 bytes: room for 256 events
	wantCells(t, e, basicCells)
	if n := e.reader.procs[e.pid].ring.head.capacity; n != 256 {
		t.Errorf("the ring has %d slots, want 256", n)
	}
	e = under("0")
	if got := e.reader.Cells(e.pid); got != nil {
		t.Errorf("cells of a program that may write no file: %v", got)
	}
}

func TestAProgramRunsWhereTheRingsHaveNoRoom(t *testing.T) {
	t.Parallel()
	tools := build(t)
	needsRoot(t, "mount a small file system")
	for _, size := range []string{"4k", "8k", "64k", "1m"} {
		e := run(t, launch{args: []string{
			"unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=" + size +
				` none "$GPUMEM_CAPTURE_DIR" && exec "$@"`,
			"sh", tools.app("plt"), "threads", "100",
		}})
		if e.stderr != "" {
			t.Errorf("%s: stderr %q", size, e.stderr)
		}
	}
}

func TestAProgramRunsUnderLimitsOfMemoryAndFiles(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, limit := range []string{"ulimit -l 0", "ulimit -n 4", "ulimit -v 40000"} {
		for _, app := range []string{"/bin/true", tools.app("plt")} {
			e := run(t, launch{args: []string{"/bin/sh", "-c", limit + `; exec "$@"`, "sh", app, "basic"}})
			if e.stderr != "" {
				t.Errorf("%s: stderr %q", limit, e.stderr)
			}
		}
	}
}

func TestAProgramThatNeverComesNearTheDriverHasNoRing(t *testing.T) {
	t.Parallel()
	build(t)
	e := run(t, launch{args: []string{"/bin/sh", "-c", "/bin/true; ls -d / /; /bin/true"}})
	if pids := e.reader.PIDs(); !slices.Equal(pids, []int{e.pid}) {
		t.Errorf("processes %v have rings, want only the first of all, %d", pids, e.pid)
	}
}

func needsRoot(t *testing.T, to string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can " + to)
	}
}

// compiled is a program made by another compiler.
func compiled(t *testing.T, text string, compiler ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "hello.c")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "hello")
	if said, err := exec.Command(compiler[0],
		append(compiler[1:], "-o", out, source)...).CombinedOutput(); err != nil {
		t.Skipf("%v makes no program here: %v: %s", compiler, err, lastOf(string(said)))
	}
	return out
}

// hello prints hello and ends with 3.
const hello = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 3; }\n"

// hello32 does so without a C library, which is not there for each class.
const hello32 = `void _start(void)
{
	int rc;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(4), "b"(1), "c"("hello\n"), "d"(6) : "memory");
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(1), "b"(3));
}
`

// runsTheSame runs a command bare and under capture, and wants no difference.
func runsTheSame(t *testing.T, command ...string) {
	t.Helper()
	build(t)
	bare := exec.Command(command[0], command[1:]...)
	want, _ := bare.CombinedOutput() // its code is compared
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		l := launch{mode: mode, args: command}
		cmd := start(t, &l)
		got, _ := cmd.CombinedOutput()
		if !bytes.Equal(got, want) || cmd.ProcessState.ExitCode() != bare.ProcessState.ExitCode() {
			t.Errorf("%s: under capture %q, code %d; bare %q, code %d", mode,
				got, cmd.ProcessState.ExitCode(), want, bare.ProcessState.ExitCode())
		}
	}
}

func TestProgramsThatCannotLoadUsRunAsDescendants(t *testing.T) {
	t.Parallel()
	for name, compiler := range map[string][]string{"musl": {"musl-gcc"}, "static": {"cc", "-static"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runsTheSame(t, "/bin/sh", "-c", compiled(t, hello, compiler...)+"; echo $?")
		})
	}
}

func TestA32BitProgramRunsAsADescendant(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the processor has no 32-bit programs that a compiler here could make")
	}
	if _, err := os.Stat("/lib/ld-linux.so.2"); err != nil {
		t.Skipf("no 32-bit loader: %v", err)
	}
	program := compiled(t, hello32, "cc", "-m32", "-nostdlib", "-fpie", "-pie", "-O1")
	runsTheSame(t, "/bin/sh", "-c", program+"; echo $?")
}

// A loader of musl's that finds the library all the same takes it: nothing in
// it needs glibc.
func TestAMuslProgramThatIsGivenTheLibraryRuns(t *testing.T) {
	t.Parallel()
	build(t)
	program, lib := compiled(t, hello, "musl-gcc"), filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(lib, library, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"LD_PRELOAD=" + lib, EnvDir + "=" + t.TempDir()}
	if out, _ := cmd.CombinedOutput(); string(out) != "hello\n" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("it says %q and ends with %d", out, cmd.ProcessState.ExitCode())
	}
}

func TestNothingIsPrintedWhereTheLibraryOrTheRingsAreOutOfReach(t *testing.T) {
	t.Parallel()
	needsRoot(t, "be another user and make namespaces")
	mounted := func(script string) []string {
		return []string{"unshare", "-m", "sh", "-c", script + "; ls -d /; ls -d /usr"}
	}
	root := "r=" + t.TempDir() + `; mount -t tmpfs none $r; for d in usr lib lib64 bin; do
mkdir $r/$d; [ -d /$d ] && mount --bind /$d $r/$d; done; chroot $r sh -c "ls -d /; ls -d /usr"`
	const look = "ls -d /; ls -d /usr"
	for name, c := range map[string]struct {
		needs   string
		command []string
	}{
		"another user": {"setpriv", []string{
			"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", look,
		}},
		"another user's shell":  {"su", []string{"su", "-s", "/bin/sh", "nobody", "-c", look}},
		"its own shared memory": {"unshare", mounted("mount -t tmpfs none /dev/shm")},
		"its own /var/tmp":      {"unshare", mounted("mount -t tmpfs none /var/tmp")},
		"its own of all": {"unshare",
			mounted("for d in /var/tmp /tmp /dev/shm; do mount -t tmpfs none $d; done")},
		"another root": {"chroot", []string{"unshare", "-m", "sh", "-c", root}},
		"a sandbox": {"bwrap", []string{
			"bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib",
			"--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "sh", "-c", look,
		}},
		"a daemon": {"sh", []string{
			"sh", "-c", `rm -rf "${GPUMEM_CAPTURE_DIR:-/nowhere}"; ls -d /; sh -c "ls -d /"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("no %s here", c.needs)
			}
			runsTheSame(t, c.command...)
		})
	}
}

func TestEveryWayToStartAProgramLeavesUsOutWhereTheLibraryIsOutOfReach(t *testing.T) {
	t.Parallel()
	tools := build(t)
	needsRoot(t, "make a mount namespace")
	installed, err := install(libraryHomes())
	if err != nil {
		t.Fatal(err)
	}
	other := tools.path("other.so")
	const show = `echo "$1|$LD_PRELOAD|$LD_AUDIT|$GPUMEM_CAPTURE_DIR"`
	script := filepath.Join(t.TempDir(), "show")
	if err := standin.WriteProgram(script, []byte("#!/bin/sh\n"+show+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{
		"execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "vfork", "posix_spawn",
		"posix_spawnp",
	} {
		for _, mode := range []Mode{ModePreload, ModeAudit} {
			for _, hide := range []string{"", filepath.Dir(filepath.Dir(filepath.Dir(installed)))} {
				dir := t.TempDir()
				e := run(t, launch{
					mode: mode, dir: dir, env: []string{"LD_PRELOAD=" + other},
					args: []string{tools.path("exec"), way, hide, script, "one", "two"},
				})
				preload, audit := installed+":"+other, ""
				if mode == ModeAudit {
					audit = installed
				}
				if hide != "" {
					preload, audit = other, ""
				}
				if want := fmt.Sprintf("one|%s|%s|%s\n", preload, audit, dir); e.stdout != want {
					t.Errorf("%s, %s, hidden %q: the program has %q, want %q", way, mode,
						hide, e.stdout, want)
				}
			}
		}
	}
}

func TestTheDirectoryOfAKilledRunIsSweptByTheNext(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envTempDir+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	theirs := strings.TrimSpace(line)
	next := func() {
		dir, err := TempDir()
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	}
	next()
	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("the directory of a living run: %v", err)
	}
	cmd.Process.Kill() // the pipe tells if it was over before
	cmd.Wait()
	next()
	if _, err := os.Stat(theirs); err == nil {
		t.Errorf("%s is still there", theirs)
	}
}
