package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
