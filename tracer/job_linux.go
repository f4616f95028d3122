package tracer

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// job is our part as the middle between a shell with job control and the
// program: we stop when the program has stopped, it goes on when we do, and in
// a process group of its own it gets the terminal when it asks for it.
type job struct {
	screen bool      // the screen has the terminal, and stops us itself
	asked  time.Time // when we were last asked to stop
	lent   int       // the process group that has the terminal from us, 0 without
	held   bool      // the program is stopped, and nothing could stop us with it
}

const (
	// settleStop is how long a program in our group must stay stopped before we
	// follow: a continued job wakes its processes one after the other.
	settleStop = 20 * time.Millisecond
	// settleScreen is how long the screen may take to give the terminal back.
	settleScreen = time.Second
	// askedLately is how long after a request to stop a SIGSTOP counts as the
	// program's answer. Some programs tidy up and then stop so.
	askedLately = 5 * time.Second
	// wakeBound is how long it may take to hear of the SIGCONT that woke us.
	wakeBound = 100 * time.Millisecond
)

// passedOn are the signals that the program gets from us.
func passedOn() []os.Signal {
	list := []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGALRM, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH,
	}
	// 32 and 33 are the threading library's, 34 is one that Go leaves alone
	// because another threading library uses it.
	const firstRealTime, lastRealTime = 35, 64
	for sig := firstRealTime; sig <= lastRealTime; sig++ {
		list = append(list, syscall.Signal(sig))
	}
	return list
}

// sharesTerminal reports whether the program is to be in our process group:
// where that is in the foreground of a terminal. A program started in the
// background has a group of its own, and gets the terminal when it needs it.
func sharesTerminal() bool { return inForeground() }

// take begins to look for stops, and returns what tells which of the signals
// for jobs were ignored when we were started: those the runtime leaves as it
// found them, so signal.Ignored does not know.
func (j *job) take(moved chan os.Signal) (ignored func(syscall.Signal) bool) {
	mask := ignoredMask()
	signal.Notify(moved, unix.SIGCHLD)
	return func(sig syscall.Signal) bool {
		return (sig == unix.SIGTSTP || sig == unix.SIGCONT) && mask&(1<<(sig-1)) != 0
	}
}

// ignoredMask is the set of ignored signals of this process.
func ignoredMask() uint64 {
	status, _ := os.ReadFile("/proc/self/status") // without it none is
	_, rest, _ := strings.Cut(string(status), "\nSigIgn:\t")
	line, _, _ := strings.Cut(rest, "\n")
	mask, _ := strconv.ParseUint(line, 16, 64)
	return mask
}

// follow stops us if the program has stopped, and lends it the terminal if that
// is what it stopped for. It returns when we go on.
func (s *signals) follow(p *os.Process) {
	sig := stopOf(p.Pid)
	asked := time.Since(s.job.asked) < askedLately
	if sig == 0 && asked && isStopped(p.Pid) {
		sig = unix.SIGTSTP
	}
	if sig == 0 {
		return
	}
	time.Sleep(s.settle())
	if !isStopped(p.Pid) {
		return
	}
	wantsTerminal := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	switch {
	case wantsTerminal && s.job.screen:
		s.job.held = true // the screen has the terminal
		return
	case wantsTerminal && !s.shared && s.lend(p):
		return
	case wantsTerminal, sig == unix.SIGTSTP:
	case asked || s.job.lent != 0:
		sig = unix.SIGTSTP
	default:
		return // somebody stopped the program alone, and has his reasons
	}
	// What the terminal did to the program's group, it would have done to ours.
	group := !s.shared && (wantsTerminal || s.job.lent != 0)
	s.job.lent = 0 // the shell takes the terminal when its job stops
	// A shell may have continued us since we looked.
	continued := func() bool {
		return !isStopped(p.Pid) || wantsTerminal && !s.shared && s.lend(p)
	}
	if stopOurselves(sig, group, continued) {
		s.awake(p, sig)
	}
}

// settle is how long a stop must last before it counts.
func (s *signals) settle() time.Duration {
	switch {
	case s.job.screen:
		return settleScreen
	case s.shared:
		return settleStop
	}
	return 0 // a group of its own is continued by us
}

