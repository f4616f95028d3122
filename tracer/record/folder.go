package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// NewFolder makes an empty folder for a run and returns its name: FolderName's,
// or the next that is free with a number behind it (-2, -3, …). Of runs that
// begin at once, in this process or in others, each gets its own. Create takes
// the folder with Force.
func NewFolder(name string, start time.Time) (string, error) {
	first := FolderName(name, start)
	dir := first
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("create run folder: %w", err)
		}
		dir = fmt.Sprintf("%s-%d", first, n)
	}
}

// Remove removes the run folder dir. Files that gpumem has not written stay, and the
// folder with them; the error then says so. The caller knows that nobody writes it.
func Remove(dir string) error {
	if err := removeOwn(dir); err != nil {
		return fmt.Errorf("remove run folder: %w", err)
	}
	if err := os.Remove(dir); err != nil {
		return fmt.Errorf("%s stays, since there are files in it that gpumem has not written", dir)
	}
	return nil
}

// removeOwn removes the run files of an earlier run from dir.
func removeOwn(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	for _, name := range ownFiles() {
		for _, suffix := range [...]string{"", tmpSuffix, thinnedSuffix} {
			err := os.Remove(filepath.Join(dir, name+suffix))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if rest, err := os.ReadDir(dir); err == nil && len(rest) == 0 {
		// another owner's stays; the files are closed all the same
		os.Chmod(dir, info.Mode().Perm()&folderMode)
	}
	return nil
}
