package corpus

import (
	"math"
	"math/rand/v2"

	"github.com/gpumem/gpumem/tracer/record"
)

// Units that growth may be driven by, in the words of verdict.json.
const (
	Step          = "step"
	CommandBuffer = "command_buffer"
	Allocation    = "allocation"
	Shape         = "shape"
	Second        = "second"
)

// unitColumns are the running totals of the units, but for seconds.
var unitColumns = [...]struct{ unit, column string }{
	{Step, record.ColStep}, {CommandBuffer, record.ColCommandBuffers}, {Allocation, record.ColAllocs},
	{Shape, record.ColShapes},
}

// Driven is a growing program whose work is counted in several units.
type Driven struct {
	*Trace
	// Cost is what each unit that drives the growth costs, in bytes.
	Cost map[string]float64
	// Alike are units that advance in proportion to one that drives it: they
	// explain the growth as well.
	Alike map[string]string
	// Background: the growth goes on while steps pause.
	Background bool
}

// mixes are what growth is planted on; the first of two brings 35 to 65 % of it.
var mixes = [...][]string{
	{Step}, {CommandBuffer}, {Allocation}, {Shape}, {Second},
	{Shape, CommandBuffer}, {Step, Second}, {Shape, Step}, {Allocation, Second}, {Shape, Second},
}

// DrivenBy makes n traces in which live, idle, untracked or host bytes grow by
// known units of work. In a quarter of them the program pauses, and in a quarter
// command buffers and allocations advance with the steps.
func DrivenBy(seed uint64, n int) []*Driven {
	out := make([]*Driven, n)
	for i := range out {
		out[i] = driven(rand.New(rand.NewPCG(seed, uint64(i)*40503+3)), mixes[i%len(mixes)], i/len(mixes))
	}
	return out
}

// driven draws one trace.
func driven(r *rand.Rand, mix []string, turn int) *Driven {
	b := newBench(r)
	d := &Driven{Cost: map[string]float64{}, Alike: map[string]string{}}
	pauses := turn%4 == 1
	units := workUnits(r, b.n, pauses)
	if turn%4 == 2 {
		units[CommandBuffer], units[Allocation] = scaled(units[Step], 3), scaled(units[Step], 40)
		for _, u := range mix {
			if u == Step || u == CommandBuffer || u == Allocation {
				d.Alike = map[string]string{Step: u, CommandBuffer: u, Allocation: u}
			}
		}
	}
	d.Background = pauses && len(mix) == 1 && mix[0] == Second
	bytes := (20 + 100*r.Float64()) * mib
	part := []float64{1}
	if len(mix) == 2 {
		p := .35 + .3*r.Float64()
		part = []float64{p, 1 - p}
	}
	growth := make([]float64, b.n)
	for k, u := range mix {
		x := units[u]
		d.Cost[u] = bytes * part[k] / (x[b.n-1] - x[0])
		for i := range growth {
			growth[i] += d.Cost[u] * (x[i] - x[0])
		}
	}
	d.Trace = b.drivenTrace(turn, growth)
	b.step = units[Step]
	for _, c := range unitColumns {
		if c.unit != Step {
			b.own[c.column] = units[c.unit]
		}
	}
	d.Run = &record.Run{Samples: b.samples()}
	return d
}

// drivenTrace charges the growth to one account after the other.
func (b *bench) drivenTrace(turn int, growth []float64) *Trace {
	t := &Trace{Kind: "driven", Regime: "driven"}
	add := func(v []float64) {
		for i := range v {
			v[i] += growth[i]
		}
	}
	switch turn % 3 {
	case 0:
		t.Truth, t.Account = AppLeak, record.AccountLive
		add(b.live)
	case 1:
		t.Truth, t.Account = PoolGrowth, record.AccountIdle
		add(b.idle)
	default:
		t.Truth, t.Account = HostGrowth, record.AccountHost
		add(b.rss)
	}
	return t
}

// workUnits are running totals of the units. Each has a pace of its own that
// changes slowly; shapes come in bursts; with pauses, the program stands still
// three times and only time goes on.
func workUnits(r *rand.Rand, n int, pauses bool) map[string][]float64 {
	busy := make([]float64, n)
	for i := range busy {
		busy[i] = 1
	}
	for k := 0; pauses && k < 3; k++ {
		from := int((.1 + .28*float64(k) + .1*r.Float64()) * float64(n))
		for i := from; i < from+n/9; i++ {
			busy[i] = 0
		}
	}
	total := func(rate float64, pace func(u float64) float64) []float64 {
		out, s := make([]float64, n), 0.
		for i := range out {
			s += rate * busy[i] * pace(float64(i)/float64(n))
			out[i] = math.Floor(s)
		}
		return out
	}
	slow := func() func(u float64) float64 {
		f, at := 1+2*r.Float64(), 2*math.Pi*r.Float64()
		return func(u float64) float64 { return 1 + .7*math.Sin(2*math.Pi*f*u+at) }
	}
	bursts := make([]float64, 12)
	for i := range bursts {
		bursts[i] = r.ExpFloat64()
	}
	seconds := make([]float64, n)
	for i := range seconds {
		seconds[i] = float64(i) * .1
	}
	return map[string][]float64{
		Step: total(7, slow()), CommandBuffer: total(20, slow()), Allocation: total(300, slow()),
		Shape:  total(1.5, func(u float64) float64 { return bursts[min(int(u*12), 11)] }),
		Second: seconds,
	}
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}
