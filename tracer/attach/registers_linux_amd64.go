package attach

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Notes of sets of registers, by linux/elf.h.
const (
	noteGeneral  = 1     // NT_PRSTATUS
	noteFloat    = 2     // NT_PRFPREG
	noteExtended = 0x202 // NT_X86_XSTATE
)

// registers are the general ones.
type registers struct{ unix.PtraceRegs }

func wideNotes() []int { return []int{noteExtended, noteFloat} }

func (r *registers) read(pid int) error {
	_, err := registerSet(unix.PTRACE_GETREGSET, pid, noteGeneral, unsafe.Pointer(r), int(unsafe.Sizeof(*r)))
	return err
}

func (r *registers) write(pid int) error {
	_, err := registerSet(unix.PTRACE_SETREGSET, pid, noteGeneral, unsafe.Pointer(r), int(unsafe.Sizeof(*r)))
	return err
}

func (r *registers) pc() uint64     { return r.Rip }
func (r *registers) result() uint64 { return r.Rax }

// inNoCall keeps the kernel from beginning an interrupted system call again: the
// registers that are put back at the end have it do that.
func (r *registers) inNoCall() { r.Orig_rax = ^uint64(0) }

// setSystemCall prepares one system call at an instruction.
func (r *registers) setSystemCall(instruction, number uint64, args []uint64) {
	r.inNoCall()
	r.Rip, r.Rax = instruction, number
	for i, to := range [...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		if i < len(args) {
			*to = args[i]
		}
	}
}

// setCall prepares a call of a function on a stack that ends below an address. It
// returns the address from which on the stack must be zero: that is where the
// function returns to.
func (r *registers) setCall(stack, function uint64, args []uint64) uint64 {
	const directionFlag, word = 1 << 10, 8
	r.inNoCall()
	r.Eflags &^= directionFlag
	r.Rsp = stack - 16 - word
	r.Rip, r.Rax, r.Rbp = function, 0, 0
	for i, to := range [...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx} {
		if i < len(args) {
			*to = args[i]
		}
	}
	return r.Rsp
}

// isSystemCall reports whether an instruction begins with b.
func isSystemCall(b []byte) bool { return len(b) >= 2 && b[0] == 0x0f && b[1] == 0x05 }

const instructionStep = 1 // instructions may begin anywhere
