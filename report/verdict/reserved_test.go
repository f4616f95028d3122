package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// arrayFilled is a program of which the host grows by a MiB a second, 100 MiB of its array of
// 700 MiB were touched before, and nothing more is reserved.
func arrayFilled() *program {
	p := newProgram(800).healthy()
	seconds := func(i int) float64 { return p.cols[record.ColTime][i] / 1000 }
	p.set(record.ColRSS, func(i int) float64 { return 200*mib + mib*seconds(i) })
	p.set(record.ColReserved, func(i int) float64 { return 900*mib + float64(i%7)*2*mib })
	p.set(record.ColHostHeap, func(i int) float64 { return 800*mib + float64(i%5)*100*kib })
	return p
}

func TestMemoryThatWasReservedBeforeIsFilledAndDoesNotGrow(t *testing.T) {
	t.Parallel()
	seconds := func(p *program, i int) float64 { return p.cols[record.ColTime][i] / 1000 }
	for name, c := range map[string]struct {
		change func(*program)
		want   Class
	}{
		"an array is filled": {func(*program) {}, None},
		"objects come that lie in no C heap": {func(p *program) {
			p.set(record.ColReserved, func(i int) float64 { return 900*mib + mib*seconds(p, i) })
		}, ""},
		"the heap hands out more": {func(p *program) {
			p.set(record.ColHostHeap, func(i int) float64 { return 800*mib + mib*seconds(p, i) })
		}, HostGrowth},
		"all of the heap was touched": {func(p *program) {
			p.set(record.ColHostHeap, func(int) float64 { return 190 * mib })
		}, ""},
		"nobody read the heap":         {func(p *program) { delete(p.cols, record.ColHostHeap) }, ""},
		"nobody told what is reserved": {func(p *program) { delete(p.cols, record.ColReserved) }, ""},
		"less was untouched than it grows by": {func(p *program) {
			p.set(record.ColHostHeap, func(int) float64 { return 210 * mib })
		}, ""},
	} {
		p := arrayFilled()
		c.change(p)
		v := p.judge()
		if want := c.want; want != "" && v.Verdict != want || want == "" && v.Verdict == None {
			t.Errorf("%s: %s", name, v.Summary)
		}
		if told := strings.Contains(v.Summary, "reserved before"); told != (c.want == None) {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}