// awake deals with what came while we were stopped. Where nothing could stop us,
// since no shell is there to continue us, the program is not left stopped by a
// key either; one that wants a terminal it cannot have stays so until a signal
// ends it.
func (s *signals) awake(p *os.Process, stopped syscall.Signal) {
	for timeout := time.After(wakeBound); ; {
		select {
		case sig := <-s.came:
			if sig == unix.SIGCONT {
				s.pass(p, sig)
				return
			}
			if sig != unix.SIGTSTP { // our own
				s.pass(p, sig)
			}
		case <-timeout:
			s.job.held = true
			if stopped == unix.SIGTSTP {
				s.goOn(p)
			}
			return
		}
	}
}

// goOn continues the program. In our own group it was continued with us, as a
// rule.
func (s *signals) goOn(p *os.Process) {
	s.job.held, s.job.asked = false, time.Time{}
	if !s.shared || isStopped(p.Pid) {
		s.send(p, unix.SIGCONT)
	}
}

// lend gives the terminal to the program's group, if it is ours to give, and
// continues it.
func (s *signals) lend(p *os.Process) bool {
	if s.job.screen || !setForeground(unix.Getpgrp(), p.Pid) {
		return false
	}
	signal.Ignore(unix.SIGTTOU) // what we say meanwhile comes from the background
	s.job.lent = p.Pid
	s.send(p, unix.SIGCONT)
	return true
}

// takeBack gives the terminal to our group again.
func (j *job) takeBack() {
	if j.lent != 0 {
		setForeground(j.lent, unix.Getpgrp())
		j.lent = 0
	}
}

// setForeground moves the terminal from one process group to another, and
// reports false where the first does not have it.
func setForeground(from, to int) bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	fd := int(tty.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == from && unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, to) == nil
}

// stopOf is the signal that has stopped a child since it was last asked for, 0
// without. How it ended is left for the one who waits for that.
func stopOf(pid int) syscall.Signal {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	if err != nil || info.Signo == 0 {
		return 0
	}
	// The status comes after the three numbers that Siginfo names, the child's
	// PID and its user; the kernel aligns the PID as a pointer.
	at := 3 * unsafe.Sizeof(int32(0))
	if word := unsafe.Sizeof(uintptr(0)); at%word != 0 {
		at += word - at%word
	}
	at += 2 * unsafe.Sizeof(int32(0))
	return syscall.Signal(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
}

// isStopped reports whether a process is stopped by a signal now.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(stat, ')')
	return err == nil && end >= 0 && bytes.HasPrefix(stat[end+1:], []byte(" T "))
}

// stopOurselves takes the default action of a signal for jobs, which is to stop,
// unless continued says that there is no reason any more; with group the others
// of our process group get the signal, too, as from the terminal. It returns when
// we are continued, or at once where the kernel refuses because no process is
// there to continue us, and reports false where continued held us back.
//
// The signal waits, blocked, while continued looks. A SIGCONT takes back each
// stop that waits (signal(7)), so one that comes after the look counts as well:
// without this we would stop behind the back of a shell that has just continued us.
// The runtime cannot give a signal its default action back, so the kernel is asked
// directly.
func stopOurselves(sig syscall.Signal, group bool, continued func() bool) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var only, mask unix.Sigset_t
	const wordBits = 8 * unsafe.Sizeof(only.Val[0])
	only.Val[uintptr(sig-1)/wordBits] |= 1 << (uintptr(sig-1) % wordBits)
	var before kernelAction
	if !setAction(sig, &kernelAction{actionIgnore}, &before) {
		return false
	}
	defer setAction(sig, &before, nil)
	if group {
		_ = unix.Kill(0, sig) // for the others: we ignore it
	}
	if unix.PthreadSigmask(unix.SIG_BLOCK, &only, &mask) != nil {
		return false
	}
	setAction(sig, &kernelAction{actionDefault}, nil)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), sig) // to this thread: it stops before the next line
	held := continued()
	if held {
		setAction(sig, &kernelAction{actionIgnore}, nil) // the one that waits is dropped
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil) // here we stop
	if held && group {
		_ = unix.Kill(0, unix.SIGCONT)
	}
	return !held
}

// kernelAction is the kernel's struct sigaction and more: the handler is the
// first word.
type kernelAction [16]uintptr

const (
	actionDefault uintptr = 0 // SIG_DFL
	actionIgnore  uintptr = 1 // SIG_IGN
)

// setAction sets what a signal does and tells what it did before.
func setAction(sig syscall.Signal, to, before *kernelAction) bool {
	const maskBytes = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(before)), maskBytes, 0, 0)
	return errno == 0
}
