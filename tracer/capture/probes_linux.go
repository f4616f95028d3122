package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// The probes write calls of this layout, in u64 unless said:
//
//	0    cookie: number of the function; bit 16: it takes away
//	8    time (monotonic, ns), 16 thread, 24 result
//	32   five arguments
//	72   what the first argument points to, after the call
//	80   48 bytes behind the second argument, after the call
//	128  16 bytes behind the third
//	144  return address, 152 eight frames of the caller's, as the kernel walks them
//	216  stack pointer, 224 depth of calls within, 232 flags (1: a free failed)
//	240  8 bytes after those that the first argument points to, after the call
//	248  24 bytes above the return address on the stack, where amd64 passes structures
const (
	callCookie = 0
	callTime   = 8
	callThread = 16
	callResult = 24
	callArgs   = 32
	callOut    = 72
	callIn1    = 80
	callIn2    = 128
	callReturn = 144
	callFrames = 152
	callSP     = 216
	callDepth  = 224
	callFlags  = 232
	callSecond = 240
	callStack  = 248
	callSize   = 272

	cookieTakes = 1 << 16

	eventsSize  = 4 << 20
	pendingSize = 16384 // threads that are inside the driver at once
)

// registers are the offsets of a processor's registers in what a probe gets.
type registers struct {
	args       [5]int16
	result, sp int16
	link       int16 // holds the return address; -1: it is on the stack
}

var processors = map[string]registers{
	"amd64": {args: [5]int16{112, 104, 96, 88, 72}, result: 80, sp: 152, link: -1},
	"arm64": {args: [5]int16{0, 8, 16, 24, 32}, result: 0, sp: 248, link: 240},
}

// The stack of the programs: the key, the answer about the PID, a call.
const (
	stackKey  = -8
	stackPID  = -16
	stackCall = stackPID - callSize
)

// probeSpec is the two programs for one process, and their maps. With multi
// the programs are for one link to many functions.
func probeSpec(pid int, multi bool) (*ebpf.CollectionSpec, error) {
	regs, ok := processors[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("probes on %s: %w", runtime.GOARCH, ErrUnsupported)
	}
	info, err := os.Stat(proc.Process("self/ns/pid"))
	if err != nil {
		return nil, fmt.Errorf("find own PID namespace: %w", err)
	}
	ns, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("find own PID namespace: no inode")
	}
	attach := ebpf.AttachNone
	if multi {
		attach = ebpf.AttachTraceUprobeMulti
	}
	program := func(body asm.Instructions) *ebpf.ProgramSpec {
		return &ebpf.ProgramSpec{
			Type: ebpf.Kprobe, AttachType: attach, License: "Dual MIT/GPL",
			Instructions: append(onlyProcess(pid, ns.Dev, ns.Ino), append(body, leave()...)...),
		}
	}
	return &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{
			"pending": {Type: ebpf.LRUHash, KeySize: 8, ValueSize: callSize, MaxEntries: pendingSize},
			"events":  {Type: ebpf.RingBuf, MaxEntries: eventsSize},
			"lost":    {Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1},
		},
		Programs: map[string]*ebpf.ProgramSpec{"entry": program(entryProgram(regs)),
			"return": program(returnProgram(regs))},
	}, nil
}

// onlyProcess leaves unless the caller is the process, by its PID in our
// namespace; R6 is then the registers, and the thread is the key.
func onlyProcess(pid int, dev, ino uint64) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadImm(asm.R1, int64(dev), asm.DWord),
		asm.LoadImm(asm.R2, int64(ino), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R10),
		asm.Add.Imm(asm.R3, stackPID),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
		asm.JNE.Imm(asm.R0, 0, "leave"),
		asm.LoadMem(asm.R1, asm.R10, stackPID+4, asm.Word),
		asm.JNE.Imm(asm.R1, int32(pid), "leave"),
		asm.LoadMem(asm.R7, asm.R10, stackPID, asm.Word),
		asm.StoreMem(asm.R10, stackKey, asm.R7, asm.DWord),
	}
}

func leave() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("leave"), asm.Return()}
}

func lookupPending() asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, 0).WithReference("pending"),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
	}
}

