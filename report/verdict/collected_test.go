package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// javaProgram is one of a minute, of which 40 MiB lie outside of its heap. The heap takes 5 MiB
// a second; every 3 s there is a collection, which leaves 20 MiB. Its heap is read once a second.
type javaProgram struct {
	heap, kept, outside func(second float64) float64
	every, full         float64 // seconds between collections, and between those of old objects
	until               float64 // when collections end
}

func healthyJava() javaProgram {
	return javaProgram{
		heap:    func(s float64) float64 { return 30*mib + 5*mib*s },
		kept:    func(float64) float64 { return 20 * mib },
		outside: func(float64) float64 { return 40 * mib }, every: 3, full: math.Inf(1), until: 60,
	}
}

func (j *javaProgram) program() *program {
	p := newProgram(1200)
	second := func(i int) float64 { return p.cols[record.ColTime][i] / 1000 }
	collected := func(s float64) float64 { return math.Floor(math.Min(s, j.until) / j.every) }
	full := func(s float64) float64 { return math.Floor(math.Min(s, j.until) / j.full) }
	p.set(record.ColFootprint, func(i int) float64 {
		return j.outside(second(i)) + j.heap(second(i)) + 64*kib*p.r.NormFloat64()
	})
	p.cols[record.ColGCHeap] = make([]float64, p.rows)
	for i := range p.rows {
		p.cols[record.ColGCHeap][i] = math.NaN()
		if i%20 == 0 {
			p.cols[record.ColGCHeap][i] = math.Round(j.heap(second(i)))
		}
	}
	p.set(record.ColGCKept, func(i int) float64 { return j.kept(collected(second(i)) * j.every) })
	p.set(record.ColGCCollections, func(i int) float64 { return collected(second(i)) + full(second(i)) })
	return p.set(record.ColGCFull, func(i int) float64 { return full(second(i)) })
}

func TestAJavaHeapIsJudgedByWhatItsCollectionsLeave(t *testing.T) {
	t.Parallel()
	rises := func(s float64) float64 { return 20*mib + 4*mib*s }
	// saw is what is left where old objects are collected every 5 s: 15 MiB of them died.
	saw := func(more float64) func(float64) float64 {
		return func(s float64) float64 { return 20*mib + more*mib*s + 3*mib*math.Mod(s, 5) }
	}
	for name, c := range map[string]struct {
		change func(*javaProgram)
		want   Class
		words  string
	}{
		"garbage fills a heap": {func(*javaProgram) {}, None, "as the Java heap is filled"},
		"what is promoted may be dead": {func(j *javaProgram) { j.kept = rises }, Undecided,
			"have not been collected"},
		"few collections of old objects came": {func(j *javaProgram) { j.kept, j.full = rises, 25 }, Undecided,
			"were collected 2 times"},
		"a few collections left one more each": {func(j *javaProgram) {
			j.every, j.kept = 12, func(s float64) float64 { return 20*mib + math.Min(s, 24)*mib }
		}, Undecided, ""},
		"old objects die": {func(j *javaProgram) { j.kept, j.every, j.full = saw(0), .5, 5 }, None,
			"as the Java heap is filled"},
		"old objects are kept": {func(j *javaProgram) { j.kept, j.every, j.full = saw(4), .5, 5 }, HostGrowth, ""},
		"they are kept in a heap that is in memory as a whole": {func(j *javaProgram) {
			j.kept, j.every, j.full = saw(3), .5, 5
			j.heap = func(float64) float64 { return 300 * mib }
		}, HostGrowth, "left ever more"},
		"a part is kept that such a collection may pass by": {func(j *javaProgram) {
			j.kept, j.every, j.full = saw(.5), .5, 5
			j.heap = func(float64) float64 { return 300 * mib }
		}, None, ""},
		"memory outside of the heap is kept": {func(j *javaProgram) {
			j.outside = func(s float64) float64 { return 40*mib + 10*mib*s }
		}, HostGrowth, ""},
		"direct buffers may be dead until a collection comes": {func(j *javaProgram) {
			j.outside, j.until = func(s float64) float64 { return 40*mib + 10*mib*s }, 20
		}, Undecided, "direct buffers"},
		"a collection came late and freed nothing": {func(j *javaProgram) {
			j.outside, j.every = func(s float64) float64 { return 40*mib + 10*mib*s }, 29
		}, HostGrowth, ""},
		"a little of it is kept outside": {func(j *javaProgram) {
			j.outside = func(s float64) float64 { return 40*mib + mib*s/2 }
		}, Undecided, ""},
		"the last collection came early": {func(j *javaProgram) { j.until = 20 }, Undecided, ""},
		"no collection came":             {func(j *javaProgram) { j.until = 0 }, Undecided, "have not been collected"},
	} {
		j := healthyJava()
		c.change(&j)
		v := j.program().judge()
		text := v.Summary + strings.Join(v.Warnings, " ")
		if v.Verdict != c.want || !strings.Contains(text, c.words) {
			t.Errorf("%s: %s\n%s", name, v.Summary, strings.Join(v.Warnings, "\n"))
		}
	}
}

func TestWithoutItsCollectionsAHeapIsHostMemoryAsAnyOther(t *testing.T) {
	t.Parallel()
	j := healthyJava()
	for _, column := range [...]string{record.ColGCHeap, record.ColGCKept, record.ColGCCollections} {
		p := j.program()
		delete(p.cols, column)
		if v := p.judge(); v.Verdict != HostGrowth {
			t.Errorf("without %s: %s", column, v.Summary)
		}
	}
}
