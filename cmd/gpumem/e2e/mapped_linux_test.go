package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// mappedProgram maps a file of 400 MiB, and goes through it: it reads, or writes, 1 MiB
// every 20 ms. With a third argument it keeps 64 KiB of memory of each.
const mappedProgram = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
	enum { step = 1 << 20, steps = 400 };
	int f = open(argv[1], O_RDWR | O_CREAT, 0600), dirty = argc == 3, sum = 0;
	if (f < 0 || posix_fallocate(f, 0, (off_t)step * steps)) return 1;
	fsync(f);
	volatile char *at = mmap(0, (size_t)step * steps, PROT_READ | (dirty ? PROT_WRITE : 0), MAP_SHARED, f, 0);
	unlink(argv[1]);
	for (int i = 0; i < steps; i++, usleep(20000)) {
		if (argc == 4) memset(malloc(1 << 16), i + 1, 1 << 16);
		for (size_t o = 0; o < step; o += 4096) {
			if (dirty) at[(size_t)i * step + o] = 1;
			else sum += at[(size_t)i * step + o];
		}
	}
	return sum > 1 << 30;
}
`

// onADisk is a folder of which the files are not in memory alone.
func onADisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.TMPFS_MAGIC {
		var err error
		if dir, err = os.MkdirTemp(".", "disk"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	return dir
}

func TestCleanPagesOfMappedFilesAreShownAndNotCharged(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	t.Parallel()
	dir := onADisk(t)
	program := filepath.Join(dir, "mapped")
	cc := exec.Command("cc", "-O1", "-x", "c", "-o", program, "-")
	cc.Stdin = strings.NewReader(mappedProgram)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, c := range map[string]struct {
		args  []string
		class account.Class
		cache [2]float64 // least and most of the clean pages at the end, in MiB
	}{
		"a loop that reads a mapped dataset": {nil, account.None, [2]float64{350, 420}},
		"one that leaks beside it": {[]string{"and", "leaks"}, account.HostGrowth,
			[2]float64{350, 420}},
		"a loop that changes the file mapped": {[]string{"dirty"}, account.HostGrowth, [2]float64{0, 420}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"run", "-q", "--out", "run", "--", program,
				filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))}, c.args...)
			// What the system writes of a file that changes may leave that one open.
			isOpen := func(v *verdict.Verdict) bool { return len(c.args) != 1 && isUndecided(v) }
			at, v := answered(t, isOpen, func(dir string) {
				if got := gpumem(t, dir, args...); got.code != 0 {
					t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
				}
			})
			run, err := record.Open(filepath.Join(at, "run"))
			if err != nil {
				t.Fatal(err)
			}
			cache := account.Column(run.Samples, record.ColFileCache)
			footprint := account.Column(run.Samples, record.ColFootprint)
			most, changes := 0., len(c.args) == 1
			for i, dirty := range account.Column(run.Samples, record.ColFileDirty) {
				if dirty > most {
					most = dirty
					if footprint[i] < dirty {
						t.Errorf("a footprint of %.0f bytes with %.0f changed", footprint[i], dirty)
					}
				}
			}
			if changed := most >= 50<<20; changed != changes {
				t.Errorf("at most %.0f bytes of the file changed", most)
			}
			// The system may write changed pages at any time, and they do not grow then.
			kept := most >= 350<<20
			switch {
			case v.Verdict == c.class, changes && v.Verdict == account.Undecided:
			case changes && !kept && v.Verdict == account.None:
			// On a slow machine it ends before it has changed all of the file once.
			case changes && v.Verdict == account.None && strings.Contains(v.Summary, "had reserved before"):
			default:
				t.Errorf("at most %.0f bytes of the file changed: %s", most, v.Summary)
			}
			last := func(v []float64) float64 {
				for i := len(v) - 1; i >= 0; i-- {
					if !record.IsUnknown(v[i]) {
						return v[i] / (1 << 20)
					}
				}
				return -1
			}
			if got := last(cache); got < c.cache[0] || got > c.cache[1] {
				t.Errorf("%.0f MiB of file cache at the end", got)
			}
			if got := last(footprint); c.args == nil && got > 50 {
				t.Errorf("a footprint of %.0f MiB has the file cache in it", got)
			}
		})
	}
}
