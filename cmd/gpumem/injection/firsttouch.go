package injection

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gpumem/gpumem/probe/firsttouch"
	"github.com/gpumem/gpumem/tracer/capture"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	touchFor = 6 * time.Second
	// touchOwners is how many owners are worth telling.
	touchOwners = 8
)

// watchFirstTouch waits until the program's memory keeps growing and then finds
// out whose code first touches the new pages. It says once why it cannot.
func watchFirstTouch(ctx context.Context, pid int, emit func(record.Event)) {
	if waitForGrowth(ctx, pid) {
		recordTouches(ctx, pid, emit)
	}
}

// recordTouches watches a process for some seconds and tells whose code first touched its
// new pages; false, with the reason as a warning, where it may not.
func recordTouches(ctx context.Context, pid int, emit func(record.Event)) bool {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	interpreted := capture.IsInterpreter(exe) // the agent tells its own lines
	recorder, err := firsttouch.Start(pid, firsttouch.Options{})
	if err != nil {
		emit(record.Event{PID: pid, Kind: record.KindWarning, Text: err.Error()})
		return false
	}
	select {
	case <-ctx.Done():
	case <-recorder.Done():
	case <-time.After(touchFor):
	}
	report := recorder.Stop()
	told := firstTouch(report)
	if !interpreted {
		told.Places = touchPlaces(pid, report.Places)
	}
	emit(record.Event{PID: pid, Kind: record.KindFirstTouch, FirstTouch: told})
	return true
}

// touchPlaces names the places that touched most.
func touchPlaces(pid int, places []firsttouch.Place) []record.TouchPlace {
	byFile := map[string][]uint64{}
	for _, p := range places {
		for _, spot := range p.Chain {
			byFile[spot.Path] = append(byFile[spot.Path], spot.Offset)
		}
	}
	names := map[string]map[uint64]string{}
	for path, offsets := range byFile {
		slices.Sort(offsets)
		names[path] = capture.NamePlaces(pid, path, slices.Compact(offsets))
	}
	shares := map[string]float64{}
	for _, p := range places {
		var chain []string
		for _, spot := range p.Chain {
			chain = append(chain, names[spot.Path][spot.Offset])
		}
		if name := capture.ProgramsPlace(chain); name != "" {
			shares[name] += p.Share
		}
	}
	var list []record.TouchPlace
	for name, share := range shares {
		list = append(list, record.TouchPlace{Site: name, Share: share})
	}
	slices.SortFunc(list, func(a, b record.TouchPlace) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Site, b.Site))
	})
	return list[:min(len(list), touchOwners)]
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
