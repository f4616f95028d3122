package tracer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/tracer/record"
)

// failingDisk is an ext4 file system in a file, which an error makes read-only.
type failingDisk struct {
	t          *testing.T
	image, dir string
}

// newFailingDisk mounts one. It skips the test where the machine has none.
func newFailingDisk(t *testing.T) *failingDisk {
	t.Helper()
	d := &failingDisk{t: t, image: filepath.Join(t.TempDir(), "disk"), dir: t.TempDir()}
	if os.Getuid() != 0 {
		t.Skip("only root mounts a file system of its own")
	}
	f, err := os.Create(d.image)
	if err == nil {
		err = f.Truncate(16 << 20)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", d.image}, d.mounting()} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no ext4 can be mounted here: %s: %v: %s", command[0], err, out)
		}
	}
	t.Cleanup(func() { unix.Unmount(d.dir, unix.MNT_DETACH) })
	return d
}

func (d *failingDisk) mounting() []string {
	return []string{"mount", "-t", "ext4", "-o", "loop,errors=remount-ro", d.image, d.dir}
}

// fail makes it read-only, as an error of the disk does.
func (d *failingDisk) fail() {
	source, err := exec.Command("findmnt", "-no", "SOURCE", d.dir).Output()
	if err == nil {
		name := filepath.Base(strings.TrimSpace(string(source)))
		err = os.WriteFile(filepath.Join("/sys/fs/ext4", name, "trigger_fs_error"), []byte("tested"), 0)
	}
	if err != nil {
		d.t.Errorf("the disk does not fail: %v", err)
	}
}

// comeBack mounts it anew, as an administrator does, who can only do so when nothing of
// it is open.
func (d *failingDisk) comeBack() {
	err := unix.Unmount(d.dir, 0)
	for begun := time.Now(); err != nil && time.Since(begun) < 20*time.Second; err = unix.Unmount(d.dir, 0) {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		d.t.Errorf("unmount: %v", err)
	}
	command := d.mounting()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		d.t.Errorf("mount: %v: %s", err, out)
	}
}

func TestAFileSystemThatWentReadOnlyTakesRowsAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	disk, done := newFailingDisk(t), filepath.Join(t.TempDir(), "done")
	dir := filepath.Join(disk.dir, "run")
	kept, back := 0, make(chan float64, 1)
	go func() {
		begun := time.Now()
		defer os.WriteFile(done, nil, 0o600)
		for rowsIn(dir) < 50 && time.Since(begun) < time.Minute {
			time.Sleep(20 * time.Millisecond)
		}
		kept = rowsIn(dir) // before the sync: what is written while it runs may be in memory only
		if err := exec.Command("sync", "-f", dir).Run(); err != nil {
			t.Errorf("sync: %v", err)
		}
		time.Sleep(300 * time.Millisecond) // what comes now is in memory only
		disk.fail()
		time.Sleep(500 * time.Millisecond)
		disk.comeBack()
		back <- time.Since(begun).Seconds() * 1000
		time.Sleep(time.Second)
	}()
	res, run := shell(t, "while [ ! -e "+done+" ]; do sleep .05; done; exit 5", func(c *Config) {
		c.Out, c.Interval, c.Calm = dir, 2*time.Millisecond, 0
	})
	if res.ExitCode != 5 || run.Meta.End == nil || run.Meta.Sampling.LostRows == 0 {
		t.Fatalf("code %d, %+v, %q", res.ExitCode, run.Meta, res.Warnings)
	}
	times, came := run.Samples.Column(record.ColTime), <-back
	after := 0
	for _, at := range times {
		if at > came {
			after++
		}
	}
	if len(times)-after < kept || after < 20 {
		t.Errorf("%d rows before, of %d on the disk, and %d after", len(times)-after, kept, after)
	}
	all := strings.Join(res.Warnings, "\n")
	for _, text := range []string{"rows are lost", "the run folder was away: what was not on the disk yet is lost: "} {
		if !strings.Contains(all, text) {
			t.Errorf("nobody says %q: %s", text, all)
		}
	}
	if strings.Count(all, "rows are lost") > 2 {
		t.Errorf("the loss is said again and again: %s", all)
	}
}
