//go:build linux && (amd64 || arm64)

package shim_test

import (
	"errors"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/kernels/shim"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// compilers that read the source here; the first must be.
var compilers = []string{"g++", "clang++-14"}

func TestTheMetalSourceComputesWhatTheReferencesDo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for i, compiler := range compilers {
		if _, err := exec.LookPath(compiler); err != nil && i > 0 {
			t.Logf("not tested: no %s", compiler)
			continue
		}
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			source := build(t, compiler)
			metaltest.Kernels(t, source.run)
		})
	}
}

// TestTheMetalSourceAgreesWithGo compares special values, at which the
// references do not look.
func TestTheMetalSourceAgreesWithGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	source := build(t, compilers[0])
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	values := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 0.44, 0.45, -0.45, 0.46, 9, -9, 20, 88.7, 88.73, -87,
		-88, -103, -104,
		1000, -1000, inf, -inf, nan, math.SmallestNonzeroFloat32, math.MaxFloat32,
	}
	for v := float32(-12); v < 12; v += 0.0037 {
		values = append(values, v)
	}
	for _, name := range []string{"tanh", "sigmoid", "relu", "softmax"} {
		k, _ := kernels.ByName(name)
		for _, x := range values {
			args := [][]byte{kernels.Float32Bytes(x), make([]byte, 4)}
			if name == "softmax" {
				args = [][]byte{append(kernels.Float32Bytes(x), kernels.Float32Bytes(0.5)...),
					make([]byte, 8), kernels.Int32Bytes(1), kernels.Int32Bytes(2)}
			}
			got := value(t, args, func() error { return source.run(k, metal.Size{X: 1}, args) })
			want := value(t, args, func() error {
				return k.Run(kernels.Call{Grid: metal.Size{X: 1}, Args: args})
			})
			if off := math.Abs(float64(got) - float64(want)); !(off <= 1e-6*math.Abs(float64(want))+
				0x1p-126) && !same(got, want) {
				t.Errorf("%s of %v is %v, in Go %v", name, x, got, want)
			}
		}
	}
}

func same(a, b float32) bool { return a == b || a != a && b != b }

// value is the first value of the second argument after f.
func value(t *testing.T, args [][]byte, f func() error) float32 {
	t.Helper()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	out, err := kernels.AsF32(args[1])
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// library is the source as a processor's code.
type library map[string]uintptr

// build compiles the source and loads it.
func build(t *testing.T, compiler string) library {
	t.Helper()
	dir := t.TempDir()
	if err := shim.Write(dir, kernels.MetalSource()); err != nil {
		t.Fatal(err)
	}
	so := filepath.Join(dir, "kernels.so")
	cmd := exec.Command(compiler, "-std=c++17", "-O2", "-fsigned-char", "-Wall", "-Werror", "-shared",
		"-fPIC", "-I"+dir,
		"-o", so, filepath.Join(dir, shim.FileCPU))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	handle, err := purego.Dlopen(so, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	table, err := purego.Dlsym(handle, "gpumem_kernels")
	if err != nil {
		t.Fatal(err)
	}
	found := library{}
	for e := (*entry)(*(*unsafe.Pointer)(unsafe.Pointer(&table))); e.name != nil; e = (*entry)(unsafe.Add(unsafe.Pointer(e), unsafe.Sizeof(*e))) {
		found[text(e.name)] = e.run
	}
	return found
}

// entry is struct gpumem_kernel.
type entry struct {
	name                *byte
	buffers, parameters int32
	plane               int32
	run                 uintptr
}

func text(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (l library) run(k kernels.Kernel, grid metal.Size, args [][]byte) error {
	run, ok := l[k.Name]
	if !ok {
		return errors.New("it is not in the source")
	}
	addresses := make([]unsafe.Pointer, len(args))
	for i, a := range args {
		addresses[i] = unsafe.Pointer(unsafe.SliceData(a))
	}
	purego.SyscallN(run, uintptr(unsafe.Pointer(&addresses[0])), uintptr(max(grid.X, 1)),
		uintptr(max(grid.Y, 1)))
	runtime.KeepAlive(addresses)
	return nil
}
