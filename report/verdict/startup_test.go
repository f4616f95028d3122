package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// importing fills the host columns of a program that reads libraries in for so
// many rows and then holds what it has.
func importing(rows, loads int) *program {
	p := newProgram(rows)
	level := func(i int) float64 { return float64(min(i, loads)) }
	p.set(record.ColRSSFile, func(i int) float64 { return 10*mib + 5*mib*level(i) })
	p.set(record.ColRSS, func(i int) float64 { return 30*mib + 9*mib*level(i) + 16*kib*p.r.NormFloat64() })
	return p
}

func TestReadingCodeInIsNoGrowth(t *testing.T) {
	t.Parallel()
	if v := importing(100, 100).judge(); v.Verdict != Undecided || !strings.Contains(v.Summary, "reading its code in") {
		t.Errorf("a program that only starts: %s", v.Summary)
	}
	if v := importing(400, 100).judge(); v.Verdict != None {
		t.Errorf("a program that starts and then works: %s", v.Summary)
	}
	p := importing(600, 100)
	p.set(record.ColRSS, func(i int) float64 {
		return 30*mib + 9*mib*float64(min(i, 100)) + 256*kib*float64(max(0, i-100)) + 16*kib*p.r.NormFloat64()
	})
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("a program that starts and then leaks: %s", v.Summary)
	}
}

// A list of many objects is given back over a few samples, which may fall
// anywhere in it.
func TestAGrowthThatTheExitingProgramGivesBackIsAGrowth(t *testing.T) {
	t.Parallel()
	for _, last := range [][]float64{{.1}, {.76, .1}, {.76, .1, .1, .1}, {.97, .7, .1}, {.95, .76, .12, .12, .12}} {
		const rows = 168
		p := newProgram(rows)
		p.set(record.ColRSS, func(i int) float64 {
			kept := 1.
			if i >= rows-len(last) {
				kept = last[i-(rows-len(last))]
			}
			return 20*mib + kept*mib*float64(i) + 16*kib*p.r.NormFloat64()
		})
		if v := p.judge(); v.Verdict != HostGrowth {
			t.Errorf("the last rows are %.2f of what was held: %s", last, v.Summary)
		}
	}
}
