package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// evaluating is a program of a minute whose host memory rises for some seconds to a tooth
// of 80 to 150 MiB, and falls, at three times of its life; kept is what stays of each.
func evaluating(rows int, kept float64) *program {
	p := newProgram(rows).healthy()
	teeth := []struct{ from, to, height float64 }{{150, 330, 80 * mib}, {480, 820, 150 * mib},
		{940, 1150, 110 * mib}}
	host := func(i int) float64 {
		level := 500 * float64(mib)
		for _, t := range teeth {
			switch at := float64(i); {
			case at >= t.to:
				level += kept
			case at >= t.from:
				level += t.height * (at - t.from) / (t.to - t.from)
			}
		}
		return level + 96*kib*p.r.NormFloat64()
	}
	return p.set(record.ColRSS, host).flat(record.ColHostHeap, 300*mib, 64*kib)
}

func TestAFewLongTeethThatFallToTheSameLevelAreBounded(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1000, 1100, 1250} {
		v := evaluating(rows, 0).judge()
		if r := rowOf(v, Host); v.Verdict != None || r.Shape != trend.Bounded {
			t.Errorf("%d rows: host %s: %s", rows, r.Shape, v.Summary)
		}
	}
	for _, kept := range []float64{8 * mib, 20 * mib, 60 * mib} {
		if v := evaluating(1250, kept).judge(); v.Verdict == None {
			t.Errorf("%.0f MiB of each stay: %s", kept/mib, v.Summary)
		}
	}
}

func TestATallerToothThatDoesNotFallIsOpen(t *testing.T) {
	t.Parallel()
	p := evaluating(1250, 0)
	host := p.cols[record.ColRSS]
	for i := 940; i < len(host); i++ {
		host[i] += float64(i-940) * mib // what begins here may go on
	}
	if v := p.judge(); v.Verdict == None {
		t.Errorf("%s", v.Summary)
	}
}
