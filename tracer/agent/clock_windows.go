package agent

import (
	"math/bits"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// monotonicNow is the performance counter in nanoseconds; Windows has no
// CLOCK_MONOTONIC.
func monotonicNow() int64 {
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	counter, frequency := kernel.NewProc("QueryPerformanceCounter"),
		kernel.NewProc("QueryPerformanceFrequency")
	var count, perSecond uint64
	if counter.Find() != nil || frequency.Find() != nil {
		return time.Now().UnixNano()
	}
	counter.Call(uintptr(unsafe.Pointer(&count)))
	frequency.Call(uintptr(unsafe.Pointer(&perSecond)))
	if perSecond == 0 {
		return time.Now().UnixNano()
	}
	hi, lo := bits.Mul64(count, uint64(time.Second))
	ns, _ := bits.Div64(hi%perSecond, lo, perSecond)
	return int64(ns)
}
