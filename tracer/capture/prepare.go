package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/leftover"
)

const (
	libraryPrefix = "libgpumem_"
	// roomWanted is what a place in memory must have free: a ring of 4 MiB for
	// each of many programs.
	roomWanted   = 512 << 20
	tempPrefix   = "gpumem-capture-"
	memoryFolder = "/dev/shm"
	// firstMark is the file that the first program of a run takes away: it then
	// has a ring even if it never comes near the driver, which tells Why so.
	firstMark = "first"
)

// Directory is a place for the rings of one run. Its lock tells later runs
// that its owner lives.
type Directory struct {
	Path string
	lock *leftover.Lock
}

// TempDir makes a capture directory of mode 0700, in memory when the system
// has such a place, so that recording never waits for a disk. The caller
// removes it. Directories of runs that were killed are removed on the way.
func TempDir() (*Directory, error) {
	dir, why := "", error(nil)
	for _, parent := range slices.Compact([]string{memoryFolder, os.TempDir(), "/tmp", "/var/tmp"}) {
		// What cannot be swept now may be later; it is in nobody's way.
		_, _ = leftover.Sweep(filepath.Join(parent, tempPrefix+"*"))
		full := parent == memoryFolder && (!executable(parent) || freeBytes(parent) < roomWanted)
		if dir != "" || full {
			continue
		}
		var err error
		if dir, err = os.MkdirTemp(parent, tempPrefix); err != nil && why == nil {
			why = err
		}
	}
	if dir == "" {
		return nil, fmt.Errorf("make capture directory: %w", why)
	}
	// Where there are no locks the directory serves as well, and is never swept.
	lock, _ := leftover.Claim(dir)
	return &Directory{Path: dir, lock: lock}, nil
}

// Remove removes the directory and what is in it.
func (d *Directory) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Release())
}

// Prepare makes the directory for rings with mode 0700 if need be, puts the
// interposer where the loader can take it from, also long after this run, and
// returns what to append to the environment of the program, as NAME=value: a
// later entry replaces an earlier one. environ is the environment that the
// program would have: what it has in LD_PRELOAD, LD_AUDIT and ASAN_OPTIONS is
// kept behind ours. CUDA_INJECTION64_PATH is
// left to its owner. For ModeEBPF and ModeNone there is nothing to add.
//
// A program that the loader will not inject into runs as without us; Obstacle
// tells beforehand, Why afterwards.
func Prepare(dir string, mode Mode, environ []string) ([]string, error) {
	switch mode {
	case ModeEBPF, ModeNone:
		return nil, nil
	case ModePreload, ModeAudit:
	default:
		return nil, fmt.Errorf("prepare capture: inject mode %q", mode)
	}
	if len(library) == 0 {
		return nil, fmt.Errorf("prepare capture: %w", ErrUnsupported)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("prepare capture: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("prepare capture: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, firstMark), nil, 0o600); err != nil {
		return nil, fmt.Errorf("prepare capture: %w", err)
	}
	path, err := install(append(libraryHomes(), dir))
	if err != nil {
		return nil, fmt.Errorf("prepare capture: %w", err)
	}
	env := []string{
		"LD_PRELOAD=" + ahead(path, lookup(environ, "LD_PRELOAD"), " :"),
		EnvDir + "=" + dir,
		// An ASan program refuses to start behind another library otherwise.
		"ASAN_OPTIONS=" + ahead("verify_asan_link_order=0", lookup(environ, "ASAN_OPTIONS"), ":"),
	}
	if mode == ModeAudit {
		// The preloaded copy then serves only the functions whose address is
		// taken, about which the loader asks no auditor.
		env = append(env, "LD_AUDIT="+ahead(path, lookup(environ, "LD_AUDIT"), ":"))
	}
	return env, nil
}

// ahead puts an entry before those of a list, and takes away what a run around
// this one put there.
func ahead(entry, list, separators string) string {
	out := []string{entry}
	for _, o := range strings.FieldsFunc(list, func(c rune) bool {
		return strings.ContainsRune(separators, c)
	}) {
		if !strings.HasPrefix(filepath.Base(o), libraryPrefix) && o != entry {
			out = append(out, o)
		}
	}
	return strings.Join(out, ":")
}

// lookup is the value that counts of a variable: the last.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}
