package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// A program that starts reads its code in: file pages and the heap grow
// together, until neither does. That is warm-up, however steady it looks.
const (
	startFor   = 30.      // seconds from the first row on in which code is loaded
	startRise  = 4 * mib  // of file pages from one reading to the next
	startLeast = 16 * mib // of file pages in all, for a start that matters
	startSmall = 8 * mib  // of host memory: 3 MiB were seen of a healthy native server in 1.5 s
	startRows  = 60       // rows that must be left for a trend
	startLife  = 3.       // seconds in which every program takes its first memory
	startSlow  = 8.       // and in which one of an interpreter imports, on a busy machine: 5 were seen of PyTorch
	startBusy  = 24.      // and in which it may take memory that a growth is not sure of
	startAlive = 12.      // since its device came to life: libraries load what they need then
)

// afterStart leaves out the rows in which the program read its code in; still
// says that there are no others. Steps end the loading.
func (k *track) afterStart() (rest *track, still bool) {
	file := k.cols[record.ColRSSFile]
	if file == nil || len(k.clock) == 0 || k.untimed {
		return k, false
	}
	first, last, end := -1., 0., -1
	for i, v := range file {
		if k.clock[i]-k.clock[0] > startFor || k.Step != nil && k.Step[i] != k.Step[0] {
			break
		}
		if code := k.cols[record.ColFileCode]; code != nil && code[i] < v {
			v = code[i] // what is beyond it was mapped of files without code
		}
		if v != v {
			continue
		}
		if first < 0 {
			first, last = v, v
		}
		if v > last+startRise {
			end = i
		}
		last = v // a driver that works touches a page of its code now and then
	}
	switch {
	case end < 0 || last-first < startLeast, k.changedFiles() > (last-first)/2:
		return k, false
	case len(k.clock)-end >= startRows:
		return k.rows(end, len(k.clock)), false
	}
	return k, true
}

// changedFiles is how much of its mapped files the program had changed at most while it
// may have been starting, in bytes: nobody changes code.
func (k *track) changedFiles() float64 {
	most := 0.
	for i, v := range k.cols[record.ColFileDirty] {
		if v > most && k.clock[i]-k.clock[0] <= startFor {
			most = v
		}
	}
	return most
}

// findStart is a program that was reading its code in up to the end, or one that ended
// before its start-up can be told from its work and took host memory alone; nil of
// another. Where something counts the work, the work is told, but for so little that the
// first use of everything may have taken it.
func findStart(x *examined, growth finding) *finding {
	if x.starting {
		const why = "the program was still loading its code, and loading code is not growth"
		return &finding{of: keys, why: why}
	}
	hosts := growth.of == keyHost || growth.of == keyHeap
	recorded := len(x.run.Meta.Command) > 0 // from its start; nobody knows when a bare table begins
	lived := x.lived()
	small := growth.of < keys && x.grow[growth.of].Gained() < startSmall
	if recorded && hosts && (small || !x.judged.countsWork()) && !x.judged.untimed && lived < startLife {
		return &finding{of: keys, why: fmt.Sprintf(
			"the program ran for only %s, and every program takes host memory while it starts",
			duration(lived))}
	}
	return nil
}

// mayBeStarting says why a growth of host memory of a program of Python's may be its
// start or its filling up until its first collection: it ran so shortly, and the looks at
// it found nobody who holds what came. Empty of another. Beside a device that has been
// alive for some time, holders of host memory are not looked for.
func mayBeStarting(s *settled) string {
	_, python := s.run.Meta.Versions["python"]
	hosts := s.primary == keyHost || s.primary == keyHeap
	if !python || !hosts || s.restsOn != ByTrend || s.judged.countsWork() || s.judged.untimed ||
		s.usesDevice() && s.deviceLived() >= startAlive {
		return ""
	}
	lived, slow := s.lived(), startBusy
	if s.tier() == Confirmed && !compilesFirst(s) {
		slow = startSlow
	}
	if lived >= slow || hostHolder(s, s.holders()) != nil || compilesSteadily(s) {
		return ""
	}
	if s.usesDevice() {
		return fmt.Sprintf("the program ran for only %s, and libraries load much until a device has been in use "+
			"for some seconds", duration(lived))
	}
	return fmt.Sprintf("the program ran for only %s, and nothing that its names reach got so much longer",
		duration(lived))
}

// mayHide says why host memory of a program of Python's may grow although the trend saw
// nothing, where it was seen for so short a time. Empty of another.
func mayHide(s *settled) string {
	_, python := s.run.Meta.Versions["python"]
	if !python || !s.grow[keyHost].Known || s.judged.untimed || s.lived() >= startFor {
		return ""
	}
	if why := tooLateToSee(s); why != "" {
		return why
	}
	return hiddenByGiving(s)
}

// tooLateToSee says so where host memory that doubled in the time that the program was seen would
// not have shown: it set itself up for most of that.
func tooLateToSee(s *settled) string {
	least, held := s.judged.detectable(&s.grow[keyHost]), stat.Known(s.judged.series[keyHost])
	if least == nil || len(held) == 0 || *least*s.lived() < math.Max(held[len(held)-1], startSmall) {
		return ""
	}
	return fmt.Sprintf("host memory rose until shortly before, and %s a second more would not have been seen since",
		units.Bytes(*least))
}

// hiddenByGiving says so where the last look found a holder without a bound longer, by as much as
// host memory rose by since the look before: what the program gave back hides it from the trend.
func hiddenByGiving(s *settled) string {
	beside := s.judged.series[keyLive] != nil
	for _, c := range s.courses() {
		l := c.looks[len(c.looks)-1]
		rise := s.whole.between(keyHost, l.at-l.over, l.at) * l.over
		part := float64(l.holder.Bytes) / rise
		if len(c.looks) > 1 && c.lengthens() && l.holder.Bound == 0 && l.holder.Host == beside &&
			l.at >= s.end()/2 && rise > s.whole.delta(keyHost) && part >= leastExplained && part <= mostExplained {
			return c.path + " got longer, and host memory with it, but the program gave back as much before"
		}
	}
	return ""
}

// deviceIsYoung says why a growth that the trend alone tells, and not surely, may be what
// a program of Python's sets up when its device has come to life. Empty of another.
func deviceIsYoung(s *settled) string {
	if s.restsOn != ByTrend || s.primary == keys || s.tier() == Confirmed {
		return ""
	}
	_, python := s.run.Meta.Versions["python"]
	if !python || s.judged.untimed || !s.usesDevice() {
		return ""
	}
	lived := s.deviceLived()
	if lived >= startAlive {
		return ""
	}
	return fmt.Sprintf("the device has been in use for only %s, and programs fill their caches then", duration(lived))
}

// deviceLived is for how many seconds the program has held memory of a device; 0 of one
// that has none yet. A worker that has none does not wait for one: it has lived for as
// long as it was seen.
func (p *process) deviceLived() float64 {
	w := p.whole
	for i := range w.clock {
		for _, c := range deviceColumns {
			if col := w.cols[c]; col != nil && col[i] > 0 {
				return w.clock[len(w.clock)-1] - w.clock[i]
			}
		}
	}
	if p.pid != 0 && p.pid != p.run.Meta.PID {
		return p.lived()
	}
	return 0
}

// countsWork reports whether steps or another running total of work advanced.
func (k *track) countsWork() bool {
	end, _ := k.lastWork()
	return end > 0
}
