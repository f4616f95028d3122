package capture

import (
	"errors"
	"fmt"
)

// Mode is the way into the program.
type Mode string

// The modes of `gpumem run --inject`.
const (
	ModePreload Mode = "preload"
	ModeAudit   Mode = "audit"
	ModeEBPF    Mode = "ebpf"
	ModeNone    Mode = "none"
)

// ErrUnsupported is wrapped by errors of what this system or processor has no
// means for. Capture works on Linux, amd64 and arm64.
var ErrUnsupported = errors.New("not supported here")

// ErrPrivileges is wrapped by errors of Attach when the kernel refuses.
var ErrPrivileges = errors.New("missing privileges")

// parseMode reads a mode's name.
func parseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case ModePreload, ModeAudit, ModeEBPF, ModeNone:
		return m, nil
	}
	return "", fmt.Errorf("inject mode %q: want preload, audit, ebpf or none", name)
}

// Names of what the interposer reads in its environment.
const (
	EnvDir   = "GPUMEM_CAPTURE_DIR"   // set by Prepare
	EnvStack = "GPUMEM_STACK"         // fp (default) or none
	EnvPurge = "GPUMEM_CAPTURE_PURGE" // set: the driver's pools are trimmed when the program exits
	EnvSlots = "GPUMEM_CAPTURE_SLOTS" // events in a ring, 64 to 1,048,576; default 32,768
)
