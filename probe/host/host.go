// Package host says of a machine and of its processes what is asked for once and
// needs no speed, by gopsutil: the platform, the processor, the temperature, who
// started a process and how many files it has open. It is also the second
// opinion on what package probe reads itself.
//
// A fact takes from microseconds to some hundred milliseconds: where the system
// has no call for it, gopsutil starts a program of the system (macOS: sw_vers,
// lsof, ps, vm_stat). So nothing here is on the path of a sample, and
// every call has an end: what is not known by then is absent. Strings not known
// are empty, numbers Unknown, times zero.
package host

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"
)

// Unknown stands for a number that the system does not tell. It is never 0.
const Unknown int64 = -1

// bound is how long the facts may take together.
const bound = 300 * time.Millisecond

// Facts are what a machine is. Nothing among them names it or its user.
type Facts struct {
	Platform string // "Debian GNU/Linux 12 (bookworm)", "darwin 15.1"
	Kernel   string // its release
	// Booted is when the machine started.
	Booted time.Time
	// Virtualization is the system that the machine is a guest of, with
	// " (host)" behind where it is that of its own guests.
	Virtualization string
	CPU            string // the processor's model
	Processors     int    // logical ones; 0 when not told
	// Memory and Swap are all there is of each, in bytes. Swap may be 0.
	Memory, Swap int64
}

// Read asks for all facts at once. It returns when all came or when ctx or the
// bound is over.
func Read(ctx context.Context) Facts {
	f := Facts{Memory: Unknown, Swap: Unknown}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var b batch
	b.ask(func() func() {
		name, err := platform(ctx)
		return when(err, func() { f.Platform = name })
	})
	b.ask(func() func() {
		release, err := host.KernelVersionWithContext(ctx)
		return when(err, func() { f.Kernel = release })
	})
	b.ask(func() func() {
		seconds, err := host.BootTimeWithContext(ctx)
		return when(err, func() {
			if seconds > 0 {
				f.Booted = time.Unix(int64(seconds), 0).UTC()
			}
		})
	})
	b.ask(func() func() {
		system, role, err := host.VirtualizationWithContext(ctx)
		return when(err, func() { f.Virtualization = virtualization(system, role) })
	})
	b.ask(func() func() {
		list, err := cpu.InfoWithContext(ctx)
		return when(err, func() {
			if len(list) > 0 {
				f.CPU = strings.Join(strings.Fields(list[0].ModelName), " ")
			}
		})
	})
	b.ask(func() func() {
		n, err := cpu.CountsWithContext(ctx, true)
		return when(err, func() { f.Processors = n })
	})
	b.ask(func() func() {
		v, err := mem.VirtualMemoryWithContext(ctx)
		return when(err, func() { f.Memory = known(v.Total) })
	})
	b.ask(func() func() {
		v, err := mem.SwapMemoryWithContext(ctx)
		return when(err, func() { f.Swap = int64(v.Total) })
	})
	b.wait(ctx)
	return f
}

// virtualization names the system that a machine is the guest or the host of.
func virtualization(system, role string) string {
	if system != "" && role == "host" {
		return system + " (host)"
	}
	return system
}

// known is a size that cannot be 0.
func known(bytes uint64) int64 {
	if bytes == 0 || bytes > 1<<62 {
		return Unknown
	}
	return int64(bytes)
}

// when is what to do with an answer, nothing when it is an error.
func when(err error, take func()) func() {
	if err != nil {
		return func() {}
	}
	return take
}

// batch asks several questions at once. The answers are taken over by whoever
// waits, so that one that comes too late changes nothing any more.
type batch struct {
	once    sync.Once
	answers chan func()
	asked   int
}

// most is how many questions a batch may have.
const most = 16

// ask asks one question; what it returns takes the answer over.
func (b *batch) ask(question func() (take func())) {
	b.once.Do(func() { b.answers = make(chan func(), most) })
	b.asked++
	go func() { b.answers <- question() }()
}

// wait takes the answers over until all came or ctx is done.
func (b *batch) wait(ctx context.Context) {
	for range b.asked {
		select {
		case take := <-b.answers:
			take()
		case <-ctx.Done():
			return
		}
	}
}
