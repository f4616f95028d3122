package firsttouch

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
)

// proc is the proc file system of this machine.
const proc procfs.Dir = ""

// snapshot is the kernel's own bookkeeping of a process, over all threads.
type snapshot struct {
	faults   uint64        // minor and major, since its start
	resident int64         // pages
	busy     time.Duration // of a processor, all threads, since its start
}

// takeSnapshot reads /proc/PID/stat. It fails for a process that has ended,
// a zombie included: that has no memory any more.
func takeSnapshot(pid int) (snapshot, error) {
	b, err := proc.Read(pid, "stat")
	if err != nil {
		return snapshot{}, err
	}
	s, ok := parseSnapshot(b)
	if !ok {
		return snapshot{}, fs.ErrNotExist
	}
	return s, nil
}

// parseSnapshot refuses what has no memory any more.
func parseSnapshot(b []byte) (snapshot, bool) {
	s, ok := procfs.ParseStat(b)
	if !ok || s.State == 'Z' || s.State == 'X' || s.Pages == procfs.Unknown {
		return snapshot{}, false
	}
	return snapshot{uint64(s.Faults), s.Pages, s.CPU}, true
}

// checkProcess refuses PIDs that are none: not running, or a thread's.
func checkProcess(pid int) error {
	op := fmt.Sprintf("watch process %d", pid)
	b, err := proc.Read(pid, "status")
	if err != nil || pid <= 0 {
		return &Error{Op: op, Text: "no such process", is: fs.ErrNotExist}
	}
	if leader := procfs.ParseStatus(b).Group; leader != 0 && leader != pid {
		return &Error{Op: op, Text: "it is a thread, not a process", Hint: fmt.Sprintf("process %d", leader),
			is: errThread}
	}
	return nil
}

// threadsOf lists the threads of a process.
func threadsOf(pid int) ([]int, error) {
	return proc.Threads(pid)
}

// readRights reads what decides who may watch whom.
func readRights() rights {
	var r rights
	if b, err := os.ReadFile(proc.Process("sys/kernel/perf_event_paranoid")); err == nil {
		if v, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			r.paranoid, r.paranoidKnown = v, true
		}
	}
	const sysAdmin, perfmon = 21, 38 // numbers of the capabilities
	b, err := os.ReadFile(proc.Process("self/status"))
	if err != nil {
		return r
	}
	r.perfmon = procfs.ParseStatus(b).Capabilities&(1<<sysAdmin|1<<perfmon) != 0
	return r
}
