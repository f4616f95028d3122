package apple

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/metal"
)

// The errors that a caller branches on. The first three match
// metal.ErrUnsupported: another driver should be taken.
var (
	ErrNoMetal  = fmt.Errorf("no Metal: %w", metal.ErrUnsupported)
	ErrNoDevice = fmt.Errorf("no Metal device: %w", metal.ErrUnsupported)
	// ErrOldSystem is for a Metal without something that this driver needs.
	ErrOldSystem = fmt.Errorf("this Metal lacks what is needed: %w", metal.ErrUnsupported)
	// ErrCompile is for kernels that the system's compiler refuses.
	ErrCompile = errors.New("the kernels do not compile")
	// ErrLost is for a device on which nothing will work any more.
	ErrLost = errors.New("the device is gone")
)

// Code is the code of an NSError: of a command buffer an
// MTLCommandBufferError.
type Code int

// The codes of command buffers that are treated apart (Apple,
// MTLCommandBuffer.h). There is no 5 and 6.
const (
	codeTimeout       Code = 2
	codePageFault     Code = 3
	codeAccessRevoked Code = 4
	codeNotPermitted  Code = 7
	codeOutOfMemory   Code = 8
	codeDeviceRemoved Code = 11
	codeStackOverflow Code = 12
)

// Error is a refusal of the system, on one line: what was done, the system's
// own words, what to try. It is immutable.
type Error struct {
	Op   string // what was done, as in "compile the kernels"
	Code Code   // of the NSError; 0 when there was none
	Text string // what went wrong, in the system's words where it has some
	Hint string // what to try; empty when nothing helps
	is   error
}

// Error returns the line.
func (e *Error) Error() string {
	s := "metal: " + e.Op + ": " + e.Text
	if e.Code != 0 {
		s = fmt.Sprintf("%s (code %d)", s, e.Code)
	}
	if e.Hint != "" {
		s += "; try: " + e.Hint
	}
	return s
}

// Unwrap returns the sentinel that describes the error, if there is one.
func (e *Error) Unwrap() error { return e.is }

// advice is what to try about the code of a command buffer, and the sentinel
// that it matches.
func advice(c Code) (hint string, is error) {
	switch c {
	case codeTimeout:
		return "smaller command buffers; the GPU was busy for too long", nil
	case codePageFault:
		return "look for a buffer that a kernel reads or writes beyond its end", nil
	case codeAccessRevoked:
		return "start the program again; the system has stopped its GPU work", ErrLost
	case codeNotPermitted:
		return "bring the program to the foreground", nil
	case codeOutOfMemory:
		return "see gpumem diagnose for who holds the memory", metal.ErrOutOfMemory
	case codeDeviceRemoved:
		return "start the program again", ErrLost
	case codeStackOverflow:
		return "update macOS", nil
	}
	return "", nil
}

// oneLine joins the lines of the system's words; a compiler writes several.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	const most = 600 // bytes of it are enough to know
	s := strings.Join(lines, " / ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
