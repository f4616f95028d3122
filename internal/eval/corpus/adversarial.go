package corpus

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// perTrick is how many traces each trick makes.
const perTrick = 20

// Adversarial are traces made to mislead, perTrick of each kind.
func Adversarial(seed uint64) []*Trace {
	var out []*Trace
	for k, trick := range slices.Concat(tricks[:], handleTricks[:]) {
		for i := 0; i < perTrick; i++ {
			r := rand.New(rand.NewPCG(seed, uint64(k*1000+i)+77))
			b := newBench(r)
			trick.make(r, b)
			t := &Trace{Truth: trick.truth, Accept: trick.accept, Kind: trick.name, Regime: "adversarial",
				Account: trick.account, Run: &record.Run{Samples: b.samples()}}
			out = append(out, t)
		}
	}
	return out
}

// bench is a plain healthy program whose columns a trick may bend.
type bench struct {
	n                                              int
	ms, step, rss, gpu, live, idle, count, swapped []float64
	own                                            map[string][]float64
	drop                                           map[string]bool
}

func newBench(r *rand.Rand) *bench {
	n := 400 + r.IntN(800)
	b := &bench{n: n, own: map[string][]float64{}, drop: map[string]bool{}}
	level := func(l, sd float64) []float64 {
		y := make([]float64, n)
		for i := range y {
			y[i] = l + sd*r.NormFloat64()
		}
		return y
	}
	b.rss, b.live, b.idle = level(300*mib, mib/8), level(60*mib, mib/4), level(20*mib, mib/8)
	b.count = level(100, 3)
	b.ms, b.step = make([]float64, n), make([]float64, n)
	for i := range b.ms {
		b.ms[i], b.step[i] = float64(i)*100, float64(i*7)
	}
	return b
}

// samples derives the driver's counter and makes columns.
func (b *bench) samples() *record.Samples {
	if b.gpu == nil {
		b.gpu = make([]float64, b.n)
		for i := range b.gpu {
			b.gpu[i] = math.Floor((600*mib+b.live[i]+b.idle[i])/quantumBytes) * quantumBytes
		}
	}
	var t table
	for _, c := range [...]struct {
		name string
		v    []float64
	}{{record.ColTime, b.ms}, {record.ColStep, b.step}, {record.ColRSS, b.rss}, {record.ColSwap, b.swapped},
		{record.ColGPU, b.gpu},
		{record.ColLive, b.live}, {record.ColIdle, b.idle}, {record.ColLiveCount, b.count}} {
		if c.v == nil || b.drop[c.name] {
			continue
		}
		v := make([]float64, len(c.v))
		for i, x := range c.v {
			v[i] = math.Round(x)
		}
		t.add(c.name, v)
	}
	for _, name := range [...]string{record.ColRSSAnon, record.ColRefs, record.ColCommandBuffers,
		record.ColAllocs, record.ColShapes,
		record.ColEvents, record.ColStreams, record.ColModules} {
		if v := b.own[name]; v != nil {
			t.add(name, v)
		}
	}
	return record.NewSamples(t.names, t.values)
}

// ramp adds bytes from a part of the trace to its end, bent by an exponent.
func (b *bench) ramp(y []float64, from, bytes, bend float64) {
	for i := range y {
		if u := (float64(i)/float64(b.n) - from) / (1 - from); u > 0 {
			y[i] += bytes * math.Pow(u, bend)
		}
	}
}

// keep leaves only n rows, evenly chosen.
func (b *bench) keep(n int) {
	for _, v := range [...]*[]float64{&b.ms, &b.step, &b.rss, &b.live, &b.idle, &b.count} {
		w := make([]float64, n)
		for i := range w {
			w[i] = (*v)[i*(b.n-1)/max(1, n-1)]
		}
		*v = w
	}
	b.n = n
}

var open = []string{Undecided}

// trick is a way to mislead, with the truth and what else is right.
type trick struct {
	name, truth string
	accept      []string
	account     record.Account
	make        func(r *rand.Rand, b *bench)
}

