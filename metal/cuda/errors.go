package cuda

import (
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/metal"
)

// The errors that a caller branches on. They match metal.ErrUnsupported where
// another driver should be taken.
var (
	ErrNoDriver = fmt.Errorf("no NVIDIA driver: %w", metal.ErrUnsupported)
	ErrNoDevice = fmt.Errorf("no NVIDIA device: %w", metal.ErrUnsupported)
	// ErrLost is for a device on which nothing will work any more in this
	// process.
	ErrLost = errors.New("the device is lost to this process")
)

// Code is a CUresult.
type Code uint32

// The codes that are treated apart (NVIDIA, CUDA driver API, enum CUresult).
const (
	codeSuccess         Code = 0
	codeInvalidValue    Code = 1
	codeOutOfMemory     Code = 2
	codeNotInitialized  Code = 3
	codeDeinitialized   Code = 4
	codeStubLibrary     Code = 34
	codeUnavailable     Code = 46
	codeNoDevice        Code = 100
	codeInvalidDevice   Code = 101
	codeInvalidImage    Code = 200
	codeNoBinary        Code = 209
	codeECC             Code = 214
	codeInvalidPTX      Code = 218
	codeNoJIT           Code = 221
	codePTXVersion      Code = 222
	codeNotFound        Code = 500
	codeNotReady        Code = 600
	codeIllegalAddress  Code = 700
	codeLaunchTimeout   Code = 702
	codeAssert          Code = 710
	codeHardwareStack   Code = 714
	codeLaunchFailed    Code = 719
	codeNotPermitted    Code = 800
	codeNotSupported    Code = 801
	codeSystemNotReady  Code = 802
	codeDriverMismatch  Code = 803
	codeCompatibility   Code = 804
	codeSymbolIsMissing Code = 1<<32 - 1 // ours
)

// sticky reports that the context is spoilt.
func (c Code) sticky() bool {
	return c == codeECC || c == codeIllegalAddress || c == codeLaunchTimeout || c == codeAssert ||
		c >= codeHardwareStack && c <= codeLaunchFailed || c == codeDeinitialized
}

// Error is a refusal of the driver or of the loader, on one line: what was
// done, what went wrong, what to try. It is immutable.
type Error struct {
	Op   string // what was done, as in "load the kernels"
	Code Code   // 0 when the library was not even loaded
	Text string // what went wrong, in the driver's words where it has some
	Hint string // what to try; empty when nothing helps
	is   error
}

// Error returns the line.
func (e *Error) Error() string {
	s := "cuda: " + e.Op + ": " + e.Text
	if e.Code != codeSuccess && e.Code != codeSymbolIsMissing {
		s = fmt.Sprintf("%s (code %d)", s, e.Code)
	}
	if e.Hint != "" {
		s += "; try: " + e.Hint
	}
	return s
}

// Unwrap returns the sentinel that describes the error, if there is one.
func (e *Error) Unwrap() error { return e.is }

// advice is what to try about a code, and the sentinel that it matches.
func advice(c Code) (hint string, is error) {
	switch c {
	case codeOutOfMemory:
		return "see gpumem diagnose for who holds the device's memory", metal.ErrOutOfMemory
	case codeStubLibrary:
		return "take the toolkit's stub library out of the library path", ErrNoDriver
	case codeUnavailable:
		return "end the process that holds the device exclusively", ErrNoDevice
	case codeNoDevice:
		return "check CUDA_VISIBLE_DEVICES and nvidia-smi", ErrNoDevice
	case codeInvalidDevice:
		return "gpumem devices lists what is here", ErrNoDevice
	case codeInvalidImage, codeNoBinary, codeInvalidPTX, codeNoJIT, codePTXVersion:
		return "update the driver; it must compile PTX 6.0 for this device", metal.ErrUnsupported
	case codeNotPermitted:
		return "check that /dev/nvidiactl and /dev/nvidia* are accessible", ErrNoDevice
	case codeNotSupported, codeSymbolIsMissing:
		return "update the driver", metal.ErrUnsupported
	case codeSystemNotReady:
		return "start nvidia-fabricmanager", ErrNoDevice
	case codeDriverMismatch:
		return "reboot, or reload the nvidia kernel module, after the driver update", ErrNoDriver
	case codeCompatibility:
		return "take the compatibility library out of the library path", ErrNoDriver
	}
	if c.sticky() {
		return "look for Xid messages in dmesg; start the program again", ErrLost
	}
	return "", nil
}
