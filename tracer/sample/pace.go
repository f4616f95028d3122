package sample

import "time"

// Pace counts the ticks of a timer, and those that it owed and did not give
// because the sampler was kept from its work. It is for one goroutine; the caller
// counts each tick.
type Pace struct {
	interval    time.Duration
	start, last time.Time
	ticks       int64
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

// Missed is how many ticks are missing by now.
func (p *Pace) Missed() int64 {
	return max(int64(p.last.Sub(p.start)/p.interval)-p.ticks, 0)
}
