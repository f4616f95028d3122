// A planted fault in Go, without cgo, and its healthy twin: fault kept [healthy]. With some in
// the place of kept one of two is given back.
package main

import (
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

var driver struct {
	alloc, free uintptr
	kept        []uint64
}

func call(f uintptr, args ...uintptr) {
	if rc, _, _ := purego.SyscallN(f, args...); int32(rc) != 0 {
		panic(int32(rc))
	}
}

//go:noinline
func remember(size uintptr, healthy bool) {
	p := new(uint64)
	call(driver.alloc, uintptr(unsafe.Pointer(p)), size)
	if healthy {
		call(driver.free, uintptr(*p))
		return
	}
	driver.kept = append(driver.kept, *p)
}

func main() {
	runtime.LockOSThread()
	lib, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW)
	if err != nil {
		panic(err)
	}
	find := func(name string) uintptr {
		f, err := purego.Dlsym(lib, name)
		if err != nil {
			panic(err)
		}
		return f
	}
	driver.alloc, driver.free = find("cuMemAlloc_v2"), find("cuMemFree_v2")
	ctx := new(uint64)
	call(find("cuInit"), 0)
	call(find("cuDevicePrimaryCtxRetain"), uintptr(unsafe.Pointer(ctx)), 0)
	call(find("cuCtxSetCurrent"), uintptr(*ctx))
	steps, err := strconv.Atoi(os.Getenv("FAULT_STEPS"))
	if err != nil {
		steps = 1600
	}
	for step := range steps {
		if step%5 == 0 {
			remember(1<<20, len(os.Args) > 2 || os.Args[1] == "some" && step%2 == 0)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