// send writes the call that R2 points to into the ring, or counts it as lost.
// after is the label behind it.
func send(after string) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, 0).WithReference("events"),
		asm.Mov.Imm(asm.R3, callSize),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.JEq.Imm(asm.R0, 0, after),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R10, stackPID, asm.R1, asm.Word),
		asm.LoadMapPtr(asm.R1, 0).WithReference("lost"),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackPID),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, after),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
	}
}

// readUser reads n bytes of the program's at the address in source into base+at.
func readUser(base asm.Register, at int32, n int32, source asm.Instruction) asm.Instructions {
	return asm.Instructions{
		source, // into R3
		asm.Mov.Reg(asm.R1, base),
		asm.Add.Imm(asm.R1, at),
		asm.Mov.Imm(asm.R2, n),
		asm.FnProbeReadUser.Call(),
	}
}

// entryProgram notes a call, and sends it when it takes something away. A call
// within another of the same thread is the driver's own.
func entryProgram(regs registers) asm.Instructions {
	p := asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.FnGetAttachCookie.Call(),
		asm.Mov.Reg(asm.R8, asm.R0),
	}
	p = append(p, lookupPending()...)
	p = append(p,
		asm.JEq.Imm(asm.R0, 0, "fresh"),
		// A call that was left without a return lies deeper than we are, or
		// exactly here.
		asm.LoadMem(asm.R1, asm.R0, callSP, asm.DWord),
		asm.LoadMem(asm.R2, asm.R6, regs.sp, asm.DWord),
		asm.JGT.Reg(asm.R2, asm.R1, "fresh"),
		asm.JNE.Reg(asm.R2, asm.R1, "nested"),
		asm.LoadMem(asm.R1, asm.R0, callCookie, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R8, "fresh"),
		asm.LoadMem(asm.R1, asm.R0, callDepth, asm.DWord).WithSymbol("nested"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, callDepth, asm.R1, asm.DWord),
		asm.Ja.Label("leave"),
		asm.Mov.Imm(asm.R1, 0).WithSymbol("fresh"),
	)
	for at := int16(0); at < callSize; at += 8 {
		p = append(p, asm.StoreMem(asm.R10, stackCall+at, asm.R1, asm.DWord))
	}
	p = append(p,
		asm.StoreMem(asm.R10, stackCall+callCookie, asm.R8, asm.DWord),
		asm.StoreMem(asm.R10, stackCall+callThread, asm.R7, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, regs.sp, asm.DWord),
		asm.StoreMem(asm.R10, stackCall+callSP, asm.R1, asm.DWord),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R10, stackCall+callTime, asm.R0, asm.DWord),
	)
	for i, at := range regs.args {
		p = append(p, asm.LoadMem(asm.R1, asm.R6, at, asm.DWord),
			asm.StoreMem(asm.R10, stackCall+callArgs+int16(8*i), asm.R1, asm.DWord))
	}
	if regs.link >= 0 {
		p = append(p, asm.LoadMem(asm.R1, asm.R6, regs.link, asm.DWord),
			asm.StoreMem(asm.R10, stackCall+callReturn, asm.R1, asm.DWord))
	} else {
		p = append(p, readUser(asm.R10, stackCall+callReturn, 8,
			asm.LoadMem(asm.R3, asm.R6, regs.sp, asm.DWord))...)
	}
	const (
		userStack = 1 << 8 // BPF_F_USER_STACK
		word      = 8
	)
	above := readUser(asm.R10, stackCall+callStack, callSize-callStack,
		asm.LoadMem(asm.R3, asm.R6, regs.sp, asm.DWord))
	p = append(p, above[0], asm.Add.Imm(asm.R3, word))
	p = append(p, above[1:]...)
	p = append(p,
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackCall+callFrames),
		asm.Mov.Imm(asm.R3, callSP-callFrames),
		asm.Mov.Imm(asm.R4, userStack),
		asm.FnGetStack.Call(),
		asm.LoadMapPtr(asm.R1, 0).WithReference("pending"),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackKey),
		asm.Mov.Reg(asm.R3, asm.R10),
		asm.Add.Imm(asm.R3, stackCall),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
		asm.And.Imm(asm.R8, cookieTakes),
		asm.JEq.Imm(asm.R8, 0, "leave"),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackCall),
	)
	return append(p, send("leave")...)
}

