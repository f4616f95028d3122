//go:build linux || darwin

package probe

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Self is what this process has used so far.
func Self() (Usage, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return Usage{RSS: Unknown}, fmt.Errorf("read own usage: %w", err)
	}
	u := Usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), RSS: Unknown}
	p, err := Open(os.Getpid())
	if err != nil {
		return u, err
	}
	defer p.Close()
	var m Memory
	if err := p.Read(&m); err != nil {
		return u, err
	}
	u.RSS = m.RSS
	return u, nil
}
