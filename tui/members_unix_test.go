//go:build unix

package tui

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAFolderWithAPipeInItIsRefusedPlayedOrFollowed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{record.FileMeta, record.FileSamples, record.FileEvents, record.FileStdout} {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, record.FileMeta), []byte(`{"schema":1}`), 0o600),
			os.WriteFile(filepath.Join(dir, record.FileSamples), []byte("t_ms,rss_bytes\n0,1\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, name))
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, follow := range []bool{false, true} {
			folder, err := OpenFolder(dir, FolderOptions{Follow: follow})
			if err == nil {
				folder.Close()
			}
			if !errors.Is(err, record.ErrNotRegular) {
				t.Errorf("%s, followed %v: %v", name, follow, err)
			}
		}
	}
}
