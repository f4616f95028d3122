package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// importer is a program whose host memory stands still for ten seconds while a slow disk
// gives it its modules, as many a second as are given.
func importer(modules float64) *program {
	p := newProgram(200).flat(record.ColRSS, 20*mib, 0).flat(record.ColRSSAnon, 14*mib, 0)
	p.set(record.ColImported, func(i int) float64 { return 100 + modules*float64(i/10)/2 })
	p.meta.Versions = map[string]string{"python": "3.12.3"}
	return p
}

func TestAProgramThatImportsHasNotBegun(t *testing.T) {
	t.Parallel()
	const why = "still importing its modules"
	if v := importer(20).judge(); v.Verdict != Undecided || !strings.Contains(v.Summary, why) {
		t.Errorf("it goes on: %s", v.Summary)
	}
	if v := importer(2).judge(); v.Verdict != None {
		t.Errorf("a module now and then: %s", v.Summary)
	}
	long := newProgram(800).flat(record.ColRSS, 20*mib, 0).flat(record.ColRSSAnon, 14*mib, 0)
	long.set(record.ColImported, func(i int) float64 {
		if i > 10 {
			return math.NaN()
		}
		return 100
	})
	long.meta.Versions = map[string]string{"python": "3.12.3"}
	if v := long.judge(); v.Verdict != None {
		t.Errorf("its modules were counted at its start alone: %s", v.Summary)
	}
	p := importer(20)
	end := time.Unix(1, 0)
	p.meta.End = &end
	if v := p.judge(); v.Verdict != None {
		t.Errorf("that was all of its life: %s", v.Summary)
	}
}
