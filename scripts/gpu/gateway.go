//go:build ignore

// A gateway in Go with a known truth, for more.sh with SOURCE=gateway: it calls the driver
// without cgo. Each program is faulty, or with --healthy its twin.
//
//	gateway NAME [--healthy] [--seconds N]
//	gateway --list     name, verdict, sites of the fault, of which one is to be named
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

const mib = 1 << 20

var (
	healthy bool
	end     time.Time
	driver  struct{ alloc, free, fill, read, setCurrent, context uintptr }
)

// call may move no argument that is a pointer's number.
//
//go:uintptrescapes
func call(what string, f uintptr, args ...uintptr) {
	if rc, _, _ := purego.SyscallN(f, args...); int32(rc) != 0 {
		fmt.Fprintf(os.Stderr, "%s: error %d\n", what, int32(rc))
		os.Exit(1)
	}
}

func open() {
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
	context := new(uintptr)
	call("cuInit", find("cuInit"), 0)
	call("cuDevicePrimaryCtxRetain", find("cuDevicePrimaryCtxRetain"), uintptr(unsafe.Pointer(context)), 0)
	driver.context, driver.setCurrent = *context, find("cuCtxSetCurrent")
	driver.alloc, driver.free = find("cuMemAlloc_v2"), find("cuMemFree_v2")
	driver.fill, driver.read = find("cuMemsetD8_v2"), find("cuMemcpyDtoH_v2")
}

// onDevice calls f on a thread that has the device's context, wherever it ran before.
func onDevice(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	call("cuCtxSetCurrent", driver.setCurrent, driver.context)
	f()
}

// turn waits, and says whether there is another turn.
func turn(wait time.Duration) bool {
	time.Sleep(wait)
	return time.Now().Before(end)
}

type buffer struct{ at, size uintptr }

//go:noinline
func newBuffer(size uintptr) *buffer {
	p := new(uintptr)
	onDevice(func() {
		call("cuMemAlloc", driver.alloc, uintptr(unsafe.Pointer(p)), size)
		call("cuMemsetD8", driver.fill, *p, 1, size)
	})
	return &buffer{at: *p, size: size}
}

func (b *buffer) close() {
	onDevice(func() { call("cuMemFree", driver.free, b.at) })
}

func (b *buffer) copyTo(bytes []byte) {
	onDevice(func() {
		call("cuMemcpyDtoH", driver.read, uintptr(unsafe.Pointer(&bytes[0])), b.at, uintptr(len(bytes)))
	})
}

// serveStreams has a goroutine for each stream of answers. One whose client is gone leaves
// the table only when the client said so.
func serveStreams() {
	var streams sync.Map // number to buffer
	var open sync.WaitGroup
	for number := 0; turn(250 * time.Millisecond); number++ {
		open.Add(1)
		go func() {
			defer open.Done()
			b := newBuffer(uintptr(1+number%4) * mib)
			streams.Store(number, b)
			time.Sleep(time.Duration(1+number%5) * 500 * time.Millisecond)
			saidSo := number%3 != 0
			if saidSo || healthy {
				streams.Delete(number)
				b.close()
			}
		}()
	}
	open.Wait()
}

// answer computes in a goroutine and waits for that, but not for ever. Faulty: what comes
// late finds nobody who takes it, so that its goroutine stays with its answer.
func answer(weights *buffer, late bool) {
	answers := make(chan []byte)
	if healthy {
		answers = make(chan []byte, 1)
	}
	go func() {
		bytes := make([]byte, 256<<10)
		weights.copyTo(bytes)
		if late {
			time.Sleep(60 * time.Millisecond)
		}
		answers <- bytes
	}()
	select {
	case <-answers:
	case <-time.After(40 * time.Millisecond):
	}
}

func answerInTime(weights *buffer) {
	for number := 0; turn(20 * time.Millisecond); number++ {
		answer(weights, number%4 == 0)
	}
}

type program struct {
	name, verdict, site string
	work                func(weights *buffer)
}

var programs = []program{
	{"streams", "app-leak", "newBuffer|serveStreams", func(*buffer) { serveStreams() }},
	{"goroutines", "host-growth", "-", answerInTime},
}

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	seconds := 20.
	if i := slices.Index(os.Args, "--seconds"); i > 0 && i+1 < len(os.Args) {
		seconds, _ = strconv.ParseFloat(os.Args[i+1], 64)
	}
	healthy = slices.Contains(os.Args, "--healthy")
	end = time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for _, p := range programs {
		switch os.Args[1] {
		case "--list":
			fmt.Println(p.name, p.verdict, p.site)
		case p.name:
			open()
			p.work(newBuffer(200 * mib))
			return
		}
	}
	if os.Args[1] != "--list" {
		os.Exit(2)
	}
}
