package tracer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheLogOfAProgramThatWritesWithoutEndKeepsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	const keep, most = 16 << 20, 2 << 20
	dir, done := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "done")
	onDisk := make(chan int64, 1)
	go func() { // the program ends when the file takes little of the disk
		defer os.WriteFile(done, nil, 0o600)
		var s syscall.Stat_t
		until(t, "most of the log is taken out", func() bool {
			return syscall.Stat(filepath.Join(dir, record.FileStdout), &s) == nil &&
				s.Size > 12<<20 && s.Blocks*512 < 2*most
		})
		onDisk <- s.Blocks * 512
	}()
	res, run := shell(t, "echo first; yes 0123456789abcde | head -c 12582912; while [ ! -e "+done+
		" ]; do sleep .05; done; echo last; echo complaint >&2; exit 5", func(c *Config) {
		c.Out, c.Keep, c.Logs = dir, keep, true
	})
	if res.ExitCode != 5 || run.Meta.End == nil {
		t.Fatalf("code %d, %q", res.ExitCode, res.Warnings)
	}
	t.Logf("%d KiB on the disk while the program ran", <-onDisk>>10)
	log, err := os.ReadFile(filepath.Join(dir, record.FileStdout))
	if err != nil || len(log) > most+1<<20 || len(log) < most/2 {
		t.Fatalf("%d bytes, %v", len(log), err)
	}
	if !bytes.HasPrefix(log, []byte("first\n0123456789abcde\n")) || !bytes.HasSuffix(log, []byte("abcde\nlast\n")) ||
		bytes.Contains(log, []byte{0}) || bytes.Count(log, []byte("\n[gpumem: ")) != 1 {
		t.Errorf("the log is %q … %q", log[:40], log[len(log)-40:])
	}
	if log, err := os.ReadFile(filepath.Join(dir, record.FileStderr)); err != nil || string(log) != "complaint\n" {
		t.Errorf("stderr.log is %q, %v", log, err)
	}
	if all := strings.Join(res.Warnings, "\n"); strings.Count(all, "its beginning and its end are kept") != 1 {
		t.Errorf("warnings %s", all)
	}
}
