//go:build amd64 || arm64

package attach

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stackSize is the memory on which the interpreter's functions run.
	stackSize = 64 << 10
	// pageSize is at least a page of every system.
	pageSize = 64 << 10
)

var (
	errFull    = errors.New("its queue of calls is full")
	errEarly   = errors.New("its interpreter has not started yet")
	errRefused = errors.New("it may not map memory")
)

// Python has the interpreter of a process run a text, soon, on its main thread: see
// the package documentation. It returns when the text is queued. The text must end
// well: what it raises, the interpreter prints, and the program gets a SystemError. It sees
// __builtins__, a module or the dictionary of one, and may see the names of __main__.
//
// Where put is not nil, an interpreter that has an interface for debuggers is asked by
// that; put makes a file that the process can read.
//
// The error is a *Refusal for a process that cannot be entered now, and wraps
// ErrNoPython for one that is no Python.
func Python(pid int, text string, put Put) (*Entry, error) {
	p, err := examine(pid)
	if err != nil {
		return nil, err
	}
	if p.official != nil && put != nil {
		return p.ask(text, put)
	}
	if err := p.prepareStop(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		e, err := p.enter(text)
		switch {
		case err == nil:
			return e, nil
		case passes(err) && try < tries:
			time.Sleep(tryAgain)
		default:
			return nil, p.explain(err)
		}
	}
}

// passes reports whether an error of a stop may be gone in a moment: another gpumem that
// comes in or goes out keeps us from tracing the process meanwhile.
func passes(err error) bool {
	return errors.Is(err, errFull) || errors.Is(err, errEarly) || errors.Is(err, unix.EPERM)
}

// ask has the interpreter run the text by its own interface, which gives it names of
// its own.
func (p *python) ask(text string, put Put) (*Entry, error) {
	const names = "import builtins as __builtins__\n"
	script, remove, err := put([]byte(names + text + "\n"))
	if err != nil {
		return nil, &Refusal{Why: "the script for it cannot be written: " + err.Error()}
	}
	if err := p.official.ask(p.pid, script); err != nil {
		return nil, errors.Join(p.explain(err), remove())
	}
	return &Entry{pid: p.pid, Official: true, remove: remove,
		withdraw: func() bool { return p.official.withdraw(p.pid, script) }}, nil
}

// Free takes what brought the text out of the process, or its file, which stops the
// process for a moment once more. The text must have run. It does nothing for a process
// that has ended.
func (e *Entry) Free() error {
	if e.remove != nil {
		return e.remove()
	}
	if e.text.size == 0 {
		return nil
	}
	_, err := withThread(e.pid, e.unmap)
	for try := 1; passes(err) && try < tries; try++ {
		time.Sleep(tryAgain)
		_, err = withThread(e.pid, e.unmap)
	}
	if err == nil || errors.Is(err, errEnded) {
		e.text = region{}
		return nil
	}
	return fmt.Errorf("take the text out of process %d: %w", e.pid, err)
}

// unmap gives the memory of the text back.
func (e *Entry) unmap(t *thread) error { return t.unmap(e.syscall, e.text) }

// Withdraw takes back a text that has not run yet, and reports whether nothing of it
// stays. One that is in the interpreter's queue stays there.
func (e *Entry) Withdraw() bool {
	if e.withdraw == nil {
		return false
	}
	gone := e.withdraw()
	return e.remove() == nil && gone
}

// enter queues the text.
func (p *python) enter(text string) (*Entry, error) {
	e := &Entry{pid: p.pid, syscall: p.syscall}
	size := (uint64(len(text)) + 1 + stackSize + pageSize - 1) &^ (pageSize - 1)
	stood, err := withThread(p.pid, func(t *thread) error {
		e.Inside = p.inside(t.saved.pc())
		room, err := t.mapMemory(p.syscall, size)
		if err != nil {
			return err
		}
		e.text = room
		if err := t.queue(p, room, text); err != nil {
			if !errors.Is(err, errFull) && !errors.Is(err, errEarly) {
				return err // the text may be queued, so its memory stays
			}
			return errors.Join(err, t.unmap(p.syscall, room))
		}
		return nil
	})
	e.Stopped = stood
	if err != nil {
		return nil, err
	}
	return e, nil
}

// queue writes the text to the beginning of the room and calls the interpreter on a
// stack at its end.
func (t *thread) queue(p *python, room region, text string) error {
	if err := t.write(room.start, append([]byte(text), 0)); err != nil {
		return err
	}
	stack := room.start + room.size
	started, err := t.call(stack, p.isInitialized)
	if err != nil {
		return err
	}
	if int32(started) == 0 {
		return errEarly
	}
	result, err := t.call(stack, p.addPendingCall, p.runString, room.start)
	if err != nil {
		return err
	}
	if int32(result) != 0 {
		return errFull
	}
	return nil
}

// Inside says where the main thread of a process is, as far as the system tells
// without stopping it: "the system call futex". It is empty where that is not known.
func Inside(pid int) string {
	b, err := proc.Read(pid, "syscall")
	if err != nil {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	number, err := strconv.Atoi(word)
	if err != nil || number < 0 {
		return "" // running, or waiting for its turn to
	}
	if name := waitName(number); name != "" {
		return "the system call " + name
	}
	return fmt.Sprintf("the system call %d", number)
}

// waitName is the name of a system call in which threads wait for long.
func waitName(number int) string {
	switch number {
	case unix.SYS_FUTEX:
		return "futex (it waits for a lock or another thread)"
	case unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP:
		return "nanosleep (it sleeps)"
	case unix.SYS_READ, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return "read (it waits for data)"
	case unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT:
		return "poll (it waits for data)"
	case unix.SYS_WAIT4, unix.SYS_WAITID:
		return "wait4 (it waits for a process)"
	case unix.SYS_IOCTL:
		return "ioctl (it waits for a driver)"
	}
	return ""
}