// tricks are those with bytes and live handles.
var tricks = [...]trick{
	{"growth slows like a root", AppLeak, open, record.AccountLive,
		func(_ *rand.Rand, b *bench) { b.ramp(b.live, 0, 60*mib, .5) }},
	{"growth slows like a logarithm", AppLeak, []string{Undecided, None}, record.AccountLive,
		func(_ *rand.Rand, b *bench) {
			for i := range b.live {
				b.live[i] += 10 * mib * math.Log1p(float64(i)/20)
			}
		}},
	{"begins at four fifths", AppLeak, open, record.AccountLive,
		func(_ *rand.Rand, b *bench) { b.ramp(b.live, .8, 30*mib, 1) }},
	{"under a sawtooth 100 times its size", AppLeak, open, record.AccountLive, func(r *rand.Rand, b *bench) {
		b.ramp(b.live, 0, 3*mib, 1)
		d := make([]float64, b.n)
		sawtooth(r, d, 300*mib)
		for i := range d {
			b.live[i] += d[i]
		}
	}},
	{"another account gives back as much", None, []string{Undecided, AppLeak},
		"", func(_ *rand.Rand, b *bench) {
			b.ramp(b.live, 0, 15*mib, 1)
			b.ramp(b.idle, 0, -15*mib, 1)
		}},
	{"two and a half teeth of a sawtooth", None, open, "", func(_ *rand.Rand, b *bench) {
		for i := range b.live {
			u := 2.5 * float64(i) / float64(b.n)
			b.live[i] += 40 * mib * (u - math.Floor(u))
		}
	}},
	{"a step at the very end", None, open, "", func(_ *rand.Rand, b *bench) {
		for i := b.n - 8; i < b.n; i++ {
			b.live[i] += 30 * mib
		}
	}},
	{"readings that fail as zero", None, open, "", func(r *rand.Rand, b *bench) {
		for range 3 {
			b.live[3+r.IntN(b.n-6)] = 0
			b.rss[3+r.IntN(b.n-6)] = 0
		}
	}},
	{"unit changes from KiB to bytes", None, open, "", func(r *rand.Rand, b *bench) {
		for i := 0; i < b.n/3+r.IntN(b.n/3); i++ {
			b.rss[i] /= 1024
		}
	}},
	{"objects grow, their number does not", AppLeak, nil, record.AccountLive,
		func(_ *rand.Rand, b *bench) { b.ramp(b.live, 0, 20*mib, 1) }},
	{"handles without bytes", AppLeak, nil, record.AccountLive,
		func(_ *rand.Rand, b *bench) { b.ramp(b.count, 0, 4000, 1) }},
	{"a running total in the place of a live count", None, open, "", func(_ *rand.Rand, b *bench) {
		b.drop[record.ColLiveCount] = true // what an honest importer does with it
	}},
	{"pages go to swap while the leak goes on", HostGrowth, open, record.AccountHost,
		func(_ *rand.Rand, b *bench) {
			b.ramp(b.rss, 0, 40*mib, 1)
			b.swapped = make([]float64, b.n)
			b.ramp(b.swapped, .5, 30*mib, 1)
			b.ramp(b.rss, .5, -30*mib, 1)
			b.own[record.ColRSSAnon] = append([]float64(nil), b.rss...)
		}},
	{"driver leaks one quantum at a time", DriverGrowth, open, record.AccountUntracked,
		func(_ *rand.Rand, b *bench) {
			b.gpu = make([]float64, b.n)
			for i := range b.gpu {
				b.gpu[i] = math.Floor((680*mib+16*mib*float64(i)/float64(b.n))/quantumBytes) * quantumBytes
			}
			b.quiet()
		}},
	{"live set follows a load that rises to the end", None, open, "", func(_ *rand.Rand, b *bench) {
		s := 0.
		for i := range b.live {
			f := float64(i) / float64(b.n)
			b.live[i] += 60 * mib * f
			s += 5 + 5*f
			b.step[i] = math.Floor(s)
		}
	}},
	{"clock jumps by an hour", None, open, "", func(_ *rand.Rand, b *bench) {
		for i := b.n / 2; i < b.n; i++ {
			b.ms[i] += 3.6e6
		}
	}},
	{"clock jumps back in a leak", AppLeak, open, record.AccountLive, func(_ *rand.Rand, b *bench) {
		b.ramp(b.live, 0, 30*mib, 1)
		for i := b.n / 2; i < b.n; i++ {
			b.ms[i] -= 5000
		}
	}},
	{"one cell in five is missing", AppLeak, open, record.AccountLive, func(r *rand.Rand, b *bench) {
		b.ramp(b.live, 0, 20*mib, 1)
		for _, v := range [...][]float64{b.live, b.idle, b.rss, b.count} {
			for i := range v {
				if r.Float64() < .2 {
					v[i] = record.Unknown()
				}
			}
		}
	}},
	{"three rows, flat", Undecided, []string{None}, "", func(_ *rand.Rand, b *bench) { b.keep(3) }},
	{"three rows, growing twentyfold", HostGrowth, []string{Undecided, DriverGrowth}, record.AccountHost,
		func(_ *rand.Rand, b *bench) {
			b.ramp(b.rss, 0, 6000*mib, .7)
			b.keep(3)
			b.gpu, b.drop[record.ColGPU] = make([]float64, 3), true
		}},
	{"device memory grows, no allocator counters", Undecided, nil, "", func(_ *rand.Rand, b *bench) {
		b.ramp(b.live, 0, 40*mib, 1)
		b.samples()
		b.drop[record.ColLive], b.drop[record.ColIdle], b.drop[record.ColLiveCount] = true, true, true
	}},
}

// quiet makes the pool's counters constant.
func (b *bench) quiet() {
	for i := range b.live {
		b.live[i], b.idle[i] = 60*mib, 20*mib
	}
}
