package metrics

import (
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// accounts charges the latest values of a process to accounts, by device and,
// for the host, under the device "". Columns without a device are device 0's
// when none has a device: a recorder that sees but one writes them so. When
// not every column is told by device, all stand under "" as sums.
func accounts(latest []record.Cell, unified bool) []Process {
	var l account.Latest
	counts := map[int]*int64{}
	for _, c := range latest {
		l.Take(c)
		if base, n, _ := record.SplitDevice(c.Column); base == record.ColLiveCount {
			counts[n] = &c.Value
		}
	}
	all := l.Tells(unified).Shown(l.Row(unified))
	var out []Process
	switch devices := l.Devices(); {
	case len(devices) == 0:
		out = append(out, process("0", all, counts[whole]))
	case l.Split():
		for _, n := range devices {
			out = append(out, process(strconv.Itoa(n), l.Device(n), counts[n]))
		}
		if len(counts) == 1 && counts[whole] != nil { // of all devices together
			out = append(out, Process{Count: counts[whole]})
		}
	default:
		out = append(out, process("", all, total(counts)))
	}
	out = append(out, Process{Bytes: bytesOf(map[verdict.Account]float64{verdict.Host: all.Host})})
	return slices.DeleteFunc(out, func(p Process) bool { return len(p.Bytes) == 0 && p.Count == nil })
}

// whole is the device of a column that no device has to itself.
const whole = -1

// total is the count of all devices together: as it is told, unless the devices
// have theirs.
func total(counts map[int]*int64) *int64 {
	if counts[whole] != nil || len(counts) == 0 {
		return counts[whole]
	}
	var sum int64
	for _, n := range counts {
		sum += *n
	}
	return &sum
}

// process has the device's accounts of a row. Bytes whose owner nobody tells are
// untracked.
func process(device string, r account.Row, count *int64) Process {
	return Process{Device: device, Count: count, Bytes: bytesOf(map[verdict.Account]float64{
		verdict.Live: r.Live, verdict.Idle: r.Idle, verdict.Untracked: r.Untracked,
	})}
}

// bytesOf leaves out what is unknown.
func bytesOf(accounts map[verdict.Account]float64) map[verdict.Account]int64 {
	out := map[verdict.Account]int64{}
	for a, v := range accounts {
		if v == v {
			out[a] = int64(v)
		}
	}
	return out
}
