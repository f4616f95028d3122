package capture

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestModesAreReadByName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"preload", "audit", "ebpf", "none"} {
		if m, err := parseMode(name); err != nil || string(m) != name {
			t.Errorf("%s: %q, %v", name, m, err)
		}
	}
	if _, err := parseMode("magic"); err == nil {
		t.Error("a mode that does not exist is read")
	}
}

func TestPrepareKeepsWhatTheUserHas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "capture")
	user := []string{"LD_PRELOAD=old.so", "LD_PRELOAD=a.so b.so:/x/libgpumem_capture.so", "LD_AUDIT=c.so",
		"ASAN_OPTIONS=detect_leaks=0", "CUDA_INJECTION64_PATH=/p"}
	for _, mode := range []Mode{ModeNone, ModeEBPF} {
		if env, err := Prepare(dir, mode, user); err != nil || env != nil {
			t.Errorf("%s adds %q, %v", mode, env, err)
		}
	}
	if len(library) == 0 {
		if _, err := Prepare(dir, ModePreload, nil); !errors.Is(err, ErrUnsupported) {
			t.Errorf("on %s: %v", runtime.GOOS, err)
		}
		return
	}
	lib, err := install(libraryHomes())
	if err != nil {
		t.Fatal(err)
	}
	base := []string{"LD_PRELOAD=" + lib + ":a.so:b.so", EnvDir + "=" + dir,
		"ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"}
	for mode, want := range map[Mode][]string{ModePreload: base,
		ModeAudit: append(slices.Clone(base), "LD_AUDIT="+lib+":c.so")} {
		env, err := Prepare(dir, mode, user)
		if err != nil || !slices.Equal(env, want) {
			t.Errorf("%s: %q, %v; want %q", mode, env, err, want)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
}

func TestTempDirIsPrivateAndFitForPrograms(t *testing.T) {
	t.Parallel()
	dir, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir.Path)
	if err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o700) || !executable(dir.Path) {
		t.Errorf("%s: %v, %v", dir.Path, info, err)
	}
	if err := dir.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir.Path); err == nil {
		t.Errorf("%s is still there", dir.Path)
	}
}
