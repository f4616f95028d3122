package capture

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// Cells are the columns of a process as of the last Poll, or nil when it was
// not seen to call the driver: then nothing is known. The caller owns them.
func (r *Reader) Cells(pid int) []record.Cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil {
		return nil
	}
	l := p.ledger
	if p.countsOnly() {
		return handleCells(nil, p.counts())
	}
	if !l.started {
		return nil
	}
	cells := make([]record.Cell, 0, 20)
	add := func(column string, v int64) { cells = append(cells, record.Cell{Column: column, Value: v}) }
	add(record.ColDriverAllocBytes, clamp(l.deviceBytes()))
	add(record.ColDriverAllocCount, l.deviceCount())
	if l.devices > 1 {
		for d := range l.devices {
			add(record.ColDriverAllocBytes+"@"+strconv.Itoa(d), clamp(l.device[d]))
		}
	}
	pooled, pools := l.pools.now(l.bytes[classAsync])
	if pools {
		add(record.ColDriverPoolReserved, clamp(pooled.reserved))
		add(record.ColDriverPoolIdle, clamp(pooled.reserved-pooled.used))
		add(record.ColDriverPoolKeeps, min(clamp(pooled.threshold), record.NoThreshold))
	}
	if own, ok := p.programs(); ok {
		// Pools round up what they hand out.
		add(record.ColDriverProgramBytes, clamp(own.bytes+l.pools.rounding))
		add(record.ColDriverProgramCount, own.count)
	}
	for _, part := range [...]struct {
		column string
		class  class
	}{{record.ColDriverManagedBytes, classManaged}, {record.ColDriverAsyncBytes, classAsync},
		{record.ColDriverVMMBytes, classVMM}, {record.ColDriverArrayBytes, classArray}} {
		if l.seen[part.class] {
			add(part.column, clamp(l.bytes[part.class]))
		}
	}
	add(record.ColPinnedBytes, clamp(l.bytes[classPinned]))
	add(record.ColPinnedCount, l.count[classPinned])
	if l.seen[classRegistered] {
		add(record.ColRegisteredBytes, clamp(l.bytes[classRegistered]))
	}
	if lost := p.lostEvents(); lost > 0 && !p.partial {
		cells = handleCells(cells, p.counts())
	} else {
		add(record.ColEvents, l.count[classEvent])
		add(record.ColStreams, l.count[classStream])
		add(record.ColGraphs, l.count[classGraph])
		add(record.ColModules, l.count[classModule])
	}
	add(record.ColContexts, l.contexts())
	add(record.ColPools, l.count[classPool])
	add(record.ColDriverAllocs, l.allocs)
	add(record.ColDriverFrees, l.frees)
	add(record.ColDriverFailed, l.failed)
	add(record.ColCaptureLost, clamp(p.lostEvents()))
	return cells
}

// handleCells are the living handles by the counts in the ring's header, which
// are right also when events were lost, as long as no context was destroyed.
func handleCells(cells []record.Cell, counts *[kindSlots]uint64) []record.Cell {
	var alive [classCount]int64
	for _, b := range balances {
		left := max(0, clamp(counts[b.makes])-clamp(counts[b.destroys]))
		alive[b.class] = clamp(uint64(alive[b.class]) + uint64(left)) // a damaged header says anything
	}
	return append(cells,
		record.Cell{Column: record.ColEvents, Value: alive[classEvent]},
		record.Cell{Column: record.ColStreams, Value: alive[classStream]},
		record.Cell{Column: record.ColGraphs, Value: alive[classGraph]},
		record.Cell{Column: record.ColModules, Value: alive[classModule]})
}

// counts are those in the header of the running program's ring.
func (p *process) counts() *[kindSlots]uint64 {
	if p.ring == nil {
		return &[kindSlots]uint64{}
	}
	return &p.ring.head.counts
}

// countsOnly reports whether the running program's events have no slots.
func (p *process) countsOnly() bool {
	return p.flags()&flagCounts != 0
}

