package firsttouch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// snapshot is the kernel's own bookkeeping of a process, over all threads.
type snapshot struct {
	faults   uint64        // minor and major, since its start
	resident int64         // pages
	busy     time.Duration // of a processor, all threads, since its start
}

// tick is the unit of times in /proc, the same on every Linux (USER_HZ).
const tick = 10 * time.Millisecond

// takeSnapshot reads /proc/PID/stat. It fails for a process that has ended,
// a zombie included: that has no memory any more.
func takeSnapshot(pid int) (snapshot, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return snapshot{}, err
	}
	s, ok := parseStat(b)
	if !ok {
		return snapshot{}, fs.ErrNotExist
	}
	return s, nil
}

// parseStat reads the fields after the name, which may hold anything.
func parseStat(b []byte) (snapshot, bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return snapshot{}, false
	}
	f := strings.Fields(string(b[i+1:]))
	// From the state, field 3 of the manual: minflt 10, majflt 12, utime 14,
	// stime 15, rss 24.
	if len(f) < 22 || f[0] == "Z" || f[0] == "X" {
		return snapshot{}, false
	}
	minor, err1 := strconv.ParseUint(f[7], 10, 62)
	major, err2 := strconv.ParseUint(f[9], 10, 62)
	rss, err3 := strconv.ParseInt(f[21], 10, 48)
	user, err4 := strconv.ParseUint(f[11], 10, 32)
	system, err5 := strconv.ParseUint(f[12], 10, 32)
	if errors.Join(err1, err2, err3, err4, err5) != nil || rss < 0 {
		return snapshot{}, false
	}
	return snapshot{minor + major, rss, time.Duration(user+system) * tick}, true
}

// checkProcess refuses PIDs that are none: not running, or a thread's.
func checkProcess(pid int) error {
	op := fmt.Sprintf("watch process %d", pid)
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil || pid <= 0 {
		return &Error{Op: op, Text: "no such process", is: fs.ErrNotExist}
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if leader := strings.TrimSpace(v); leader != strconv.Itoa(pid) {
				return &Error{Op: op, Text: "it is a thread, not a process", Hint: "process " + leader, is: errThread}
			}
		}
	}
	return nil
}

// threadsOf lists the threads of a process.
func threadsOf(pid int) ([]int, error) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	tids := make([]int, 0, len(names))
	for _, n := range names {
		if tid, err := strconv.Atoi(n); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, err
}

// readRights reads what decides who may watch whom.
func readRights() rights {
	var r rights
	if b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err == nil {
		if v, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			r.paranoid, r.paranoidKnown = v, true
		}
	}
	const sysAdmin, perfmon = 21, 38 // numbers of the capabilities
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return r
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			r.perfmon = err == nil && caps&(1<<sysAdmin|1<<perfmon) != 0
		}
	}
	return r
}
