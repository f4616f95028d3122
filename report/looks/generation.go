package looks

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// What generations of blocks must be like for those that each left survivors to count.
const (
	KeepingGenerations = 4  // that each left survivors, for a leak
	stayed             = .9 // of what survived its first look, up to the last
	evenly             = .5 // of the fastest rate, at the slowest generation
	sameLook           = .5 // seconds by which two tellings of a look's time may differ
)

// Generation is what became of the blocks that were handed out between two looks.
type Generation struct {
	From, To      float64 // seconds: the two looks
	first, Last   float64 // bytes that lived at the look after them, and at the last one
	Count         float64 // blocks that lived at the last one
	lookedAt, End float64 // when that look after them was, and the last one
}

// Rate is how fast survivors came, in bytes a second.
func (g *Generation) Rate() float64 { return g.Last / (g.To - g.From) }

// Kept is what some generations left together.
type Kept struct {
	Size, Count, Lasted float64 // bytes or things, blocks, seconds
	slowest, fastest    float64 // rates of survivors
	Stayed              bool    // what a collection takes later is a sawtooth, too
}

// KeptOf is what generations left.
func KeptOf(list []Generation) Kept {
	k := Kept{slowest: math.Inf(1), Stayed: true, Lasted: list[len(list)-1].To - list[0].From}
	for i := range list {
		g := &list[i]
		k.Stayed = k.Stayed && g.Last >= stayed*g.first
		k.slowest, k.fastest = math.Min(k.slowest, g.Rate()), math.Max(k.fastest, g.Rate())
		k.Size, k.Count = k.Size+g.Last, k.Count+g.Count
	}
	return k
}

// Even reports whether each generation left about as much for its time.
func (k *Kept) Even() bool { return k.slowest > 0 && k.slowest >= evenly*k.fastest }

// Generations are those of the process that later looks found again, the oldest first,
// without what lived at the first look.
func Generations(p *series.Process) []Generation {
	var out []Generation
	for _, e := range p.Events.About(p.PID) {
		list := record.GenerationsOf(e)
		if len(list) == 0 {
			continue
		}
		at, before := e.TMs/1000, out
		out = nil
		for i := 1; i < len(list)-1; i++ {
			one := Generation{From: at - list[i-1].AgoMs/1000, To: at - list[i].AgoMs/1000, lookedAt: at}
			one.first = float64(list[i].Bytes)
			if j := slices.IndexFunc(before, func(g Generation) bool { return math.Abs(g.To-one.To) < sameLook }); j >= 0 {
				one.first, one.lookedAt = before[j].first, before[j].lookedAt
			}
			one.Last, one.Count, one.End = float64(list[i].Bytes), float64(list[i].Count), at
			out = append(out, one)
		}
	}
	return out
}
