//go:build amd64 || arm64

package attach

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/procfs"
)

const (
	// stopBound is how long a thread may take to stop: inside a driver it cannot.
	stopBound = 2 * time.Second
	// callBound is how long a call of the interpreter's may take. It takes
	// microseconds; a lock that the stopped thread itself holds would keep it.
	callBound = time.Second
	// waitFirst and waitLater are between two looks whether the thread has stopped.
	waitFirst = 10 * time.Microsecond
	waitLater = 200 * time.Microsecond
)

var (
	errEnded   = errors.New("it has just ended")
	errNoStop  = errors.New("its main thread did not stop")
	errStopped = errors.New("it is stopped by a signal")
	errStuck   = errors.New("the call did not return")
)

// thread is the main thread of a process, stopped. It belongs to one thread of ours.
type thread struct {
	pid   int
	saved registers
	wide  wide // the registers of floating point and vectors
	mask  uint64
	mem   *os.File
	begun time.Time // when it was asked to stop
}

// withThread stops the main thread of a process, does the work, and lets it go on
// where it was, with all registers as they were.
// It returns how long the thread stood still.
func withThread(pid int, work func(*thread) error) (stood time.Duration, err error) {
	mem, err := os.OpenFile(procfs.Dir("").Path(pid, "mem"), os.O_RDWR, 0)
	if procfs.IsGone(err) {
		return 0, errEnded
	}
	if err != nil {
		return 0, fmt.Errorf("open its memory: %w", err)
	}
	defer mem.Close()
	err = onOwnThread(func() error {
		t := &thread{pid: pid, mem: mem}
		if err := t.stop(); err != nil {
			return err
		}
		err := t.save()
		if err == nil {
			err = guarded(t, work)
			err = errors.Join(err, t.restore())
		}
		err = errors.Join(err, t.release())
		stood = time.Since(t.begun)
		return err
	})
	return stood, err
}

// guarded does the work; a panic of ours is an error, since the registers go back.
func guarded(t *thread, work func(*thread) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error of gpumem: %v; please report it", p)
		}
	}()
	return work(t)
}

// onOwnThread does the work on a thread of the system's that ends with it: what it
// traces then is let go in any case. The first thread of a Go program never ends, so
// that one only waits.
func onOwnThread(work func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			done <- onOwnThread(work)
			runtime.UnlockOSThread()
			return
		}
		done <- work()
	}()
	return <-done
}

// stop seizes and stops the thread. A signal that comes first is handed on.
func (t *thread) stop() error {
	// The thread that waits for it ends soon; until then its naps are to be exact. Where
	// that is refused they are some tens of microseconds longer.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(time.Microsecond), 0, 0, 0)
	if err := unix.PtraceSeize(t.pid); err != nil {
		return t.lost(err) // of one that has ended EPERM or ESRCH, as its parent comes by
	}
	t.begun = time.Now()
	if err := unix.PtraceInterrupt(t.pid); err != nil {
		return t.lost(err)
	}
	deadline := t.begun.Add(stopBound)
	for {
		signal, event, err := t.wait(deadline)
		switch {
		case err != nil:
			return err
		case event == unix.PTRACE_EVENT_STOP && signal == unix.SIGTRAP:
			return nil
		case event == unix.PTRACE_EVENT_STOP:
			return errors.Join(errStopped, t.release())
		}
		if err := unix.PtraceCont(t.pid, int(signal)); err != nil {
			return t.lost(err)
		}
	}
}

// release lets the thread run on.
func (t *thread) release() error {
	if err := unix.PtraceDetach(t.pid); err != nil {
		return t.lost(err)
	}
	return nil
}

// lost is an error of ptrace; of a thread that has ended it is errEnded.
func (t *thread) lost(err error) error {
	if !t.isAlive() {
		return t.reap()
	}
	return fmt.Errorf("trace it: %w", err)
}

func (t *thread) isAlive() bool {
	b, err := procfs.Dir("").Read(t.pid, "stat")
	if err != nil {
		return false
	}
	s, ok := procfs.ParseStat(b)
	return ok && s.State != 'Z' && s.State != 'X'
}

// reap takes note of the end, without which the parent would not hear of it. Of our
// own child the end is somebody else's to take.
func (t *thread) reap() error {
	b, err := procfs.Dir("").Read(t.pid, "stat")
	if s, ok := procfs.ParseStat(b); err == nil && ok && int(s.Parent) != os.Getpid() {
		_, _ = unix.Wait4(t.pid, nil, unix.WNOHANG|unix.WALL, nil)
	}
	return errEnded
}

// childInfo is the beginning of siginfo_t as waitid fills it.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// Codes of childInfo.
const (
	childExited = 1
	childDumped = 3
)

// wait waits until the thread has stopped: by a signal, or by an event of ptrace.
func (t *thread) wait(deadline time.Time) (signal unix.Signal, event int, err error) {
	pause := waitFirst
	for {
		var info childInfo
		_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_PID, uintptr(t.pid),
			uintptr(unsafe.Pointer(&info)),
			unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, 0, t.lost(errno)
		case info.pid != 0 && info.code >= childExited && info.code <= childDumped:
			return 0, 0, t.reap()
		case info.pid != 0:
			return unix.Signal(info.status & 0xff), int(info.status >> 8), nil
		case time.Now().After(deadline):
			return 0, 0, errNoStop
		}
		nap := unix.NsecToTimespec(int64(pause))
		_ = unix.Nanosleep(&nap, nil) // one that is cut short is a look more
		pause = min(pause*2, waitLater)
	}
}

