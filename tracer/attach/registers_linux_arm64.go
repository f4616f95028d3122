package attach

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Notes of sets of registers, by linux/elf.h.
const (
	noteGeneral  = 1     // NT_PRSTATUS
	noteFloat    = 2     // NT_PRFPREG
	noteScalable = 0x405 // NT_ARM_SVE
)

// registers are the general ones.
type registers struct{ unix.PtraceRegs }

func wideNotes() []int { return []int{noteScalable, noteFloat} }

func (r *registers) read(pid int) error {
	_, err := registerSet(unix.PTRACE_GETREGSET, pid, noteGeneral, unsafe.Pointer(r), int(unsafe.Sizeof(*r)))
	return err
}

func (r *registers) write(pid int) error {
	_, err := registerSet(unix.PTRACE_SETREGSET, pid, noteGeneral, unsafe.Pointer(r), int(unsafe.Sizeof(*r)))
	return err
}

func (r *registers) pc() uint64     { return r.Pc }
func (r *registers) result() uint64 { return r.Regs[0] }

// setSystemCall prepares one system call at an instruction.
func (r *registers) setSystemCall(instruction, number uint64, args []uint64) {
	const numberRegister = 8
	r.Pc, r.Regs[numberRegister] = instruction, number
	copy(r.Regs[:], args)
}

// setCall prepares a call of a function on a stack that ends below an address. It
// returns the address from which on the stack must be zero.
func (r *registers) setCall(stack, function uint64, args []uint64) uint64 {
	const frameRegister, linkRegister = 29, 30
	r.Sp = stack - 16
	r.Pc, r.Regs[frameRegister], r.Regs[linkRegister] = function, 0, 0
	copy(r.Regs[:], args)
	return r.Sp
}

// isSystemCall reports whether b begins with svc #0.
func isSystemCall(b []byte) bool {
	return len(b) >= 4 && b[0] == 0x01 && b[1] == 0 && b[2] == 0 && b[3] == 0xd4
}

const instructionStep = 4
