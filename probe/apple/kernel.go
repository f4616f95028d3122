package apple

import (
	"bytes"
	"math/bits"
	"os"
	"time"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
)

// Kernel asks the kernel, through libSystem. It holds nothing that would have
// to be closed and is safe for concurrent use.
type Kernel struct {
	numer, denom uint64 // a tick is numer/denom ns
	self         uintptr
	fn           struct {
		rusage, pidInfo, pidPath               uintptr
		taskSelf, nameForPID, taskInfo, putRef uintptr
		hostSelf, hostInfo, timebase           uintptr
	}
}

// OpenKernel looks the functions up. The error is ErrUnsupported where there is
// no macOS.
func OpenKernel(o Options) (*Kernel, error) {
	k := &Kernel{}
	err := load(o.withDefaults().System, map[string]*uintptr{
		"proc_pid_rusage": &k.fn.rusage, "proc_pidinfo": &k.fn.pidInfo, "proc_pidpath": &k.fn.pidPath,
		"mach_task_self": &k.fn.taskSelf, "task_name_for_pid": &k.fn.nameForPID, "task_info": &k.fn.taskInfo,
		"mach_port_deallocate": &k.fn.putRef, "mach_host_self": &k.fn.hostSelf,
		"host_statistics64": &k.fn.hostInfo, "mach_timebase_info": &k.fn.timebase,
	})
	if err != nil {
		return nil, err
	}
	k.self, _ = loader.Call(k.fn.taskSelf)
	k.self = uintptr(uint32(k.self))
	var base [2]uint32
	if code := kern(loader.Call(k.fn.timebase, uintptr(unsafe.Pointer(&base)))); code != kernSuccess ||
		base[1] == 0 {
		return nil, kernError("read the timebase", 0, code)
	}
	k.numer, k.denom = uint64(base[0]), uint64(base[1])
	return k, nil
}

// kern is the kern_return_t of a call, which has 32 bits of the register.
func kern(result, _ uintptr) int32 { return int32(uint32(result)) }

// Duration is a number of ticks as time; one that does not fit is the longest.
func (k *Kernel) Duration(ticks uint64) time.Duration {
	const longest = 1<<63 - 1
	high, low := bits.Mul64(ticks, k.numer)
	if high >= k.denom {
		return longest
	}
	ns, _ := bits.Div64(high, low, k.denom)
	return time.Duration(min(ns, longest))
}

// Usage asks what a process uses: one system call. The error is ErrPermission
// for other users' processes and ErrGone where there is none.
func (k *Kernel) Usage(pid int) (Usage, error) {
	var buf [rusageSize]byte
	r, errno := loader.Call(k.fn.rusage, uintptr(pid), rusageFlavor, uintptr(unsafe.Pointer(&buf)))
	if kern(r, 0) != 0 {
		return Usage{}, errnoError("read the usage", pid, errno)
	}
	return parseUsage(buf[:])
}

// Threads is the number of threads of a process. Errors are as with Usage.
func (k *Kernel) Threads(pid int) (int, error) {
	var buf [taskSize]byte
	r, errno := loader.Call(k.fn.pidInfo, uintptr(pid), taskFlavor,
		0, uintptr(unsafe.Pointer(&buf)), taskSize)
	if n := kern(r, 0); n < taskSize {
		return 0, errnoError("count the threads", pid, errno)
	}
	return parseThreads(buf[:])
}

// Path is the file of a process's executable, of any user.
func (k *Kernel) Path(pid int) (string, error) {
	const most = 4096 // PROC_PIDPATHINFO_MAXSIZE
	var buf [most]byte
	r, errno := loader.Call(k.fn.pidPath, uintptr(pid), uintptr(unsafe.Pointer(&buf)), most)
	n := kern(r, 0)
	if n <= 0 || n > most {
		return "", errnoError("read the path", pid, errno)
	}
	path, _, _ := bytes.Cut(buf[:n], []byte{0})
	return string(path), nil
}

// Pages are the machine's free and inactive pages.
func (k *Kernel) Pages() (Pages, error) {
	host, _ := loader.Call(k.fn.hostSelf) // a reference that we give back
	host = uintptr(uint32(host))
	defer loader.Call(k.fn.putRef, k.self, host)
	var buf [hostWords * 4]byte
	words := uint32(hostWords)
	code := kern(loader.Call(k.fn.hostInfo, host, hostFlavor, uintptr(unsafe.Pointer(&buf)),
		uintptr(unsafe.Pointer(&words))))
	if code != kernSuccess {
		return Pages{}, kernError("read memory of the machine", 0, code)
	}
	return parsePages(buf[:min(int(words)*4, len(buf))], int64(os.Getpagesize()))
}
