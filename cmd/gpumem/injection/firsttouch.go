package injection

import (
	"context"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/firsttouch"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// touchGrowth within touchLook is what arms the first-touch recording: a
	// program that grows more slowly faults too rarely to be judged in time.
	touchGrowth = 4 << 20
	touchLook   = 2 * time.Second
	// touchWarmup is left to the program to load itself: libraries that are read
	// in would be named as owners.
	touchWarmup = 3 * time.Second
	touchFor    = 6 * time.Second
	// touchOwners is how many owners are worth telling.
	touchOwners = 8
)

// watchFirstTouch waits until the program's memory keeps growing and then finds
// out whose code first touches the new pages. It says once why it cannot.
func watchFirstTouch(ctx context.Context, pid int, emit func(record.Event)) {
	if !waitForGrowth(ctx, pid) {
		return
	}
	recorder, err := firsttouch.Start(pid, firsttouch.Options{})
	if err != nil {
		emit(record.Event{PID: pid, Kind: record.KindWarning, Text: err.Error()})
		return
	}
	select {
	case <-ctx.Done():
	case <-recorder.Done():
	case <-time.After(touchFor):
	}
	emit(record.Event{PID: pid, Kind: record.KindFirstTouch, FirstTouch: firstTouch(recorder.Stop())})
}

// waitForGrowth returns true when resident memory grew twice in a row.
func waitForGrowth(ctx context.Context, pid int) bool {
	ps, err := probe.Open(pid)
	if err != nil {
		return false
	}
	defer ps.Close()
	var m probe.Memory
	last, grew := probe.Unknown, 0
	for wait := touchWarmup; grew < 2; wait = touchLook {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		if ps.Read(&m) != nil {
			return false
		}
		switch {
		case last != probe.Unknown && m.RSS-last >= touchGrowth:
			grew++
		default:
			grew = 0
		}
		last = m.RSS
	}
	return true
}

// firstTouch is a report as a run records it.
func firstTouch(r firsttouch.Report) *record.FirstTouch {
	out := &record.FirstTouch{
		Seconds: r.Duration.Seconds(), Judgement: string(r.Churn.Judgement), Lost: int64(r.Lost),
	}
	if touched := r.Churn.TouchedBytes; touched != firsttouch.Unknown {
		out.TouchedBytes = &touched
	}
	if growth := r.Churn.GrowthBytes; r.Churn.Known {
		out.GrowthBytes = &growth
	}
	for _, o := range r.Owners[:min(len(r.Owners), touchOwners)] {
		out.Owners = append(out.Owners, record.TouchOwner{Library: o.Library, Share: o.Share})
	}
	return out
}
