package python

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// files holds the Python sources. The globs name them one by one, so that
// caches an interpreter may leave beside them are never embedded.
//
//go:embed files/*.py files/lib/gpumem/*.py files/lib/gpumem/py.typed files/lib/gpumem_agent/*.py
//go:embed files/lib/gpumem_agent/frameworks/*.py files/lib/gpumem_agent/holders/*.py
var files embed.FS

// Environment names of the Python agent, beside those of package agent.
const (
	// EnvPath makes an interpreter find the agent.
	EnvPath = "PYTHONPATH"
	// EnvSites, set to 1, makes PyTorch record the allocation site of each live
	// block from the program's first use of a device on, which costs about 2 µs
	// an allocation (torch.cuda.memory's documentation; on an H200 with PyTorch
	// 2.11 an allocation and free took 4.7 instead of 2.1 µs). Without it the
	// action sites has an answer from JAX alone.
	EnvSites = "GPUMEM_SITES"
	// EnvHostHeap, set to 0, keeps the agent from reading the host heap, which
	// takes the C allocator's locks for some microseconds twice a second.
	EnvHostHeap = "GPUMEM_HOST_HEAP"
)

// ErrChanged says that an installed file is not what Install wrote.
var ErrChanged = errors.New("python agent: file changed")

// Install writes the agent below dir and returns the variables to add to the
// traced program's environment; PYTHONPATH keeps what this process has in it
// behind our folder, less the folders of other agents: gpumem may run gpumem.
// dir is made with mode 0700, or must be a folder that only its owner may enter.
// Files get mode 0600, and an existing file is an error: nobody else's code is
// ever put on the program's path.
//
// The variables do not include GPUMEM_AGENT and its companions of package
// agent: without those the installed files do nothing.
func Install(dir string) (map[string]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("install python agent: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("install python agent: %w", err)
	}
	err = each(func(name string, text []byte) error { return write(dir, name, text) })
	if err != nil {
		return nil, fmt.Errorf("install python agent: %w", err)
	}
	return environment(dir), nil
}

// environment is what to add to that of a program for an agent below dir.
func environment(dir string) map[string]string {
	return map[string]string{EnvPath: prepend(dir, withoutAgents(os.Getenv(EnvPath)))}
}

// withoutAgents is a path without the folders that Install or Share has written.
func withoutAgents(path string) string {
	if path == "" {
		return ""
	}
	folders := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, "lib", "gpumem_agent"))
		return dir != "" && err == nil && info.IsDir()
	})
	return strings.Join(folders, string(os.PathListSeparator))
}

// Verify compares the files below dir with what Install wrote. A file that
// is missing or differs is an error that wraps ErrChanged and names it.
func Verify(dir string) error {
	return each(func(name string, text []byte) error {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if !bytes.Equal(got, text) {
			return fmt.Errorf("%w: %s", ErrChanged, name)
		}
		return nil
	})
}

// prepend puts dir before an old value. An empty one stays away: a trailing
// separator would put the working directory on the path.
func prepend(dir, old string) string {
	if old == "" {
		return dir
	}
	return dir + string(os.PathListSeparator) + old
}

// private makes dir, or checks that nobody but its owner can enter it.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("folder %s: not a folder itself", dir)
	}
	if modes && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("folder %s: mode %v lets others in", dir, info.Mode().Perm())
	}
	return nil
}

// write makes one file, and the folder it is in.
func write(dir, name string, text []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", name, err)
	}
	return nil
}

// each calls do with every file's name relative to the installed folder.
func each(do func(name string, text []byte) error) error {
	return fs.WalkDir(files, "files", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return do(strings.TrimPrefix(path, "files/"), text)
	})
}
