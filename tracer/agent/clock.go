package agent

import "time"

// Clock reads the clock of the protocol, CLOCK_MONOTONIC in nanoseconds, which
// all processes of a machine share. The zero value is not usable; NewClock
// reads the clock once by system call, after which Now costs no more than
// time.Now, because Go's own monotonic clock is the same one from another
// origin.
type Clock struct {
	base  int64
	start time.Time
}

// NewClock returns a clock that is ready to be read. The copies of a Clock are
// the same clock.
func NewClock() Clock {
	// The reading closest to two equal stamps around it is the best of a few:
	// a thread may lose its processor between the two clocks.
	best := Clock{}
	shortest := time.Duration(1<<63 - 1)
	for range 5 {
		start := time.Now()
		base := monotonicNow()
		if took := time.Since(start); took < shortest {
			shortest = took
			best = Clock{base: base - int64(took/2), start: start}
		}
	}
	return best
}

// Now is the time in nanoseconds.
func (c Clock) Now() int64 { return c.base + int64(time.Since(c.start)) }
