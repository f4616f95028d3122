package verdict

import (
	"math"
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

// nativeArray is a program whose heap nobody reads, that has an array of 400 MiB and writes 3
// MiB of it a second.
func nativeArray() *program {
	p := newProgram(440)
	p.meta.Command = []string{"solver"}
	seconds := func(i int) float64 { return p.cols[record.ColTime][i] / 1000 }
	p.set(record.ColRSS, func(i int) float64 { return 2*mib + 3*mib*seconds(i) })
	p.set(record.ColThreads, func(int) float64 { return 1 })
	p.set(record.ColReserved, func(i int) float64 { return min(404*mib, 4*mib+400*mib*float64(i)) })
	return p
}

func TestAnArrayOfAProgramWhoseHeapIsNotReadIsFilled(t *testing.T) {
	t.Parallel()
	reserves := func(of func(seconds float64) float64) func(*program) {
		return func(p *program) {
			p.set(record.ColReserved, func(i int) float64 { return of(p.cols[record.ColTime][i] / 1000) })
		}
	}
	for name, c := range map[string]struct {
		change func(*program)
		want   Class
	}{
		"an array is filled":        {func(*program) {}, None},
		"the heap reserves as much": {reserves(func(s float64) float64 { return 404*mib + 3*mib*s }), HostGrowth},
		"a small leak beside it":    {reserves(func(s float64) float64 { return 404*mib + .25*mib*s }), Undecided},
		"a leak beside the array":   {reserves(func(s float64) float64 { return 404*mib + mib*s }), HostGrowth},
		"a language's heap, reserved in pieces of 8 MiB": {
			reserves(func(s float64) float64 { return 404*mib + 8*mib*float64(int(3*s/8)) }), HostGrowth},
		"a vector that doubles": {func(p *program) {
			p.set(record.ColReserved, func(i int) float64 {
				n := 4. * mib
				for n < p.cols[record.ColRSS][i] {
					n *= 2
				}
				return n
			})
		}, HostGrowth},
		"what is reserved is the threads' stacks": {func(p *program) {
			p.set(record.ColThreads, func(int) float64 { return 50 })
		}, HostGrowth},
		"less than allocators keep is untouched": {
			reserves(func(s float64) float64 { return 28*mib + 3*mib*s }), HostGrowth},
		"nobody told what is reserved": {func(p *program) { delete(p.cols, record.ColReserved) }, HostGrowth},
		"a heap that is read, and that has no part in it": {func(p *program) {
			p.flat(record.ColHostHeap, 2*mib, 10*kib)
		}, None},
		"a heap that hands out more beside an array": {func(p *program) {
			p.set(record.ColHostHeap, func(i int) float64 { return 2*mib + p.cols[record.ColRSS][i] })
		}, HostGrowth},
		"told once a second": {func(p *program) {
			for i := range p.cols[record.ColReserved] {
				if i%20 != 0 {
					p.cols[record.ColReserved][i] = math.NaN()
				}
			}
		}, None},
	} {
		p := nativeArray()
		c.change(p)
		v := p.judge()
		if v.Verdict != c.want || strings.Contains(v.Summary, "reserved before") == (c.want == HostGrowth) {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
	if v := nativeArray().judge(); !strings.Contains(v.Summary, "at this rate all of it is in use 110 s after") {
		t.Errorf("the end is not told: %s", v.Summary)
	}
}

func TestWhatADriverWritesIsNoArrayOfTheProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pinned float64 // bytes a row; below 0 where nobody told
		want   bool
	}{
		"the program": {0, true}, "it asks the driver to pin memory": {3 * mib / 20, false},
		"nobody told what is pinned": {-1, false},
	} {
		p := nativeArray().flat(record.ColGPU, 700*mib, 0)
		if c.pinned >= 0 {
			p.set(record.ColPinnedBytes, func(i int) float64 { return c.pinned * float64(i) })
		}
		if v := p.judge(); (v.Verdict == None) != c.want || v.Verdict == None && !strings.Contains(v.Summary, "reserved") {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

// TestAnArrayThatIsNearlyFullIsOpen: an allocator that reserves 64 MiB at a time looks so,
// until it reserves the next.
func TestAnArrayThatIsNearlyFullIsOpen(t *testing.T) {
	t.Parallel()
	p := nativeArray().set(record.ColReserved, func(int) float64 { return 80 * mib })
	v := p.judge()
	if v.Verdict != Undecided || !strings.Contains(v.Summary, "a longer run tells") {
		t.Errorf("%s", v.Summary)
	}
	p = newProgram(880)
	p.meta.Command = []string{"solver"}
	p.set(record.ColRSS, func(i int) float64 { return 2*mib + 3*mib*float64(i)/20 })
	p.set(record.ColReserved, func(i int) float64 { return 68*mib + 64*mib*float64(int(3*float64(i)/20/64)) })
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("with the next of them: %s", v.Summary)
	}
}
