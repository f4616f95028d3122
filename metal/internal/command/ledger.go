package command

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// Ledger is what a device has made, what it allows, and whether it is open.
// Its address is the device's identity. It is safe for concurrent use.
type Ledger struct {
	info   metal.Info
	faults metal.Faults

	mu        sync.Mutex
	budget    uint64
	usage     metal.Usage
	queues    int
	closed    bool
	lost      error // what spoilt the device
	allocated int   // reservations that passed the checks, for the faults
}

// NewLedger is the ledger of a device with these limits; the budget is
// info.RecommendedWorkingSet.
func NewLedger(info metal.Info, f metal.Faults) *Ledger {
	return &Ledger{info: info, faults: f, budget: info.RecommendedWorkingSet}
}

// Info describes the device.
func (l *Ledger) Info() metal.Info { return l.info }

// Usage is what exists now and the running totals.
func (l *Ledger) Usage() metal.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usage
}

// Usable reports why nothing can be made any more, else nil.
func (l *Ledger) Usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usable()
}

func (l *Ledger) usable() error {
	if l.closed {
		return fmt.Errorf("device: %w", metal.ErrReleased)
	}
	return l.lost
}

// Lose remembers the first error after which the device makes nothing.
func (l *Ledger) Lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = err
	}
}

// Pages is a length rounded up to the page size, a power of two.
func (l *Ledger) Pages(length uint64) uint64 {
	return (length + l.info.PageSize - 1) &^ (l.info.PageSize - 1)
}

// Reserve checks a buffer against the limits and the faults and counts it.
// Unreserve or Refused takes it out again.
func (l *Ledger) Reserve(length uint64) error {
	if length == 0 || length > l.info.MaxBufferLength {
		return fmt.Errorf("length %d, allowed 1 to %d: %w", length, l.info.MaxBufferLength, metal.ErrInvalid)
	}
	pages := l.Pages(length)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.allocated++
	if l.faults.ShrinkAfter > 0 && l.allocated > l.faults.ShrinkAfter {
		l.budget = min(l.budget, l.faults.ShrinkTo)
	}
	switch {
	case l.allocated == l.faults.FailAllocation:
		return l.refusal(length, fmt.Sprintf("planted fault: allocation %d fails", l.allocated))
	case l.usage.Buffers >= int64(l.info.MaxBuffers):
		refused := l.refusal(length, "too many buffers")
		refused.LimitBytes, refused.MaxBuffers = 0, l.info.MaxBuffers
		return refused
	case pages > l.budget || uint64(l.usage.AllocatedBytes) > l.budget-pages:
		return l.refusal(length, "working set is full")
	}
	l.usage.AllocatedBytes += int64(pages)
	l.usage.Buffers++
	l.usage.TotalBuffers++
	return nil
}

// Unreserve takes a released buffer of that length out of the counts.
func (l *Ledger) Unreserve(length uint64) {
	l.count(func(u *metal.Usage) {
		u.AllocatedBytes -= int64(l.Pages(length))
		u.Buffers--
	})
}

// NoMemory is a driver's refusal of memory, in its words. Refusal makes an
// OutOfMemoryError of it.
type NoMemory string

func (e NoMemory) Error() string { return string(e) }

// Refused takes a reserved buffer out that could not be made after all, and
// returns Refusal's error.
func (l *Ledger) Refused(length uint64, err error) error {
	l.Unreserve(length)
	l.count(func(u *metal.Usage) { u.TotalBuffers-- })
	return l.Refusal(length, err)
}

// Refusal is an error that is NoMemory with what the device holds; others stay
// as they are.
func (l *Ledger) Refusal(length uint64, err error) error {
	var words NoMemory
	if !errors.As(err, &words) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusal(length, string(words))
}

func (l *Ledger) refusal(length uint64, reason string) *metal.OutOfMemoryError {
	return &metal.OutOfMemoryError{
		RequestedBytes: length, AllocatedBytes: uint64(l.usage.AllocatedBytes), LimitBytes: l.budget,
		Buffers: int(l.usage.Buffers), Reason: reason,
	}
}

// Close marks the device closed; from then on it makes nothing. It returns an
// error matching metal.ErrInvalid that names what was not released; then the
// device stays open.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("close %s device: %w", l.info.Driver, metal.ErrReleased)
	}
	var left []string
	for _, kind := range []struct {
		n    int64
		what string
	}{
		{l.usage.Buffers, "buffers"}, {l.usage.CommandBuffers, "command buffers"},
		{l.usage.Pipelines, "pipelines"}, {int64(l.queues), "queues"},
	} {
		if kind.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("close %s device: not released: %s: %w", l.info.Driver, strings.Join(left, ", "),
			metal.ErrInvalid)
	}
	l.closed = true
	return nil
}

// count changes the usage under its lock.
func (l *Ledger) count(f func(*metal.Usage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.usage)
}

// admit counts one more of something, unless nothing can be made any more.
func (l *Ledger) admit(f func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	f()
	return nil
}