// flags are those in the header of the program's ring.
func (p *process) flags() uint64 {
	if p.ring == nil {
		return 0
	}
	return p.ring.head.flags
}

// lostEvents are all that are in no ledger.
func (p *process) lostEvents() uint64 {
	if p.ring == nil {
		return p.lost
	}
	return p.lost + p.ring.head.lost + p.ring.head.orphans
}

// Failure is an allocation that the driver refused.
type Failure struct {
	Time   time.Duration // CLOCK_MONOTONIC
	Bytes  int64         // asked for
	Kind   string        // device memory, pinned memory, …
	Code   int           // the driver's; 2 is out of memory
	Device int           // -1 is not known
	// LiveBytes is what the program held then, of all devices.
	LiveBytes int64
	// FreeBytes is what the device had left; -1 is unknown.
	FreeBytes int64
	// Held is what the program held of the devices by site, the largest first; nil where
	// that was not noted.
	Held []record.Site
	Site string // empty when not known
	Own  bool   // the program itself asked, no allocator that tries again, and no library
}

// Failures are the last refused allocations of a process, at most 16, oldest
// first. record.ColDriverFailed has their number.
func (r *Reader) Failures(pid int) []Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil || len(p.ledger.failures) == 0 {
		return nil
	}
	askers := p.resolve(func(want func(uint32)) {
		for _, f := range p.ledger.failures {
			want(f.stack)
		}
		for k := range p.ledger.atRefusal.held {
			want(k.stack)
		}
	})
	out := make([]Failure, 0, len(p.ledger.failures))
	for _, f := range p.ledger.failures {
		var held []record.Site
		if f.time == p.ledger.atRefusal.time && f.class.onDevice() {
			held = heldBy(p.ledger.atRefusal.held, askers)
		}
		out = append(out, Failure{
			Held: held,
			Time: time.Duration(f.time), Bytes: clamp(f.size), Kind: classNames[f.class], Code: int(f.rc),
			Device: int(f.device), LiveBytes: clamp(f.live), FreeBytes: clamp(f.free) - 1,
			Site: askers[f.stack].site,
			Own:  f.stack > 0 && p.space.ownerOf(int(f.stack), p.ledger.stackAt[f.stack]) == theProgram,
		})
	}
	return out
}

// heldBy is memory of devices by the place that asked for it.
func heldBy(sums map[siteKey]record.Site, askers map[uint32]asker) []record.Site {
	merged := merge(askers)
	for k, s := range sums {
		if k.class.onDevice() {
			merged.add(k, s, false)
		}
	}
	return merged.largestFirst()
}

// Warnings are what is missing in the capture of a process; with pid 0, what
// is wrong with the capture as a whole.
func (r *Reader) Warnings(pid int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if pid == 0 {
		return append([]string(nil), r.warnings...)
	}
	p := r.procs[pid]
	if p == nil {
		return nil
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case p.partial && p.ledger.strange > 0:
		say("process %d: allocations from before the attach are unknown; %d later frees were of such",
			pid, p.ledger.strange)
	case p.partial:
		say("process %d: allocations from before the attach are unknown", pid)
	case p.ledger.strange > 0:
		say("process %d: %d frees of memory whose allocation was not seen", pid, p.ledger.strange)
	}
	if p.lost > 0 {
		say("process %d: %d events were lost; what it holds may be wrong by what they did", pid, p.lost)
	}
	if p.ring == nil {
		return out
	}
	h := &p.ring.head
	if h.flags&flagCounts != 0 {
		say("process %d: %d events were only counted: the capture directory was full or out of reach",
			pid, h.lost)
	}
	if h.orphans > 0 {
		say(
			"process %d: %d events of forked children are not recorded: they could not reach the capture "+
				"directory", pid, h.orphans)
	}
	if h.flags&flagForeign != 0 {
		say(
			"process %d: another library interposes dlsym as well; calls that it handles first may be "+
				"missing", pid)
	}
	if h.flags&flagMissed != 0 {
		say("process %d: the driver handed out a function by a name that could not be followed", pid)
	}
	return out
}
