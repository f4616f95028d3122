package firsttouch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// stackBytes is how much of the stack is copied with a sample: enough for
	// the frames of malloc's slow path.
	stackBytes = 512
	// firstPeriod is a thread's period until its rate is known: small enough to
	// see something of a thread that lives for one interval, great enough not
	// to flood the ring of one that is in full growth.
	firstPeriod = 31
	// stackFrames bounds a call chain.
	stackFrames = 48

	// arm64's registers in the kernel's numbering: the link register holds the
	// return address of a function that keeps no frame. On amd64 that address
	// is the first word of the stack.
	arm64LinkRegister = 30
)

// opener opens events. What the machine turns out not to allow is left out
// for all later threads.
type opener struct {
	layout   layout
	userOnly bool
	period   uint64 // of threads whose rate is not known
	pages    int
}

func newOpener(o Options) opener {
	op := opener{period: o.Period, pages: o.RingPages}
	if op.period == 0 {
		op.period = firstPeriod
	}
	switch runtime.GOARCH {
	case "amd64":
		op.layout = layout{stack: true}
	case "arm64":
		op.layout = layout{registers: 1, stack: true}
	}
	return op
}

// attributes describes the event. PERF_SAMPLE_PERIOD must not be asked for: it
// makes the kernel report every single fault of a software event, whatever the
// period is (perf_swevent_event). So a sample's weight is the period that was
// set when its ring was last emptied.
func (o *opener) attributes(period uint64) *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{
		Type:             unix.PERF_TYPE_SOFTWARE,
		Config:           unix.PERF_COUNT_SW_PAGE_FAULTS,
		Size:             uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:           period,
		Sample_type:      unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_CALLCHAIN,
		Bits:             unix.PerfBitExcludeCallchainKernel | unix.PerfBitExcludeHv | unix.PerfBitWatermark,
		Wakeup:           uint32(o.pages * os.Getpagesize()), // nobody waits on it
		Sample_max_stack: stackFrames,
	}
	if o.userOnly {
		a.Bits |= unix.PerfBitExcludeKernel
	}
	if o.layout.registers > 0 {
		a.Sample_type |= unix.PERF_SAMPLE_REGS_USER
		a.Sample_regs_user = 1 << arm64LinkRegister
	}
	if o.layout.stack {
		a.Sample_type |= unix.PERF_SAMPLE_STACK_USER
		a.Sample_stack_user = stackBytes
	}
	return a
}

// open opens the event of one thread with its ring; a sample is taken every so
// many faults. It first asks for all,
// then for faults in user code alone, which needs less permission, then for
// call chains without a copy of the stack, which not every machine gives.
func (o *opener) open(pid, tid int, period uint64) (*ring, error) {
	for {
		fd, err := unix.PerfEventOpen(o.attributes(period), tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		switch {
		case err == nil:
			return newRing(fd, o, pid)
		case (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) && !o.userOnly:
			o.userOnly = true
		case (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) ||
			errors.Is(err, unix.ENOSYS)) && o.layout != (layout{}):
			o.layout = layout{}
		default:
			return nil, explain(pid, err)
		}
	}
}

// explain turns the kernel's refusal into a line.
func explain(pid int, err error) error {
	e := &Error{Op: fmt.Sprintf("watch process %d", pid), Text: err.Error(), is: err}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return denied(pid, readRights(), fs.ErrPermission)
	case errors.Is(err, unix.ESRCH):
		e.Text, e.is = "no such thread", fs.ErrNotExist
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP),
		errors.Is(err, unix.ENODEV):
		e.Text, e.is = "this kernel has no page-fault event ("+err.Error()+")", ErrUnsupported
		e.Hint = "a kernel with CONFIG_PERF_EVENTS, outside of a container whose seccomp filter hides it"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		e.Hint = "ulimit -n with one descriptor for each thread of the process"
	}
	return e
}

// ring is a thread's event with the memory that the kernel writes samples to.
type ring struct {
	fd     int
	memory []byte
	meta   *unix.PerfEventMmapPage
	data   []byte
	layout layout // of its samples
}

// newRing maps the event's ring; it takes fd over.
func newRing(fd int, o *opener, pid int) (*ring, error) {
	page := os.Getpagesize()
	m, err := unix.Mmap(fd, 0, (1+o.pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd) // the mapping's error is the one that tells
		e := &Error{Op: fmt.Sprintf("map the ring of process %d", pid), Text: err.Error(), is: err}
		if errors.Is(err, unix.EPERM) {
			e.Text, e.is = "kernel.perf_event_mlock_kb and the limit of locked memory are used up",
				fs.ErrPermission
			e.Hint = "ulimit -l, or fewer pages a ring"
		}
		return nil, e
	}
	return &ring{fd: fd, memory: m, meta: (*unix.PerfEventMmapPage)(unsafe.Pointer(&m[0])), data: m[page:],
		layout: o.layout}, nil
}

// take appends the ring's records to dst and frees their room.
func (r *ring) take(dst []byte) []byte {
	head, tail := atomic.LoadUint64(&r.meta.Data_head), r.meta.Data_tail
	size := uint64(len(r.data)) // a power of two
	if head-tail > size {
		tail = head // never so with this kind of ring; nothing whole is left
	}
	from, to := tail&(size-1), head&(size-1)
	switch {
	case head == tail:
	case from < to:
		dst = append(dst, r.data[from:to]...)
	default:
		dst = append(append(dst, r.data[from:]...), r.data[:to]...)
	}
	atomic.StoreUint64(&r.meta.Data_tail, head)
	return dst
}

// setPeriod changes how many faults make a sample.
func (r *ring) setPeriod(period uint64) error {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(r.fd), unix.PERF_EVENT_IOC_PERIOD,
		uintptr(unsafe.Pointer(&period)))
	if e != 0 {
		return fmt.Errorf("set the period: %w", e)
	}
	return nil
}

// close gives the event back. Its errors have no consequence: nothing was
// written.
func (r *ring) close() {
	_ = unix.Munmap(r.memory)
	_ = unix.Close(r.fd)
}
