package python_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/agent/python"
)

func TestInstallWritesFilesThatOnlyTheirOwnerReads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := python.Install(dir); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; runtime.GOOS != "windows" &&
			info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || seen < 15 {
		t.Errorf("%d files and folders, error %v", seen, err)
	}
	for _, name := range []string{
		"sitecustomize.py", "lib/gpumem/__init__.py", "lib/gpumem/pytest_plugin.py", "lib/gpumem/py.typed",
		"lib/gpumem_agent/__init__.py", "lib/gpumem_agent/frameworks/__init__.py",
		"lib/gpumem_agent/holders/__init__.py",
	} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

func TestInstallKeepsThePathOfTheUserBehindItsOwn(t *testing.T) {
	for _, c := range []struct{ old, want string }{
		{"", ""},
		{"/a", "/a"},
		{strings.Join([]string{"/a", "/b"}, string(os.PathListSeparator)), ""},
	} {
		t.Setenv(python.EnvPath, c.old)
		dir := filepath.Join(t.TempDir(), "agent")
		env, err := python.Install(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := dir
		if c.old != "" {
			want += string(os.PathListSeparator) + c.old
		}
		if len(env) != 1 || env[python.EnvPath] != want {
			t.Errorf("with %q: %v, want %s", c.old, env, want)
		}
	}
}

func TestInstallNeverTrustsWhatIsThereAlready(t *testing.T) {
	t.Parallel()
	tests := map[string]func(dir string) error{
		"a file of the same name": func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte("evil"), 0o600)
		},
		"a folder that others may enter": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755))
		},
		"a link to a folder": func(dir string) error { return os.Symlink(os.TempDir(), dir) },
		"a file":             func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.Contains(name, "folder") {
				t.Skip("Windows has neither these modes nor links for everyone")
			}
			dir := filepath.Join(t.TempDir(), "agent")
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := python.Install(dir); err == nil {
				t.Error("installed")
			}
		})
	}
}

func TestVerifyNamesAFileThatChanged(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "agent")
	if _, err := python.Install(dir); err != nil {
		t.Fatal(err)
	}
	if err := python.Verify(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lib", "gpumem", "_check.py")
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := python.Verify(dir); !errors.Is(err, python.ErrChanged) ||
		!strings.Contains(err.Error(), "gpumem/_check.py") {
		t.Errorf("changed file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := python.Verify(dir); !errors.Is(err, python.ErrChanged) {
		t.Errorf("removed file: %v", err)
	}
}
