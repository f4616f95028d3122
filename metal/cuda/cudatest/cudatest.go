// Package cudatest builds a stub of NVIDIA's driver library, so that tests of
// metal/cuda and of what runs on it need no GPU. The stub runs kernels.metal as
// C++; it shows that the calls are right and in order, not what NVIDIA's driver
// makes of them. It needs a C++ compiler; it is meant for Linux.
package cudatest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/kernels/shim"
)

//go:embed stub/driver.cc
var source []byte

// FileName is what the system calls the driver library.
const FileName = "libcuda.so.1"

// Variant is how much of the library's history a stub exports.
type Variant string

// The variants: WithoutPools is a driver before CUDA 11.2, WithoutLaunch lacks
// a call that everything needs.
const (
	Newest        Variant = ""
	WithoutPools  Variant = "-DWITHOUT_POOLS"
	WithoutLaunch Variant = "-DcuLaunchKernel=cuLaunchKernelIsMissing"
)

// Make compiles a stub into a folder and returns its path. It takes seconds;
// Copy makes others of it.
func Make(dir string, v Variant) (string, error) {
	if err := shim.Write(dir, kernels.MetalSource()); err != nil {
		return "", err
	}
	driver, library := filepath.Join(dir, "driver.cc"), filepath.Join(dir, FileName)
	if err := os.WriteFile(driver, source, 0o600); err != nil {
		return "", fmt.Errorf("write the stub's source: %w", err)
	}
	args := []string{"-std=c++17", "-O2", "-fsigned-char", "-Wall", "-shared", "-fPIC", "-pthread",
		"-I" + dir, "-o", library,
		driver, filepath.Join(dir, shim.FileCPU), "-ldl"}
	if v != Newest {
		args = append([]string{string(v)}, args...)
	}
	if out, err := exec.Command("c++", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the stub library (needs a C++ compiler): %w\n%s", err, out)
	}
	return library, nil
}

// Copy copies a stub into a folder of the test and tells it what to say and to
// plant. A loader takes each copy for another library, with a state of its own.
// Lines: "devices N", "name TEXT", "total BYTES", "pools 0" (the device has
// none), "integrated 1"; faults: "init CODE", "context CODE", "module CODE",
// "alloc_fail_at N [CODE]" (the nth allocation), "launch_fail_at N [CODE]" (the
// nth launch is refused), "lost_at N [CODE]" (the nth kernel that runs spoils the
// context), "lag_us MICROS" (before each completion).
func Copy(tb testing.TB, library string, conf ...string) string {
	tb.Helper()
	return standin.Copy(tb, library, conf...)
}
