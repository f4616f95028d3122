package appletest

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/kernels/shim"
)

//go:embed fake testdata/selectors.tsv
var sources embed.FS

// FileName is the library's.
const FileName = "libfakemetal.so"

// compilers are what builds for a processor, and its trampoline.
type compilers struct{ cc, cxx, trampoline string }

// compilersFor are this machine's own, or those of Debian that build for
// another.
func compilersFor(goarch string) (compilers, error) {
	c, ok := map[string]compilers{
		"amd64": {"x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++", "send_amd64.S"},
		"arm64": {"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "send_arm64.S"},
	}[goarch]
	if !ok {
		return c, fmt.Errorf("build the fake Metal: not for %s", goarch)
	}
	if goarch == runtime.GOARCH {
		c.cc, c.cxx = "cc", "c++"
	}
	return c, nil
}

// Make compiles a fake for a processor into a folder and returns its path. It
// takes seconds; Copy makes others of it.
func Make(dir, goarch string) (string, error) {
	c, err := compilersFor(goarch)
	if err != nil {
		return "", err
	}
	if err := write(dir); err != nil {
		return "", err
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	flags := []string{"-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC",
		"-pthread", "-I" + dir}
	var steps [][]string
	link := []string{c.cxx, "-std=c++17", "-O2", "-fsigned-char", "-shared", "-fPIC", "-pthread", "-I" + dir,
		"-o", path(FileName), path(shim.FileCPU)}
	for _, name := range []string{"runtime.c", "foundation.c", "device.c", "memory.c", "code.c", "work.c",
		c.trampoline} {
		object := path(name + ".o")
		steps = append(steps, append([]string{c.cc, "-c", path(name), "-o", object}, flags...))
		link = append(link, object)
	}
	for _, step := range append(steps, append(link, "-ldl")) {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the fake Metal (needs C and C++ compilers for %s): %w\n%s",
				goarch, err, out)
		}
	}
	return path(FileName), nil
}

// write puts the sources into a folder.
func write(dir string) error {
	if err := shim.Write(dir, kernels.MetalSource()); err != nil {
		return err
	}
	entries, err := sources.ReadDir("fake")
	if err != nil {
		return fmt.Errorf("read the fake's sources: %w", err)
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		if texts[e.Name()], err = sources.ReadFile("fake/" + e.Name()); err != nil {
			return fmt.Errorf("read the fake's sources: %w", err)
		}
	}
	all, err := Shapes()
	if err != nil {
		return err
	}
	texts["shapes.h"] = []byte(header(all))
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return fmt.Errorf("write the fake's sources: %w", err)
		}
	}
	return nil
}

// Copy copies a fake into a folder of the test and tells it what to say and to
// plant. A loader takes each copy for another library, with a state of its own.
//
// Lines: "devices N", "name TEXT", "total BYTES", "families LIST" of
// MTLGPUFamily numbers, "group N" (the most threads of a group), "without LIST"
// of selectors that this system does not have, "forwards 1" (objects deny what
// they forward, as those of a debug layer). Faults: "buffer_nil_at N",
// "queue_nil_at N", "command_nil_at N", "encoder_nil_at N" (the nth is nil),
// "compile_error TEXT", "pipeline_error TEXT", "residency_error TEXT",
// "command_error_at N CODE" (the nth command buffer ends with it), "zeros 1"
// (kernels do nothing), "lag_us MICROS" (before each completion).
func Copy(tb testing.TB, library string, conf ...string) string {
	tb.Helper()
	return standin.Copy(tb, library, conf...)
}
