package corpus

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// Publish is the first seed whose traces nobody tunes on.
const Publish = 2000

// The truths, in the words of verdict.json.
const (
	None         = "none"
	AppLeak      = "app-leak"
	PoolGrowth   = "pool-growth"
	DriverGrowth = "driver-growth"
	HostGrowth   = "host-growth"
	Undecided    = "undecided"
)

// Trace is one trace with its truth.
type Trace struct {
	Truth  string
	Kind   string   // how the truth came about, such as "handles"
	Regime string   // the disturbance
	Accept []string // verdicts that are right besides Truth
	Sigmas float64  // growth over the window in standard deviations of the noise; 0 when nothing grows
	// PerSecond is the true rate of the account that grows; 0 when nothing
	// does or the growth is not straight.
	PerSecond float64
	Account   record.Account
	Run       *record.Run
}

// Right reports whether a verdict is right for the trace.
func (t *Trace) Right(verdict string) bool {
	if verdict == t.Truth {
		return true
	}
	for _, a := range t.Accept {
		if a == verdict {
			return true
		}
	}
	return false
}

// Regimes are the disturbances of the main corpus. Those of HardRegimes make
// simple rules raise false alarms.
var Regimes = [...]string{
	"white", "ar.9", "ar.99", "walk", "diurnal", "spikes", "warm-up", "sawtooth", "step", "two steps",
	"load ramp", "pace", "restart", "late",
}

// HardRegimes are the regimes in which false alarms are counted one by one.
var HardRegimes = [...]string{"warm-up", "sawtooth", "step", "ar.99", "load ramp"}

// kinds are the ways to grow, with their truths; half of all traces grow.
var kinds = [...]struct {
	name, truth string
	account     record.Account
}{
	{"objects", AppLeak, record.AccountLive},
	{"handles", AppLeak, record.AccountLive},
	{"object size", AppLeak, record.AccountLive},
	{"retention", PoolGrowth, record.AccountIdle},
	{"fragmentation", PoolGrowth, record.AccountIdle},
	{"untracked", DriverGrowth, record.AccountUntracked},
	{"streams", DriverGrowth, record.AccountUntracked},
	{"temporaries", DriverGrowth, record.AccountHost},
	{"heap", HostGrowth, record.AccountHost},
	{"host", HostGrowth, record.AccountHost},
	{"mix", "", ""},
}

// Generate makes n traces of the main corpus. Healthy and growing ones
// alternate and every regime comes up equally often.
func Generate(seed uint64, n int) []*Trace {
	out := make([]*Trace, n)
	for i := range out {
		out[i] = One(seed, i)
	}
	return out
}

// HealthyOne is number i of the seed's traces in which nothing grows, under one
// regime.
func HealthyOne(seed uint64, regime string, i int) *Trace {
	return One(seed, 2*(slices.Index(Regimes[:], regime)+len(Regimes)*i))
}

// One is trace number i of the seed.
func One(seed uint64, i int) *Trace { return one(seed, i, 1) }

func one(seed uint64, i, times int) *Trace {
	r := rand.New(rand.NewPCG(seed, uint64(i)*2654435761+12345))
	regime := Regimes[(i/2)%len(Regimes)]
	p := newPlan(r, regime)
	p.n, p.interval = p.n*times, p.interval/float64(times)
	if i%2 == 1 {
		p.plant(r, (i/2/len(Regimes))%len(kinds))
	} else if regime == "late" {
		p.regime, p.trace.Regime = "white", "white"
	}
	return p.build(r)
}

// LongOne is number i of the seed's traces recorded at so many times the rate: the
// program is the same, the rows are more.
func LongOne(seed uint64, i, times int) *Trace {
	return one(seed, i, times)
}

// plan is a trace before it is drawn out.
type plan struct {
	trace    *Trace
	regime   string
	n        int
	interval float64 // seconds
	sigma    float64 // bytes
	kind     string
	grow     map[string]float64 // bytes over the window by part
	jumps    int                // >0: growth comes in so many jumps
	bend     float64            // exponent of the growth over time, 1 straight
	steps    bool
	heap     bool
	counts   bool
	missing  float64
	skew     bool
}

const mib = 1 << 20

func newPlan(r *rand.Rand, regime string) *plan {
	p := &plan{
		trace: &Trace{Truth: None, Regime: regime}, regime: regime, bend: 1,
		n:        []int{120, 720, 720, 720, 3600}[r.IntN(5)],
		interval: []float64{.01, .1, 1, 10}[r.IntN(4)],
		sigma:    []float64{.05, .5, 4}[r.IntN(3)] * mib,
		steps:    r.Float64() < .6, heap: r.Float64() < .6, counts: r.Float64() < .8,
		missing: []float64{0, 0, .03, .2}[r.IntN(4)],
		skew:    r.Float64() < .3,
		grow:    map[string]float64{},
	}
	switch regime {
	case "load ramp":
		p.steps = r.Float64() < .7
	case "pace":
		p.steps = true
	}
	return p
}

// plant makes the program grow.
func (p *plan) plant(r *rand.Rand, kind int) {
	k := kinds[kind]
	sigmas := 2 * math.Pow(60, r.Float64())
	bytes := math.Max(sigmas*p.sigma, 2.5*mib)
	t := p.trace
	t.Truth, t.Kind, t.Account, p.kind = k.truth, k.name, k.account, k.name
	if r.Float64() < .25 {
		p.jumps = 5 + r.IntN(21)
	}
	switch k.name {
	case "objects", "object size":
		p.grow["live"] = bytes
	case "handles":
		p.grow["handles"] = 300 + 5000*r.Float64()
		p.counts = true
	case "retention":
		p.grow["idle"] = bytes
	case "fragmentation":
		p.grow["idle"] = bytes
		if r.Float64() < .3 {
			p.bend = .6 + .4*r.Float64()
		}
	case "untracked":
		bytes = math.Max(bytes, 8*mib)
		p.grow["untracked"] = bytes
	case "streams":
		bytes = math.Max(bytes, 8*mib)
		p.grow["untracked"], p.grow["other"] = bytes, bytes*.5*r.Float64()
	case "temporaries":
		p.grow["other"], p.heap = bytes, true
	case "heap":
		p.grow["heap"], p.heap = bytes, true
	case "host":
		p.grow["other"], p.heap = bytes, false
	case "mix":
		bytes = p.mix(r, bytes)
	}
	t.Sigmas = bytes / p.sigma
	if p.bend == 1 && p.regime != "late" && k.name != "handles" {
		t.PerSecond = bytes / (float64(p.n) * p.interval)
	}
	if p.regime == "late" && p.n < 720 {
		p.n = 720
	}
}

// mix plants two growths, the first at least twice the second, and returns
// the size of the first.
func (p *plan) mix(r *rand.Rand, bytes float64) float64 {
	pairs := [...][2]string{{"live", "untracked"}, {"live", "idle"}, {"idle", "untracked"},
		{"untracked", "live"}, {"idle", "live"}, {"other", "idle"}}
	c := pairs[r.IntN(len(pairs))]
	bytes = math.Max(bytes, 8*mib)
	p.grow[c[0]], p.grow[c[1]] = bytes, bytes*(.1+.4*r.Float64())
	t := p.trace
	switch c[0] {
	case "live":
		t.Truth, t.Account = AppLeak, record.AccountLive
	case "idle":
		t.Truth, t.Account = PoolGrowth, record.AccountIdle
	case "untracked":
		t.Truth, t.Account = DriverGrowth, record.AccountUntracked
	case "other":
		t.Truth, t.Account, p.heap = HostGrowth, record.AccountHost, false
	}
	return bytes
}
