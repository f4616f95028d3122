//go:build unix

package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

func monotonicNow() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return time.Now().UnixNano() // no such clock is not known to happen
	}
	return ts.Nano()
}
