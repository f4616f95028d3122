//go:build linux || darwin || freebsd || netbsd || openbsd

package leftover

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// envOwn makes this program the owner of the folder it names, until it is killed.
const envOwn = "LEFTOVER_TEST_OWN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envOwn); dir != "" {
		if _, err := Claim(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("owned")
		io.Copy(io.Discard, os.Stdin) // until we are killed
		return
	}
	os.Exit(m.Run())
}

// owned starts a process that owns the folder; kill ends it.
func owned(t *testing.T, dir string) (kill func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deep", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envOwn+"="+dir)
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
	line := make([]byte, len("owned\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "owned\n" {
		t.Fatalf("the owner says %q, %v", line, err)
	}
	kill = func() {
		cmd.Process.Kill() // it may be dead already
		cmd.Wait()
		in.Close()
	}
	t.Cleanup(kill)
	return kill
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func wantSwept(t *testing.T, pattern string, want int) {
	t.Helper()
	if n, err := Sweep(pattern); n != want || err != nil {
		t.Errorf("swept %d folders, %v; want %d", n, err, want)
	}
}

func TestTheFolderOfAKilledProcessIsSweptAndThatOfALivingOneStays(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "[odd *?")
	living, killed := filepath.Join(base, "ours-living"), filepath.Join(base, "ours-killed")
	owned(t, living)
	owned(t, killed)()
	wantSwept(t, filepath.Join(base, "ours-*"), 1)
	if !exists(filepath.Join(living, "deep", "file")) || exists(killed) {
		t.Errorf("living there: %v, killed there: %v", exists(living), exists(killed))
	}
}

func TestAFolderThatThisProcessOwnsStaysUntilItIsReleased(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ours-1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	wantSwept(t, dir, 0)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	wantSwept(t, dir, 1)
	if err := (*Lock)(nil).Release(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatTheOwnerStartedDoesNotKeepTheFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ours-1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	// As the kernel does at the owner's end; Release would unlock what a program inherits, too.
	if err := lock.file.Close(); err != nil {
		t.Fatal(err)
	}
	// Tests beside this one fork: their children hold the file until they execute a program.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, err := Sweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the program that the owner started keeps the folder")
		}
	}
}

// Others may put whatever they like where temporary folders are.
func TestWhatNobodyClaimedStays(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	outside := t.TempDir()
	make := func(name string) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	make("ours-unclaimed")
	if err := unix.Mkfifo(filepath.Join(make("ours-fifo"), lockName), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(outside, "target")
	for _, err := range []error{
		os.WriteFile(target, nil, 0o600),
		os.Symlink(target, filepath.Join(make("ours-link-inside"), lockName)),
		os.WriteFile(filepath.Join(outside, lockName), nil, 0o600), // as if claimed
		os.Symlink(outside, filepath.Join(base, "ours-link")),
		os.WriteFile(filepath.Join(base, "ours-file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		dir := make("ours-of-another-user")
		if err := os.WriteFile(filepath.Join(dir, lockName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := filepath.Glob(filepath.Join(base, "*"))
	Sweep(filepath.Join(base, "ours-*"))
	after, _ := filepath.Glob(filepath.Join(base, "*"))
	if len(after) != len(before) || !exists(target) {
		t.Errorf("left are %v of %v; the target outside is there: %v", after, before, exists(target))
	}
}

func TestSweepingWhereNothingIsIsNoError(t *testing.T) {
	t.Parallel()
	wantSwept(t, filepath.Join(t.TempDir(), "nowhere", "ours-*"), 0)
}

func TestSweepingFollowsNoLinkOutOfTheFolder(t *testing.T) {
	t.Parallel()
	base, outside := t.TempDir(), t.TempDir()
	dir := filepath.Join(base, "ours-1")
	kill := owned(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "deep", "away")); err != nil {
		t.Fatal(err)
	}
	kill()
	wantSwept(t, dir, 1)
	if !exists(outside) {
		t.Error("what a link in the folder points to was removed")
	}
}
