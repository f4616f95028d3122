//go:build amd64 || arm64

package capture

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// homeFor is a folder in which the interposer may be installed: the system's
// for temporary files may be under a folder that others can write into.
func homeFor(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func ours(home string) string { return filepath.Join(home, "gpumem-"+strconv.Itoa(os.Geteuid())) }

func TestTheLibraryLiesWhereEveryUserMayReadAndOnlyWeMayWrite(t *testing.T) {
	t.Parallel()
	home := homeFor(t)
	path, err := install([]string{home})
	if err != nil {
		t.Fatal(err)
	}
	again, err := install([]string{home})
	if err != nil || again != path {
		t.Errorf("a second time it is %s, %v; want %s", again, err, path)
	}
	for folder, content := range map[string][]byte{
		folders64[0]: library, folders32[0]: idleLibrary(machine32), "": library,
	} {
		file := strings.Replace(path, "$LIB", folder, 1)
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("%s: %v, %v", file, info, err)
			continue
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, content) {
			t.Errorf("%s has %d bytes, %v; want %d", file, len(have), err, len(content))
		}
		for dir := filepath.Dir(file); dir != home; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o711 {
				t.Errorf("%s: %v, %v", dir, info, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(ours(home), ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestWhatLiesInTheLibrarysPlaceIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(file string) error{
		"other content": func(file string) error {
			return os.WriteFile(file, []byte("tampered with"), 0o555)
		},
		"writable": func(file string) error { return os.Chmod(file, 0o777) },
		"gone":     os.Remove,
		"a link": func(file string) error {
			if err := os.Rename(file, file+".moved"); err != nil {
				return err
			}
			return os.Symlink(file+".moved", file)
		},
		"a folder": func(file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Mkdir(file, 0o755)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := homeFor(t)
			path, err := install([]string{home})
			if err != nil {
				t.Fatal(err)
			}
			file := strings.Replace(path, "$LIB", folders64[1], 1)
			if err := os.Chmod(file, 0o755); err != nil { // we may not be root
				t.Fatal(err)
			}
			if err := damage(file); err != nil {
				t.Fatal(err)
			}
			if again, err := install([]string{home}); err != nil || again != path {
				t.Fatalf("%s, %v", again, err)
			}
			info, err := os.Lstat(file)
			if err != nil || info.Mode() != 0o555 {
				t.Fatalf("the file is now %v, %v", info, err)
			}
			if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, library) {
				t.Errorf("the library is not ours: %d bytes, %v", len(have), err)
			}
		})
	}
}

// within makes a folder of a name.
func within(name string) func(home string) (string, error) {
	return func(home string) (string, error) {
		dir := filepath.Join(home, name)
		return dir, os.Mkdir(dir, 0o755)
	}
}

func TestAPlaceThatIsNotSafeOrNotFitIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(home string) (string, error)
		why  string
		root bool
	}{
		"somebody else's": {func(home string) (string, error) {
			if err := os.Mkdir(ours(home), 0o755); err != nil {
				return "", err
			}
			return home, os.Chown(ours(home), 65534, 65534)
		}, "belongs to somebody else", true},
		"a planted link": {func(home string) (string, error) {
			return home, os.Symlink("/usr", ours(home))
		}, "belongs to somebody else", false},
		"a planted file": {func(home string) (string, error) {
			return home, os.WriteFile(ours(home), nil, 0o600)
		}, "belongs to somebody else", false},
		"open to all": {func(home string) (string, error) {
			return home, os.Chmod(home, 0o777)
		}, "other users could replace", false},
		"with a space":  {within("a b"), "cannot take", false},
		"with a colon":  {within("a:b"), "cannot take", false},
		"with a dollar": {within("$a"), "cannot take", false},
		"a file": {func(home string) (string, error) {
			return home + "/f", os.WriteFile(home+"/f", nil, 0o600)
		}, "not a directory", false},
		"not there": {func(home string) (string, error) {
			return home + "/nowhere", nil
		}, "no such file", false},
		"made by kernel": {func(string) (string, error) { return "/proc", nil }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.root {
				needsRoot(t, "make a folder of another user's")
			}
			bad, err := c.make(homeFor(t))
			if err != nil {
				t.Fatal(err)
			}
			path, err := install([]string{bad})
			if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "\n") {
				t.Errorf("installed at %q: %v", path, err)
			}
			good := homeFor(t)
			if path, err := install([]string{bad, good}); err != nil || !strings.HasPrefix(path, good) {
				t.Errorf("installed at %q: %v", path, err)
			}
		})
	}
}

func TestManyWhoInstallAtOnceAllHaveIt(t *testing.T) {
	t.Parallel()
	home := homeFor(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			path, err := install([]string{home})
			if err != nil {
				t.Error(err)
				return
			}
			if err := tryLoader(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(ours(home), ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestALibraryThatTheLoaderRefusesIsNotGivenToPrograms(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(loader64); err != nil {
		t.Skipf("no loader to ask: %v", err)
	}
	dir := homeFor(t)
	err := renew(filepath.Join(dir, "bad"), map[string][]byte{"lib64/" + libraryName: []byte("no library")})
	if err == nil || !strings.Contains(err.Error(), "the loader refuses") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestTheIdleLibraryIsAWholeELFFile(t *testing.T) {
	t.Parallel()
	for _, machine := range []elf.Machine{elf.EM_386, elf.EM_ARM} {
		f, err := elf.NewFile(bytes.NewReader(idleLibrary(machine)))
		if err != nil || f.Class != elf.ELFCLASS32 || f.Machine != machine || f.Type != elf.ET_DYN {
			t.Errorf("%v: %+v, %v", machine, f, err)
		}
	}
}
