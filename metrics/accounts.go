package metrics

import (
	"strconv"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// ledger is what the columns of one device say; nil is unknown.
type ledger struct{ live, idle, gpu, count *int64 }

// columnOf is where a column's value stands in a ledger, nil for others.
func (l *ledger) columnOf(base string) **int64 {
	switch base {
	case record.ColLive:
		return &l.live
	case record.ColIdle:
		return &l.idle
	case record.ColGPU:
		return &l.gpu
	case record.ColLiveCount:
		return &l.count
	}
	return nil
}

// accounts charges the latest values of a process to accounts, by device and,
// for the host, under the device "". Columns without a device are device 0's
// when none has a device: a recorder that sees but one writes them so. When
// not every column is told by device, all stand under "" as sums.
func accounts(latest map[string]int64, unified bool) []Process {
	devices, bare := map[int]*ledger{}, ledger{}
	for name, v := range latest {
		base, n, of := record.SplitDevice(name)
		l := &bare
		if of {
			if devices[n] == nil {
				devices[n] = &ledger{}
			}
			l = devices[n]
		}
		if at := l.columnOf(base); at != nil {
			*at = &v
		}
	}
	sum := bare.completed(devices)
	var out []Process
	switch {
	case len(devices) == 0:
		out = append(out, bare.process("0"))
	case bare.covered(devices):
		counted := false
		for n, l := range devices {
			counted = counted || l.count != nil
			out = append(out, l.process(strconv.Itoa(n)))
		}
		if !counted { // of all devices together
			out = append(out, Process{Count: bare.count})
		}
	default:
		out = append(out, sum.process(""))
	}
	kept := out[:0]
	for _, p := range out {
		if len(p.Bytes) > 0 || p.Count != nil {
			kept = append(kept, p)
		}
	}
	if host, known := hostBytes(latest, sum, unified); known {
		kept = append(kept, Process{Bytes: map[verdict.Account]int64{verdict.Host: host}})
	}
	return kept
}

// completed is the sums over devices: those that a row has, else added up.
func (l ledger) completed(devices map[int]*ledger) ledger {
	for _, base := range [...]string{record.ColLive, record.ColIdle, record.ColGPU, record.ColLiveCount} {
		at := l.columnOf(base)
		if *at != nil {
			continue
		}
		for _, d := range devices {
			if v := *d.columnOf(base); v != nil {
				total := *v
				if *at != nil {
					total += **at
				}
				*at = &total
			}
		}
	}
	return l
}

// covered reports whether every sum that l has is told by device, too.
func (l ledger) covered(devices map[int]*ledger) bool {
	for _, base := range [...]string{record.ColLive, record.ColIdle, record.ColGPU} {
		if *l.columnOf(base) == nil {
			continue
		}
		told := false
		for _, d := range devices {
			told = told || *d.columnOf(base) != nil
		}
		if !told {
			return false
		}
	}
	return true
}

// process has the accounts of a ledger. Device bytes whose owner nobody tells
// are untracked, as for the engine.
func (l ledger) process(device string) Process {
	p := Process{Device: device, Count: l.count, Bytes: map[verdict.Account]int64{}}
	tracked := int64(0)
	if l.live != nil {
		p.Bytes[verdict.Live] = *l.live
		tracked += *l.live
	}
	if l.idle != nil {
		p.Bytes[verdict.Idle] = *l.idle
		tracked += *l.idle
	}
	if l.gpu != nil {
		p.Bytes[verdict.Untracked] = max(*l.gpu-tracked, 0)
	}
	return p
}

// hostBytes is the footprint, else the resident size, without the device's
// bytes where those are the same memory.
func hostBytes(latest map[string]int64, sum ledger, unified bool) (int64, bool) {
	host, known := latest[record.ColFootprint]
	if !known {
		host, known = latest[record.ColRSS]
	}
	if known && unified {
		switch {
		case sum.gpu != nil:
			host = max(host-*sum.gpu, 0)
		case sum.live != nil && sum.idle != nil:
			host = max(host-*sum.live-*sum.idle, 0)
		}
	}
	return host, known
}
