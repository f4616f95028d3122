package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	libraryPrefix = "libgpumem_"
	// roomWanted is what a place in memory must have free: a ring of 4 MiB for
	// each of many programs.
	roomWanted = 512 << 20
)

// TempDir makes a capture directory of mode 0700, in memory when the system
// has such a place, so that recording never waits for a disk. The caller
// removes it. Where programs may not be loaded from it, Prepare says so.
func TempDir() (string, error) {
	for _, parent := range []string{"/dev/shm", ""} {
		if parent != "" && (!executable(parent) || freeBytes(parent) < roomWanted) {
			continue
		}
		dir, err := os.MkdirTemp(parent, "gpumem-capture-")
		if err == nil {
			return dir, nil
		}
		if parent == "" {
			return "", fmt.Errorf("make capture directory: %w", err)
		}
	}
	return "", fmt.Errorf("make capture directory: %w", ErrUnsupported)
}

// Prepare writes the interposer into the directory, which it makes with mode
// 0700 if need be, and returns what to append to the environment of the
// program, as NAME=value: a later entry replaces an earlier one. environ is
// the environment that the program would have: what it has in LD_PRELOAD,
// LD_AUDIT and ASAN_OPTIONS is kept behind ours. CUDA_INJECTION64_PATH is
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
	if strings.ContainsAny(dir, " :;\t\n$") {
		return nil, fmt.Errorf("prepare capture: the loader cannot take %q: choose a directory without space, colon, semicolon and dollar", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("prepare capture: %w", err)
	}
	if !executable(dir) {
		return nil, fmt.Errorf("prepare capture: %s is mounted noexec: choose another directory", dir)
	}
	path, err := writeLibrary(dir)
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
	for _, o := range strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		if !strings.HasPrefix(filepath.Base(o), libraryPrefix) && o != entry {
			out = append(out, o)
		}
	}
	return strings.Join(out, ":")
}

// writeLibrary puts the interposer into the directory. A file that is there is
// never trusted: it is replaced.
func writeLibrary(dir string) (string, error) {
	f, err := os.CreateTemp(dir, ".interposer-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(library)
	err = errors.Join(err, f.Chmod(0o500), f.Close())
	path := filepath.Join(dir, libraryPrefix+"capture.so")
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return path, nil
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
