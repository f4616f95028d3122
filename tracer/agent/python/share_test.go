//go:build !windows

package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/tracer/agent/python"
)

// cacheIn has the user's cache below dir.
func cacheIn(t *testing.T, dir string) {
	t.Helper()
	name := "XDG_CACHE_HOME"
	if runtime.GOOS == "darwin" {
		name = "HOME"
	}
	t.Setenv(name, dir)
}

func share(t *testing.T) (dir string, environ map[string]string) {
	t.Helper()
	dir, environ, err := python.Share()
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Verify(dir); err != nil {
		t.Fatal(err)
	}
	return dir, environ
}

func TestRunsShareAFolderAndWhatWasCompiledThere(t *testing.T) {
	cache := t.TempDir()
	cacheIn(t, cache)
	t.Setenv(python.EnvPath, "/theirs")
	dir, environ := share(t)
	if !strings.HasPrefix(dir, cache) || environ[python.EnvPath] != dir+":/theirs" {
		t.Errorf("folder %s, environment %v", dir, environ)
	}
	cmd := exec.Command(interpreter(t), "-c", "pass")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "GPUMEM_AGENT=/nowhere")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	compiled := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "lib", "gpumem_agent", "__pycache__", "*.pyc"))
		return found
	}
	before := compiled()
	if again, _ := share(t); again != dir {
		t.Errorf("another folder: %s, %s", dir, again)
	}
	if len(before) == 0 || !slices.Equal(before, compiled()) {
		t.Errorf("compiled before %v, then %v", before, compiled())
	}
}

func TestSharedFilesThatChangedAreReplacedAndWhatWasCompiledOfThemGoes(t *testing.T) {
	cacheIn(t, t.TempDir())
	dir, _ := share(t)
	folder := filepath.Join(dir, "lib", "gpumem_agent")
	cache := filepath.Join(folder, "__pycache__")
	for _, err := range []error{
		os.WriteFile(filepath.Join(folder, "process.py"), []byte("evil"), 0o600),
		os.Remove(filepath.Join(folder, "own.py")),
		os.MkdirAll(cache, 0o700),
		os.WriteFile(filepath.Join(cache, "process.cpython-311.pyc"), []byte("evil"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	share(t) // verifies
	if _, err := os.Stat(cache); err == nil {
		t.Error("what was compiled of the changed file stayed")
	}
}

func TestManyRunsAtOnceShareOneFolder(t *testing.T) {
	cacheIn(t, t.TempDir())
	var runs sync.WaitGroup
	for range 16 {
		runs.Go(func() {
			dir, _, err := python.Share()
			if err == nil {
				err = python.Verify(dir)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
}

func TestAFolderThatOthersCouldChangeIsNotShared(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	private := filepath.Join(open, "cache")
	if err := os.MkdirAll(private, 0o700); err != nil {
		t.Fatal(err)
	}
	cacheIn(t, private)
	if dir, _ := share(t); !strings.HasPrefix(dir, private) {
		t.Fatalf("shared in %s", dir)
	}
	for name, prepare := range map[string]func() error{
		"on the way": func() error { return os.Chmod(open, 0o777) },
		"itself": func() error {
			return os.Chmod(filepath.Join(private, "gpumem"), 0o777)
		},
		"that belongs to another user": func() error { return os.Chown(private, 12345, 12345) },
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "another") && os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			if err := prepare(); err != nil {
				t.Fatal(err)
			}
			if dir, _, err := python.Share(); err == nil && strings.HasPrefix(dir, private) {
				t.Errorf("shared in %s", dir)
			}
			for _, err := range []error{
				os.Chmod(open, 0o700), os.Chmod(filepath.Join(private, "gpumem"), 0o700),
				os.Chown(private, os.Getuid(), os.Getgid()),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
