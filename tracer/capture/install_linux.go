//go:build amd64 || arm64

package capture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// libraryName is the file's name in each folder; the interposer knows itself
// by its beginning.
const libraryName = libraryPrefix + "capture.so"

// libraryHomes are where the interposer may lie, best first: a daemon that the
// program leaves behind starts others long after us, and others may be users
// who cannot look into our home.
func libraryHomes() []string {
	homes := []string{"/var/tmp", "/tmp", os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		homes = append(homes, cache)
	}
	return homes
}

// install puts the interposer where it can stay and returns what the loader is
// to load. It lies in HOME/gpumem-UID/HASH, so that each version has a folder
// of its own, which never changes. The path has $LIB in it, which the loader
// replaces by the folder for the program's class; musl's replaces nothing,
// finds nothing, and says nothing.
func install(homes []string) (string, error) {
	var why []string
	for _, home := range homes {
		path, err := installIn(home)
		if err == nil {
			return path, nil
		}
		if text := err.Error(); !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	return "", fmt.Errorf("no place for the interposer: %s", strings.Join(why, "; "))
}

func installIn(home string) (string, error) {
	home, err := usableHome(home)
	if err != nil {
		return "", err
	}
	base := filepath.Join(home, "gpumem-"+strconv.Itoa(os.Geteuid()))
	if err := os.Mkdir(base, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := ownFolder(base); err != nil {
		return "", err
	}
	files := libraryFiles(libFolder())
	dir := filepath.Join(base, version(files))
	if !whole(dir, files) {
		if err := renew(dir, files); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "$LIB", libraryName), nil
}

// usableHome is the home with its links followed, if the loader can take files
// from there and nobody else can put another folder in the place of ours.
func usableHome(home string) (string, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return "", err
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return "", err
	}
	if strings.ContainsAny(home, " :;\t\r\n$") {
		const why = "the loader cannot take a path with space, colon, semicolon or dollar"
		return "", fmt.Errorf("%s: %s", home, why)
	}
	var st, root unix.Stat_t
	if err := errors.Join(unix.Stat(home, &st), unix.Stat("/", &root)); err != nil {
		return "", &fs.PathError{Op: "stat", Path: home, Err: err}
	}
	// In a user namespace root may have another number.
	trusted := st.Uid == root.Uid || int(st.Uid) == os.Geteuid()
	if open := st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0; open || !trusted {
		return "", fmt.Errorf("%s: other users could replace what lies there", home)
	}
	if !executable(home) {
		return "", fmt.Errorf("%s is mounted noexec", home)
	}
	return home, nil
}

// ownFolder makes sure that a folder is ours alone to change, and readable to
// those who know what is in it.
func ownFolder(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to somebody else", dir)
	}
	if st.Mode&0o777 == 0o711 {
		return nil
	}
	return os.Chmod(dir, 0o711)
}

// libraryFiles are the files of one version by their path in its folder. lib is
// what the folder of that name holds.
func libraryFiles(lib []byte) map[string][]byte {
	files := map[string][]byte{
		libraryName:          library, // if $LIB gets lost on the way
		"lib/" + libraryName: lib,
	}
	for _, folder := range folders64 {
		files[folder+"/"+libraryName] = library
	}
	for _, folder := range folders32 {
		files[folder+"/"+libraryName] = idleLibrary(machine32)
	}
	return files
}

// libFolder is the library for programs whose loader replaces $LIB by lib. On
// most systems these are 32-bit programs, on some (Arch, NixOS) the others:
// there /lib and /lib64 are one folder, or no loader for 32 bits is in /lib.
func libFolder() []byte {
	if _, err := os.Stat(loader32); err != nil {
		return library
	}
	one, err1 := os.Stat("/lib")
	other, err2 := os.Stat("/lib64")
	if err1 != nil || err2 != nil || os.SameFile(one, other) {
		return library
	}
	return idleLibrary(machine32)
}

// version names the contents of the files.
func version(files map[string][]byte) string {
	h := sha256.New()
	h.Write(library)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name])) // it is one or the other
	}
	h.Write(idleLibrary(machine32))
	return fmt.Sprintf("%.6x", h.Sum(nil))
}

// whole reports whether a folder has the files, as they should be and ours.
func whole(dir string, files map[string][]byte) bool {
	if ownFolder(dir) != nil {
		return false
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || st.Mode != unix.S_IFREG|0o555 || int(st.Uid) != os.Geteuid() {
			return false
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, content) {
			return false
		}
	}
	return true
}

// renew makes the folder anew beside its place, tries whether the loader takes
// it, and moves it there.
func renew(dir string, files map[string][]byte) error {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) // what is left of it
	if err := write(fresh, files); err != nil {
		return err
	}
	if err := tryLoader(filepath.Join(fresh, "$LIB", libraryName)); err != nil {
		return err
	}
	// Another gpumem may be doing the same.
	for range 3 {
		if err = os.Rename(fresh, dir); err == nil || whole(dir, files) {
			return nil
		}
		damaged := fresh + "-old"
		if os.Rename(dir, damaged) == nil {
			defer os.RemoveAll(damaged)
		}
	}
	return err
}

func write(dir string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		if err := errors.Join(err, f.Chmod(0o555), f.Close()); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o711) // whatever the umask is
		}
		return err
	})
}

// tryLoader has the system's loader load the library and looks whether it
// complains: it would do so on the stderr of every program. Where the loader
// has another name nothing is tried.
func tryLoader(path string) error {
	if _, err := os.Stat(loader64); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, loader64, "--list", strings.Replace(path, "$LIB", "", 1))
	cmd.Env = []string{"LD_PRELOAD=" + path}
	var says bytes.Buffer
	cmd.Stderr = &says
	if err := cmd.Run(); err != nil || says.Len() > 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(says.String()), "\n")
		return fmt.Errorf("the loader refuses the interposer: %s (%v)", line, err)
	}
	return nil
}
