package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// commandsWithOutput are command lines with $O where -o goes. d is a run folder.
func commandsWithOutput(t *testing.T) map[string]string {
	t.Helper()
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	return map[string]string{
		"report": "$G report $O d --format json", "export": "$G export $O d --to perfetto",
		"diff":     "$G diff $O d d --format json",
		"diagnose": fmt.Sprintf("$G diagnose $O %d", sleeper.Process.Pid),
		"import":   "$G import $O rmm.csv --out imported",
		"run":      "$G run $O -q --out ran --format json -- true",
		"attach": fmt.Sprintf("$G attach $O %d -q --for 300ms --out joined --format json",
			sleeper.Process.Pid),
		"selftest": "$G selftest $O --device soft --size 16MiB --json",
	}
}

// outputTo puts a command with its -o into each $C(-o …) of a script.
func outputTo(command, script string) string {
	return regexp.MustCompile(`\$C\((.*?)\)`).ReplaceAllStringFunc(script, func(use string) string {
		return strings.Replace(command, "$O", use[len("$C("):len(use)-1], 1)
	})
}

// withRun makes a folder with a run folder d in it.
func withRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"d/samples.csv": "t_ms,rss_bytes,step\n" + strings.Repeat("0,1000000,1\n", 20),
		"rmm.csv":       "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,allocate,0x1,1024,0x0\n1,10:00:00.000002,free,0x1,1024,0x0\n",
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADeviceOrAPipeIsWrittenIntoByEveryCommandAndNeverReplaced(t *testing.T) {
	t.Parallel()
	device := unix.Mknod(filepath.Join(t.TempDir(), "nul"), syscall.S_IFCHR|0o666,
		int(unix.Mkdev(1, 3))) == nil
	for name, command := range commandsWithOutput(t) {
		for target, make := range map[string]string{
			"a device":           "mknod -m 666 out c 1 3; $C(-o out)",
			"a forced device":    "mknod -m 666 out c 1 3; $C(--force -o out)",
			"a link to a device": "mknod -m 666 nul c 1 3; ln -s nul out; $C(-o out)",
			"a pipe": "mkfifo out; timeout 60 cat out > got & $C(-o out); code=$?; [ $code " +
				"= 0 ] || exit $code; wait",
			"stdout":                 "echo before > got; $C(-o /dev/stdout) >> got",
			"a descriptor":           "$C(-o /dev/fd/7) 7> got",
			"a link to a descriptor": "ln -s /dev/fd/7 out; $C(--force -o out) 7> got",
		} {
			if !device && strings.Contains(make, "mknod") {
				continue // only root makes devices
			}
			t.Run(name+" to "+target, func(t *testing.T) {
				t.Parallel()
				dir := withRun(t)
				got := shell(t, dir, outputTo(command, make))
				if got.code != 0 {
					t.Fatalf("code %d: %s", got.code, got.stderr)
				}
				if info, err := os.Lstat(filepath.Join(dir, "out")); err == nil && info.Mode().IsRegular() {
					t.Errorf("it was replaced by a file of mode %v", info.Mode())
				}
				text, err := os.ReadFile(filepath.Join(dir, "got"))
				if strings.Contains(make, "> got") && (err != nil || len(text) < 40) {
					t.Errorf("%q came, %v", text, err)
				}
				if strings.Contains(make, ">> got") && !strings.HasPrefix(string(text), "before\n") {
					t.Errorf("what was there is gone: %q", text)
				}
			})
		}
	}
}

func TestAFileIsReplacedWhenForcedAndStaysWhatItWas(t *testing.T) {
	t.Parallel()
	for name, command := range commandsWithOutput(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := withRun(t)
			got := shell(t, dir, "umask 022; echo old > file; chmod 640 file; ln -s file link; "+
				outputTo(command, "$C(-o link)"))
			if text, _ := os.ReadFile(filepath.Join(dir, "file")); got.code != 1 || string(text) != "old\n" ||
				!strings.Contains(got.stderr, "link exists; overwrite it with --force") {
				t.Errorf("code %d, %q: %s", got.code, text, got.stderr)
			}
			got = shell(t, dir, outputTo(command, "$C(--force -o link) && umask 027 && $C(--force -o new)"))
			link, err := os.Readlink(filepath.Join(dir, "link"))
			if got.code != 0 || link != "file" {
				t.Errorf("code %d, the link leads to %q, %v: %s", got.code, link, err, got.stderr)
			}
			for file, mode := range map[string]fs.FileMode{"file": 0o640, "new": 0o640} {
				info, err := os.Stat(filepath.Join(dir, file))
				if err != nil || info.Mode() != mode || info.Size() < 40 {
					t.Errorf("%s: %v, %v", file, info, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".gpumem-*")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}

func TestAFolderAsOutputIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for name, command := range commandsWithOutput(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := withRun(t)
			for _, flags := range []string{"", " --force"} {
				got := shell(t, dir, "mkdir -p folder; "+outputTo(command, "$C("+flags+" -o folder)"))
				if got.code != 1 || !strings.HasSuffix(got.stderr,
					"folder is a folder; name a file for the output\n") {
					t.Errorf("code %d: %s", got.code, got.stderr)
				}
			}
		})
	}
}

func TestALinkWithoutAnEndLeadsToTheNewFile(t *testing.T) {
	t.Parallel()
	dir := withRun(t)
	got := shell(t, dir, "mkdir sub; ln -s sub/new link; $G report d -o link")
	if got.code != 0 || !exists(filepath.Join(dir, "sub", "new")) {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	if to, err := os.Readlink(filepath.Join(dir, "link")); err != nil || to != "sub/new" {
		t.Errorf("the link is %q, %v", to, err)
	}
}

// TestAFileThatIsMountedOnItsOwnIsWrittenInItsPlace is what a container does
// with one file of its host: it cannot be renamed over.
func TestAFileThatIsMountedOnItsOwnIsWrittenInItsPlace(t *testing.T) {
	t.Parallel()
	dir := withRun(t)
	host, inside := filepath.Join(dir, "host"), filepath.Join(dir, "inside")
	for _, path := range []string{host, inside} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount(host, inside, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("no file can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(inside, unix.MNT_DETACH) })
	got := shell(t, dir, "$G report d --force -o inside")
	if text, err := os.ReadFile(host); got.code != 0 || err != nil || len(text) < 40 {
		t.Errorf("code %d, %q, %v: %s", got.code, text, err, got.stderr)
	}
}

func TestTheOwnerOfAReplacedFileStays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can write over a file and give it back")
	}
	dir := withRun(t)
	got := shell(t, dir,
		"echo old > file; chown 12345:23456 file; $G report d --force -o file; stat -c %u:%g file")
	if got.code != 0 || got.stdout != "12345:23456\n" {
		t.Errorf("code %d, %s %s", got.code, got.stdout, got.stderr)
	}
}
