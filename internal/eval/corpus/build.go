package corpus

import (
	"math"
	"math/rand/v2"

	"github.com/gpumem/gpumem/tracer/record"
)

// quantumBytes is the step of a real driver's counter.
const quantumBytes = 2 * mib

// table collects columns.
type table struct {
	names  []string
	values [][]float64
}

func (t *table) add(name string, v []float64) {
	t.names, t.values = append(t.names, name), append(t.values, v)
}

// parts are the true series before they are read.
type parts struct {
	live, idle, untracked, heap, other, count, step, ms []float64
}

// build draws a plan out into a trace.
func (p *plan) build(r *rand.Rand) *Trace {
	q := p.parts(r)
	if p.regime == "restart" {
		p.restart(r, &q)
	}
	p.trace.Run = &record.Run{Samples: p.read(r, &q)}
	return p.trace
}

// parts draws every series. The disturbance goes to the live set and, in
// part, to the host; idle memory fills what the pool has reserved.
func (p *plan) parts(r *rand.Rand) parts {
	n := p.n
	d, load := disturbance(r, n, p.regime)
	work := load // growth follows the work, or goes on in the background
	if p.regime != "pace" && r.Float64() < .3 {
		work = nil
	} else if p.regime == "pace" || p.regime == "diurnal" || p.regime == "load ramp" {
		p.trace.PerSecond = 0 // it changes with the load
	}
	c := course(r, n, p.jumps, p.bend, p.regime, work)
	onHost := r.Float64() < .5
	var q parts
	q.live = p.series(r, 60*mib, "live", c)
	q.idle = p.series(r, 20*mib, "idle", c)
	q.untracked = make([]float64, n)
	q.heap = p.series(r, 150*mib, "heap", c)
	q.other = p.series(r, 100*mib, "other", c)
	q.count, q.step, q.ms = make([]float64, n), make([]float64, n), make([]float64, n)
	cn := noise(r, n, p.regime)
	s, perStep := 0., 1+20*r.Float64()
	objects := p.grow["live"] / (16 << 10) // handles of the leaked bytes
	if p.kind == "object size" {
		objects = 0
	}
	for i := 0; i < n; i++ {
		q.live[i] += d[i]
		if onHost {
			q.heap[i] += d[i] / 2
		}
		q.untracked[i] = 600*mib + p.grow["untracked"]*c[i]
		q.live[i] += 512 * p.grow["handles"] * c[i] / 4
		q.count[i] = math.Round(100 + 3*cn[i] + (objects+p.grow["handles"])*c[i] + d[i]/(4*mib))
		s += perStep * load[i]
		q.step[i] = math.Floor(s)
		q.ms[i] = math.Round((float64(i) + .2*r.Float64()) * p.interval * 1000)
	}
	return q
}

// series is a level with noise and its share of the growth.
func (p *plan) series(r *rand.Rand, level float64, part string, c []float64) []float64 {
	y := noise(r, p.n, p.regime)
	sd := p.sigma
	if part == "idle" || part == "heap" {
		sd /= 2
	}
	for i := range y {
		y[i] = math.Max(0, level+sd*y[i]+p.grow[part]*c[i])
	}
	return y
}

// restart lets the program begin anew at a third of the window: all it held
// is gone, and its steps count from zero.
func (p *plan) restart(r *rand.Rand, q *parts) {
	a := int((.2 + .2*r.Float64()) * float64(p.n))
	base := q.step[a]
	for _, v := range [...][]float64{q.live, q.idle, q.untracked, q.heap, q.other, q.count} {
		shift := v[a] - v[0]
		for i := a; i < p.n; i++ {
			v[i] = math.Max(0, v[i]-shift)
		}
		for i := a; i < min(a+3, p.n); i++ {
			v[i] *= .2 + .25*float64(i-a)
		}
	}
	for i := a; i < p.n; i++ {
		q.step[i] -= base
	}
	p.steps = true
}

// read makes the columns as a tracer would: rounded, quantised, some cells
// missing, the driver's counter read a moment later than the pool's.
func (p *plan) read(r *rand.Rand, q *parts) *record.Samples {
	n := p.n
	gpu, rss, anon := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := 0; i < n; i++ {
		j := i
		if p.skew && i > 0 && r.Float64() < .1 {
			j = i - 1
		}
		g := q.live[j] + q.idle[j] + q.untracked[j]
		gpu[i] = math.Floor(g/quantumBytes) * quantumBytes
		anon[i] = q.heap[i] + q.other[i]
		rss[i] = anon[i] + 120*mib
	}
	var t table
	t.add(record.ColTime, q.ms)
	if p.steps {
		t.add(record.ColStep, q.step)
	}
	t.add(record.ColRSS, p.lose(r, rss, 4096))
	t.add(record.ColRSSAnon, p.lose(r, anon, 4096))
	t.add(record.ColGPU, p.lose(r, gpu, 1))
	t.add(record.ColLive, p.lose(r, q.live, 512))
	t.add(record.ColIdle, p.lose(r, q.idle, 512))
	if p.counts {
		t.add(record.ColLiveCount, p.lose(r, q.count, 1))
	}
	if p.heap {
		t.add(record.ColHostHeap, p.lose(r, q.heap, 16))
	}
	return record.NewSamples(t.names, t.values)
}

// lose rounds to a unit and empties some cells.
func (p *plan) lose(r *rand.Rand, v []float64, unit float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Floor(x/unit) * unit
		if p.missing > 0 && r.Float64() < p.missing {
			out[i] = record.Unknown()
		}
	}
	return out
}
