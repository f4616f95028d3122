package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// risingAt is a program of 20 s whose host memory rises by so many bytes at each of some seconds.
func risingAt(size float64, at ...float64) *program {
	p := newProgram(400)
	p.meta.Versions = map[string]string{"python": "3.12"}
	level := func(i int) float64 {
		y := 80. * mib
		for _, second := range at {
			if float64(i)/20 >= second {
				y += size
			}
		}
		return y
	}
	return p.set(record.ColRSS, level).set(record.ColFootprint, level).set(record.ColRSSAnon, level)
}

func TestARiseThatCameASecondTimeMayComeAgain(t *testing.T) {
	t.Parallel()
	v := risingAt(16*mib, 3, 14).judge()
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "rose by 16.0 MiB after 3 s and by 16.0 MiB after 14 s") {
		t.Errorf("a second rise 6 s before the end: %s", v.Answer)
	}
	for name, p := range map[string]*program{
		"one rise":                           risingAt(16*mib, 3),
		"a third would have come":            risingAt(16*mib, 3, 8),
		"as good as one":                     risingAt(16*mib, 12, 14),
		"little beside what the program has": risingAt(4*mib, 3, 14),
	} {
		if v := p.judge(); v.Verdict != None {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
	back := risingAt(16*mib, 3, 14)
	rise := back.cols[record.ColFootprint]
	for i := 15 * 20; i < len(rise); i++ {
		rise[i] -= 16 * mib // what came the second time was given back
	}
	if v := back.judge(); v.Verdict == HostGrowth || strings.Contains(v.Answer, "may do so again") {
		t.Errorf("given back: %s", v.Answer)
	}
}

// A list that gets longer at each look, until it is emptied after the last of them.
func TestWhatWasGivenBackSinceTheLastLookDecidesNothing(t *testing.T) {
	t.Parallel()
	const each = 128 * kib
	judged := func(emptied int) *Verdict {
		p := newProgram(560)
		p.meta.Versions = map[string]string{"python": "3.12"}
		level := func(i int) float64 { return 80*mib + each*float64(i%emptied) }
		return p.set(record.ColRSS, level).set(record.ColFootprint, level).lookedAt("list main() local sales", each, 0).judge()
	}
	if v := judged(560); v.Verdict != HostGrowth {
		t.Errorf("never emptied: %s", v.Answer)
	}
	if v := judged(380); v.Verdict == HostGrowth {
		t.Errorf("emptied after 19 s: %s", v.Answer)
	}
}

// The heap has in use what it had, and keeps more free between its blocks, however straight.
func TestAHeapThatSettlesLateIsOpenHoweverSure(t *testing.T) {
	t.Parallel()
	judged := func(free float64) *Verdict {
		p := newProgram(1200).healthy().flat(record.ColHostHeap, 100*mib, 0)
		late := func(most float64) func(i int) float64 {
			return func(i int) float64 { return most * max(0, float64(i-600)/600) }
		}
		rises, keeps := late(4*mib), late(free)
		for _, column := range []string{record.ColRSS, record.ColFootprint} {
			p.set(column, func(i int) float64 { return 150*mib + rises(i) })
		}
		return p.set(record.ColHostHeapFree, func(i int) float64 { return 4*mib + keeps(i) }).judge()
	}
	if v := judged(3.6 * mib); v.Verdict != Undecided || !strings.Contains(v.Answer, "lies free in the C heap") {
		t.Errorf("nearly all is free: %s", v.Answer)
	}
	if v := judged(2.2 * mib); v.Verdict != HostGrowth {
		t.Errorf("half is free: %s", v.Answer)
	}
}