// returnProgram completes a call that makes something and sends it; of those
// that take away only the refused are sent once more.
func returnProgram(regs registers) asm.Instructions {
	p := lookupPending()
	p = append(p,
		asm.JEq.Imm(asm.R0, 0, "leave"),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.LoadMem(asm.R1, asm.R7, callDepth, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "outermost"),
		asm.Sub.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, callDepth, asm.R1, asm.DWord),
		asm.Ja.Label("leave"),
		asm.LoadMem(asm.R9, asm.R6, regs.result, asm.Word).WithSymbol("outermost"),
		asm.StoreMem(asm.R7, callResult, asm.R9, asm.DWord),
		asm.LoadMem(asm.R8, asm.R7, callCookie, asm.DWord),
		asm.And.Imm(asm.R8, cookieTakes),
		asm.JEq.Imm(asm.R8, 0, "makes"),
		asm.JEq.Imm(asm.R9, 0, "done"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, callFlags, asm.R1, asm.DWord),
		asm.Ja.Label("tell"),
	)
	makes := readUser(asm.R7, callOut, 8, asm.LoadMem(asm.R3, asm.R7, callArgs, asm.DWord))
	makes[0] = makes[0].WithSymbol("makes")
	p = append(p, makes...)
	second := readUser(asm.R7, callSecond, callStack-callSecond,
		asm.LoadMem(asm.R3, asm.R7, callArgs, asm.DWord))
	p = append(p, second[0], asm.Add.Imm(asm.R3, callStack-callSecond))
	p = append(p, second[1:]...)
	p = append(p, readUser(asm.R7, callIn1, callIn2-callIn1,
		asm.LoadMem(asm.R3, asm.R7, callArgs+8, asm.DWord))...)
	p = append(p, readUser(asm.R7, callIn2, callReturn-callIn2,
		asm.LoadMem(asm.R3, asm.R7, callArgs+16, asm.DWord))...)
	p = append(p, asm.Mov.Reg(asm.R2, asm.R7).WithSymbol("tell"))
	p = append(p, send("done")...)
	return append(p,
		asm.LoadMapPtr(asm.R1, 0).WithReference("pending").WithSymbol("done"),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapDeleteElem.Call(),
	)
}

// call is one decoded call of a probed function.
type call struct {
	function int
	failed   bool // a free that was sent before was refused
	event    event
	args     [5]uint64
	in1      [6]uint64
	in2      [2]uint64
	second   uint64    // behind what argument 0 points to
	stack    [3]uint64 // above the return address
}

// decodeCall reads what the probes sent; false is for what they do not send.
func decodeCall(b []byte) (call, bool) {
	if len(b) < callSize {
		return call{}, false
	}
	u := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	c := call{function: int(u(callCookie) & 0xffff), failed: u(callFlags)&1 != 0}
	if c.function >= len(probed) {
		return call{}, false
	}
	for i := range c.args {
		c.args[i] = u(callArgs + 8*i)
	}
	for i := range c.in1 {
		c.in1[i] = u(callIn1 + 8*i)
	}
	c.in2 = [2]uint64{u(callIn2), u(callIn2 + 8)}
	c.second = u(callSecond)
	c.stack = [3]uint64{u(callStack), u(callStack + 8), u(callStack + 16)}
	c.event = event{
		time: int64(u(callTime)), tid: uint32(u(callThread)), rc: int16(u(callResult)), device: -1,
		ptr: u(callOut), kind: probed[c.function].kind,
	}
	if c.event.rc != 0 {
		c.event.ptr = 0 // nothing was made: what lies there is the program's
	}
	// The kernel's frames begin with the function itself, and newer kernels
	// find the return address, too.
	c.event.frames[0] = u(callReturn)
	n := 1
	for at := callFrames + 8; at < callSP && n < maxFrames; at += 8 {
		if pc := u(at); pc != 0 && (n > 1 || pc != c.event.frames[0]) {
			c.event.frames[n] = pc
			n++
		}
	}
	return c, true
}
