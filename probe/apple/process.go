package apple

import (
	"errors"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
)

// Process is one process that is asked again and again, and never confused with
// a later one of the same pid. It belongs to one goroutine. Close it when done:
// it may hold a port.
type Process struct {
	k       *Kernel
	pid     int
	started uint64
	port    uintptr // the task's name; 0 until the ledger is asked for
}

// Open opens a process. The error is ErrGone where there is none or it has
// ended, and ErrPermission for another user's.
func (k *Kernel) Open(pid int) (*Process, error) {
	u, err := k.Usage(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{k: k, pid: pid, started: u.Started}
	return p, p.check(u)
}

// check refuses what a process that has ended leaves behind, and a later
// process.
func (p *Process) check(u Usage) error {
	if u.Started != p.started || u.Exited != 0 || u.Resident == 0 && u.Footprint == 0 {
		return &Error{Op: "read the usage", PID: p.pid, Text: ErrGone.Error(), is: ErrGone}
	}
	return nil
}

// Usage asks what the process uses. Errors are as with Open.
func (p *Process) Usage() (Usage, error) {
	u, err := p.k.Usage(p.pid)
	if err != nil {
		return Usage{}, err
	}
	return u, p.check(u)
}

// Ledger asks for the ledger of the process's task, by a port that lets us read
// and do nothing else. A process that became another program by exec has a new
// task, which is then asked. The error is ErrPermission or ErrGone, which this
// call cannot always tell apart: Usage can.
func (p *Process) Ledger() (Ledger, error) {
	if p.port != 0 {
		l, err := p.ask()
		if !errors.Is(err, ErrGone) {
			return l, err
		}
		p.Close()
	}
	var port uint32
	code := kern(loader.Call(p.k.fn.nameForPID, p.k.self, uintptr(p.pid), uintptr(unsafe.Pointer(&port))))
	if code != kernSuccess {
		return Ledger{}, kernError("find the task", p.pid, code)
	}
	p.port = uintptr(port)
	return p.ask()
}

func (p *Process) ask() (Ledger, error) {
	var buf [vmInfoWords * 4]byte
	words := uint32(vmInfoWords)
	code := kern(loader.Call(p.k.fn.taskInfo, p.port, vmInfoFlavor, uintptr(unsafe.Pointer(&buf)),
		uintptr(unsafe.Pointer(&words))))
	if code != kernSuccess {
		return Ledger{}, kernError("read the ledger", p.pid, code)
	}
	return parseLedger(buf[:], int(words))
}

// Close gives the port back; the process may be asked again all the same.
func (p *Process) Close() {
	if p.port != 0 {
		loader.Call(p.k.fn.putRef, p.k.self, p.port)
		p.port = 0
	}
}
