package usage

import (
	"errors"
	"fmt"
	"io/fs"
)

// Absent makes the error for a path that the user named and that is not there say what
// to try; any other error stays as it is.
func Absent(err error, path, try string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist; %s", path, try)
	}
	return err
}
