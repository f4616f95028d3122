//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

import (
	"math"
	"unsafe"

	"github.com/gpumem/gpumem/probe/source"
)

// Numbers that the library gives its sensor and its clocks.
const (
	sensorGPU   = 0
	clockSM     = 1
	clockMemory = 2
)

// vitals asks each device for each figure; a call that the library lacks, or that a
// device refuses, leaves its figure unknown.
func (n *native) vitals() []source.Vitals {
	list := make([]source.Vitals, len(n.devices))
	for i, d := range n.devices {
		list[i] = source.UnknownVitals()
		if d.err == codeSuccess {
			n.readVitals(d.h, &list[i])
		}
	}
	return list
}

func (n *native) readVitals(h handle, v *source.Vitals) {
	busy := new([2]uint32) // of what computes, of the memory
	if n.t.call1(symUtilization, h, unsafe.Pointer(&busy[0])) == codeSuccess {
		v.BusyPercent, v.MemoryBusyPercent = small(busy[0]), small(busy[1])
	}
	out := new(uint32)
	for _, x := range [...]struct {
		s  symbol
		to *int64
	}{{symPower, &v.Milliwatts}, {symPowerLimit, &v.LimitMilliwatts}} {
		if n.t.call1(x.s, h, unsafe.Pointer(out)) == codeSuccess {
			*x.to = small(*out)
		}
	}
	for _, x := range [...]struct {
		s  symbol
		of uintptr
		to *int64
	}{
		{symTemperature, sensorGPU, &v.Celsius}, {symClock, clockSM, &v.MHz},
		{symClock, clockMemory, &v.MemoryMHz},
	} {
		if n.t.callIndex(x.s, h, x.of, unsafe.Pointer(out)) == codeSuccess {
			*x.to = small(*out)
		}
	}
}

// small is a figure of the library; every bit set stands for none.
func small(v uint32) int64 {
	if v == math.MaxUint32 {
		return Unknown
	}
	return int64(v)
}
