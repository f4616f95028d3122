package sample

import "time"

// Pace is the timer of a sampling loop: when the next tick is due, and how many were
// owed and did not come because the sampler was kept from its work. It is for one
// goroutine; the caller counts each tick.
type Pace struct {
	interval    time.Duration
	start, last time.Time
	ticks       int64
	before      int64 // missed at other intervals
}

// NewPace starts to count at a time.
func NewPace(interval time.Duration, start time.Time) Pace {
	return Pace{interval: interval, start: start, last: start}
}

// Tick counts a tick and reports whether there was a gap before it: so long that
// what others sent meanwhile belongs before the tick's row.
func (p *Pace) Tick(now time.Time) (gap bool) {
	gap = now.Sub(p.last) > 2*p.interval+UsualDelay
	p.last = now
	p.ticks++
	return gap
}

// Change sets the interval of the ticks that follow the last.
func (p *Pace) Change(interval time.Duration) {
	if interval == p.interval {
		return
	}
	p.before = p.Missed()
	p.interval, p.start, p.ticks = interval, p.last, 0
}

// Wait is how long after a time the next tick is due. Those that are over by then are
// left out.
func (p *Pace) Wait(now time.Time) time.Duration {
	return p.interval - now.Sub(p.start)%p.interval
}

// Missed is how many ticks are missing by now.
func (p *Pace) Missed() int64 {
	return p.before + max(int64(p.last.Sub(p.start)/p.interval)-p.ticks, 0)
}
