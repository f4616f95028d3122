package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// fillingUp is a program of so many rows whose live bytes rise by a MiB in every second row
// up to one of them, and then by more in each.
func fillingUp(rows, until int, more float64) *program {
	live := func(i int) float64 {
		return 60*mib + float64(min(i, until)/2)*mib + more*float64(max(0, i-until))
	}
	p := newProgram(rows).healthy().set(record.ColLive, live)
	p.set(record.ColLiveCount, func(i int) float64 { return 40 + float64(min(i, until)/2) })
	p.set(record.ColAllocs, func(i int) float64 { return 100 + 7*float64(i) })
	return p.set(record.ColGPU, func(i int) float64 { return 700*mib + live(i) })
}

func TestWhatFilledUpAndThenStoodStillForLongGrowsNoMore(t *testing.T) {
	t.Parallel()
	v := fillingUp(400, 250, 0).judge()
	if v.Verdict != None || rowOf(v, Live).Shape != trend.Plateau {
		t.Errorf("%s (live %s)", v.Summary, rowOf(v, Live).Shape)
	}
	// What could have come unseen since is told by the time since, not by the whole.
	if d := rowOf(v, Live).DetectablePerSecond; d == nil || *d < mib/8 {
		t.Errorf("a growth above %v a second would have been seen", d)
	}
	for name, p := range map[string]*program{
		"it goes on, more slowly": fillingUp(400, 250, 60*kib),
		"too short":               fillingUp(150, 90, 0),
		"it filled up just now":   fillingUp(400, 330, 0),
	} {
		if v := p.judge(); v.Verdict == None {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

func TestAProgramThatWaitsHasNotStoppedToGrow(t *testing.T) {
	t.Parallel()
	p := fillingUp(400, 250, 0)
	for _, name := range [...]string{record.ColAllocs, record.ColStep} {
		p.set(name, func(i int) float64 { return 100 + 7*float64(min(i, 251)) })
	}
	if v := p.judge(); v.Verdict == None {
		t.Errorf("%s", v.Summary)
	}
}
