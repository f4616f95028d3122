package verdict

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/gpumem/gpumem/tracer/record"
)

// program is a recorded run under construction: rows at 20 Hz with noise.
type program struct {
	rows   int
	r      *rand.Rand
	cols   map[string][]float64
	events []record.Event
	meta   record.Meta
}

func newProgram(rows int) *program {
	p := &program{rows: rows, r: rand.New(rand.NewPCG(7, uint64(rows))), cols: map[string][]float64{}}
	p.set(record.ColTime, func(i int) float64 { return float64(i) * 50 })
	return p
}

// set fills a column by row.
func (p *program) set(name string, f func(i int) float64) *program {
	v := make([]float64, p.rows)
	for i := range v {
		v[i] = math.Round(f(i))
	}
	p.cols[name] = v
	return p
}

// flat fills a column with a level and noise of the given size.
func (p *program) flat(name string, level, noise float64) *program {
	return p.set(name, func(int) float64 { return level + noise*p.r.NormFloat64() })
}

// grows fills a column with a level, noise, and growth by row.
func (p *program) grows(name string, level, noise, perRow float64) *program {
	return p.set(name, func(i int) float64 { return level + noise*p.r.NormFloat64() + perRow*float64(i) })
}

// healthy fills the columns of a program that holds what it holds.
func (p *program) healthy() *program {
	return p.set(record.ColStep, func(i int) float64 { return float64(i * 3) }).
		flat(record.ColRSS, 500*mib, 64*kib).flat(record.ColHostHeap, 100*mib, 16*kib).
		flat(record.ColGPU, 700*mib, 0).flat(record.ColLive, 60*mib, 0).flat(record.ColIdle, 20*mib, 0).
		flat(record.ColLiveCount, 40, 1).flat(record.ColRefs, 60, 1).flat(record.ColInFlight, 3, 1)
}

// phase marks a phase at a row.
func (p *program) phase(name string, row int) *program {
	p.events = append(p.events, record.Event{TMs: float64(row) * 50, Kind: record.KindPhase, Name: name})
	return p
}

// receipt records an experiment at a row.
func (p *program) receipt(action string, claimed, returned int64, row int) *program {
	p.events = append(p.events, record.Event{TMs: float64(row) * 50, Kind: record.KindReceipt,
		Receipt: &record.Receipt{Action: action, ClaimedBytes: &claimed, ReturnedBytes: &returned}})
	return p
}

func (p *program) run() *record.Run {
	var names []string
	for n := range p.cols {
		names = append(names, n)
	}
	sort.Strings(names)
	values := make([][]float64, len(names))
	for i, n := range names {
		values[i] = append([]float64(nil), p.cols[n]...)
	}
	return &record.Run{Meta: p.meta, Events: p.events, Samples: record.NewSamples(names, values)}
}

func (p *program) judge() *Verdict { return Judge(p.run(), Options{}) }

// account is a verdict's row of an account.
func rowOf(v *Verdict, a Account) *AccountRow {
	for i := range v.Accounts {
		if v.Accounts[i].Account == a {
			return &v.Accounts[i]
		}
	}
	return &AccountRow{}
}

// named reports whether a verdict names a cause.
func named(v *Verdict, id string) bool {
	for _, c := range v.Causes {
		if c.ID == id {
			return true
		}
	}
	return false
}

const (
	kib = 1 << 10
	gib = 1 << 30
)