// save notes the registers and blocks signals: one that came now would be taken in
// the midst of a call of ours.
func (t *thread) save() error {
	if err := t.saved.read(t.pid); err != nil {
		return t.lost(err)
	}
	if err := t.wide.read(t.pid); err != nil {
		return t.lost(err)
	}
	if err := t.signalMask(unix.PTRACE_GETSIGMASK, &t.mask); err != nil {
		return t.lost(err)
	}
	open := uint64(0)
	for _, signal := range [...]unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE,
		unix.SIGTRAP} {
		open |= 1 << (signal - 1)
	}
	blocked := ^open
	if err := t.signalMask(unix.PTRACE_SETSIGMASK, &blocked); err != nil {
		return t.lost(err)
	}
	return nil
}

// restore puts everything back as save found it. What can go back does, whatever
// fails.
func (t *thread) restore() error {
	failed := []error{t.wide.write(t.pid), t.saved.write(t.pid),
		t.signalMask(unix.PTRACE_SETSIGMASK, &t.mask)}
	for _, err := range failed {
		if err != nil {
			return t.lost(err)
		}
	}
	return nil
}

func (t *thread) signalMask(request int, mask *uint64) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(t.pid),
		unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// registerSet reads or writes one set of registers by its ELF note.
func registerSet(request, pid, note int, at unsafe.Pointer, size int) (int, error) {
	vector := unix.Iovec{Base: (*byte)(at), Len: uint64(size)}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), uintptr(note),
		uintptr(unsafe.Pointer(&vector)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(vector.Len), nil
}

// wide is the registers of floating point and vectors, in the kernel's form.
type wide struct {
	note  int
	bytes []byte
}

func (w *wide) read(pid int) (err error) {
	const most = 64 << 10 // more than any processor has, by its widest extension
	for _, note := range wideNotes() {
		buffer := make([]byte, most)
		n, failed := registerSet(unix.PTRACE_GETREGSET, pid, note, unsafe.Pointer(&buffer[0]), most)
		if failed == nil && n > 0 {
			w.note, w.bytes = note, slices.Clip(buffer[:n])
			return nil
		}
		err = failed
	}
	return fmt.Errorf("read its vector registers: %w", err)
}

func (w *wide) write(pid int) error {
	_, err := registerSet(unix.PTRACE_SETREGSET, pid, w.note, unsafe.Pointer(&w.bytes[0]), len(w.bytes))
	return err
}

// write copies bytes into the process.
func (t *thread) write(address uint64, b []byte) error {
	if _, err := t.mem.WriteAt(b, int64(address)); err != nil {
		return fmt.Errorf("write into it: %w", err)
	}
	return nil
}

// mapMemory has the process map private memory.
func (t *thread) mapMemory(instruction, size uint64) (region, error) {
	const anonymous = ^uint64(0) // the file descriptor of none
	result, err := t.system(instruction, unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, anonymous, 0)
	if err != nil {
		return region{}, err
	}
	const lastErrors = 4095
	if result > ^uint64(0)-lastErrors {
		return region{}, fmt.Errorf("%w: %w", errRefused, unix.Errno(-int64(result)))
	}
	return region{start: result, size: size}, nil
}

// unmap gives it back.
func (t *thread) unmap(instruction uint64, r region) error {
	_, err := t.system(instruction, unix.SYS_MUNMAP, r.start, r.size)
	return err
}

// system has the thread make one system call, by one step over the instruction.
func (t *thread) system(instruction, number uint64, args ...uint64) (uint64, error) {
	changed := t.saved
	changed.setSystemCall(instruction, number, args)
	if err := changed.write(t.pid); err != nil {
		return 0, t.lost(err)
	}
	if err := unix.PtraceSingleStep(t.pid); err != nil {
		return 0, t.lost(err)
	}
	signal, _, err := t.wait(time.Now().Add(callBound))
	if err == nil && signal != unix.SIGTRAP {
		err = fmt.Errorf("the system call was ended by %v", signal)
	}
	if err != nil {
		return 0, t.interrupted(err)
	}
	if err := changed.read(t.pid); err != nil {
		return 0, t.lost(err)
	}
	return changed.result(), nil
}

// call has the thread call a function on a stack of ours. It returns to address 0,
// where it stops by a fault.
func (t *thread) call(stack, function uint64, args ...uint64) (uint64, error) {
	changed := t.saved
	at := changed.setCall(stack, function, args)
	if err := t.write(at, make([]byte, stack-at)); err != nil {
		return 0, err
	}
	if err := changed.write(t.pid); err != nil {
		return 0, t.lost(err)
	}
	if err := unix.PtraceCont(t.pid, 0); err != nil {
		return 0, t.lost(err)
	}
	signal, _, err := t.wait(time.Now().Add(callBound))
	if err != nil {
		return 0, t.interrupted(err)
	}
	if err := changed.read(t.pid); err != nil {
		return 0, t.lost(err)
	}
	if signal != unix.SIGSEGV || changed.pc() != 0 && !t.isShadowFault() {
		return 0, fmt.Errorf("the call was ended by %v at %#x", signal, changed.pc())
	}
	return changed.result(), nil
}

// isShadowFault reports that the thread stopped because it returns to where nobody
// called from: a processor that keeps a second stack stops at the return itself.
func (t *thread) isShadowFault() bool {
	const protectionFault = 10 // SEGV_CPERR
	var info [128]byte
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(t.pid), 0,
		uintptr(unsafe.Pointer(&info)), 0, 0)
	return errno == 0 && *(*int32)(unsafe.Pointer(&info[8])) == protectionFault
}

// interrupted stops a thread that did not come back, so that its registers can be put
// back.
func (t *thread) interrupted(err error) error {
	if !errors.Is(err, errNoStop) {
		return err
	}
	if err := unix.PtraceInterrupt(t.pid); err != nil {
		return t.lost(err)
	}
	if _, _, err := t.wait(time.Now().Add(stopBound)); err != nil {
		return err
	}
	return errStuck
}
