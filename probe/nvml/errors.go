package nvml

import (
	"fmt"
)

// Code is a return code of the library.
type Code uint32

// Return codes, as in NVIDIA's header; only those that are treated apart.
const (
	codeSuccess          Code = 0
	codeUninitialized    Code = 1
	codeInvalidArgument  Code = 2
	codeNotSupported     Code = 3
	codeNoPermission     Code = 4
	codeNotFound         Code = 6
	codeInsufficientSize Code = 7
	codeDriverNotLoaded  Code = 9
	codeTimeout          Code = 10
	codeLibraryNotFound  Code = 12
	codeFunctionNotFound Code = 13
	codeGPULost          Code = 15
	codeResetRequired    Code = 16
	codeOperatingSystem  Code = 17
	codeVersionMismatch  Code = 18
	codeMemory           Code = 20
	codeArgumentVersion  Code = 25
	codeNotReady         Code = 27
	codeGPUNotFound      Code = 28
)

// meaning is what a code says to a person: the fact, what to try, and the
// sentinel that a caller may branch on.
type meaning struct {
	text string
	try  string
	is   error
}

// explain returns the meaning of a code. A switch instead of a table keeps
// the package free of state that could be written to.
func explain(c Code) meaning {
	switch c {
	case codeUninitialized:
		return meaning{"library is not initialised", "reopen it", ErrClosed}
	case codeInvalidArgument:
		return meaning{"the driver refused the argument", "check the device index", ErrNoDevice}
	case codeNotSupported:
		return meaning{"not supported by this device or mode", "nothing: this device has no such figure",
			ErrUnsupported}
	case codeNoPermission:
		return meaning{"no permission", "run as root or as the owner of the process", ErrNoPermission}
	case codeNotFound:
		return meaning{"not found", "check that the process still runs", ErrNoDevice}
	case codeInsufficientSize:
		return meaning{"the list kept growing while it was read", "ask again", nil}
	case codeDriverNotLoaded:
		return meaning{"the kernel driver is not loaded",
			"modprobe nvidia, or start the container with GPU access", ErrNoDriver}
	case codeTimeout:
		return meaning{"the driver timed out", "look for Xid messages in dmesg", ErrTimeout}
	case codeLibraryNotFound:
		return meaning{"a library of the driver is missing", "reinstall the driver's user-space part",
			ErrNoLibrary}
	case codeFunctionNotFound, codeArgumentVersion:
		return meaning{"this driver is too old for the call", "update the driver", ErrUnsupported}
	case codeGPULost:
		return meaning{"the GPU is lost (fell off the bus)",
			"look for Xid 79 in dmesg, then reset the GPU or reboot", ErrGPULost}
	case codeResetRequired:
		return meaning{"the GPU needs a reset",
			"nvidia-smi --gpu-reset, with nothing running on it", ErrGPULost}
	case codeOperatingSystem:
		return meaning{"the operating system refused access to the GPU",
			"check that /dev/nvidiactl and /dev/nvidia* are accessible", ErrNoPermission}
	case codeVersionMismatch:
		return meaning{"driver and library versions differ",
			"reboot, or reload the nvidia kernel module, after the driver update", ErrMismatch}
	case codeMemory:
		return meaning{"the library is out of memory", "free host memory", nil}
	case codeNotReady:
		return meaning{"the device is not ready", "ask again", nil}
	case codeGPUNotFound:
		return meaning{"no GPU found", "check lspci and CUDA_VISIBLE_DEVICES", ErrNoDevice}
	}
	return meaning{"unknown error", "look for NVRM messages in dmesg", nil}
}

// Error is a refusal of the driver, of its library, or of the loader, on one
// line: what was done, what went wrong, what to try. It is immutable.
type Error struct {
	Op     string // what was done, as in "list compute processes"
	Device int    // index, or -1 when no device was concerned
	Code   Code   // 0 when the library was not even loaded
	Text   string // what went wrong
	Hint   string // what to try; empty when nothing helps
	is     error
}

// Error returns the line.
func (e *Error) Error() string {
	s := "nvml: " + e.Op
	if e.Device >= 0 {
		s = fmt.Sprintf("%s of device %d", s, e.Device)
	}
	s += ": " + e.Text
	if e.Code != codeSuccess {
		s = fmt.Sprintf("%s (code %d)", s, e.Code)
	}
	if e.Hint != "" {
		s += "; try: " + e.Hint
	}
	return s
}

// Unwrap returns the sentinel that describes the error, if there is one.
func (e *Error) Unwrap() error { return e.is }

// failure makes the error of a call, nil when the call succeeded.
func failure(op string, device int, c Code) error {
	if c == codeSuccess {
		return nil
	}
	m := explain(c)
	return &Error{Op: op, Device: device, Code: c, Text: m.text, Hint: m.try, is: m.is}
}

// noSuchDevice is the answer to an index out of range.
func noSuchDevice(op string, device, count int) error {
	e := &Error{Op: op, Device: device, is: ErrNoDevice, Hint: "gpumem devices lists what is here"}
	switch count {
	case 0:
		e.Text = "the driver shows no device"
	default:
		e.Text = fmt.Sprintf("index out of range, devices are 0 to %d", count-1)
	}
	return e
}
