package python

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Share puts the agent into a folder that stays, for all runs of this user, and
// returns it with what Install returns. Interpreters keep there what they have
// compiled, so that only the first one pays for it: some 20 ms.
//
// The folder lies in the user's cache, else in /var/tmp; its name has a hash of
// what is in it, so that it never changes. Nobody but the user and root can write
// there, or on the way there. Files that are missing or differ are replaced. The
// error is for a system where no such folder can be had: Install serves as well.
// Share may be called by several processes at once.
func Share() (dir string, environ map[string]string, err error) {
	var why []error
	for _, home := range homes() {
		dir, err := shareIn(home)
		if err == nil {
			return dir, environment(dir), nil
		}
		why = append(why, err)
	}
	return "", nil, fmt.Errorf("share python agent: %w", errors.Join(why...))
}

// homes are the folders where Share may make its own, best first.
func homes() []string {
	var homes []string
	if cache, err := os.UserCacheDir(); err == nil {
		homes = append(homes, filepath.Join(cache, "gpumem"))
	}
	return append(homes, filepath.Join("/var/tmp", "gpumem-"+strconv.Itoa(os.Geteuid())))
}

func shareIn(home string) (string, error) {
	version, err := version()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "python-"+version)
	if strings.ContainsRune(dir, os.PathListSeparator) {
		return "", fmt.Errorf("%s: cannot be on PYTHONPATH", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if err := ours(dir); err != nil {
		return "", err
	}
	return dir, each(func(name string, text []byte) error { return renew(dir, name, text) })
}

// version is a hash of the agent's files.
func version() (string, error) {
	sum := sha256.New()
	err := each(func(name string, text []byte) error {
		_, err := fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	})
	return fmt.Sprintf("%.8x", sum.Sum(nil)), err
}

// renew makes sure that a file is as it should be. A file that is not is replaced
// as a whole, because others may be reading it, and what was compiled of it goes.
func renew(dir, name string, text []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		if got, err := os.ReadFile(path); err == nil && bytes.Equal(got, text) {
			return nil
		}
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if info != nil {
		if err := os.RemoveAll(filepath.Join(folder, "__pycache__")); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(folder, ".new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
