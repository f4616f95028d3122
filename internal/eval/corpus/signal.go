package corpus

import (
	"math"
	"math/rand/v2"
)

// noise is n values of standard deviation 1 with the regime's memory.
func noise(r *rand.Rand, n int, regime string) []float64 {
	y := make([]float64, n)
	phi := 0.
	switch regime {
	case "ar.9":
		phi = .9
	case "ar.99":
		phi = .99
	case "walk":
		s := 1 / math.Sqrt(float64(n)) // a walk as far as one deviation over the window
		for i := 1; i < n; i++ {
			y[i] = y[i-1] + s*r.NormFloat64()
		}
		return y
	}
	v := r.NormFloat64()
	e := math.Sqrt(1 - phi*phi)
	for i := range y {
		y[i] = v
		v = phi*v + e*r.NormFloat64()
	}
	return y
}

// course is how far a growth has come, 0 to 1, at each of n samples: with the
// work done so far, or with time when work is nil.
func course(r *rand.Rand, n, jumps int, bend float64, regime string, work []float64) []float64 {
	y := make([]float64, n)
	done := progress(n, work)
	start := 0.
	if regime == "late" {
		start = .55 + .25*r.Float64()
	}
	var at []float64
	for i := 0; i < jumps; i++ {
		at = append(at, start+(1-start)*(float64(i)+.2+.6*r.Float64())/float64(jumps))
	}
	for i, u := range done {
		if jumps > 0 {
			for _, a := range at {
				if u > a {
					y[i] += 1 / float64(jumps)
				}
			}
			continue
		}
		if u > start {
			y[i] = math.Pow((u-start)/(1-start), bend)
		}
	}
	return y
}

// progress is the part of all work done before each sample.
func progress(n int, work []float64) []float64 {
	out := make([]float64, n)
	all := 0.
	for i := range out {
		out[i] = all
		if work == nil {
			all++
		} else {
			all += work[i]
		}
	}
	for i := range out {
		out[i] /= all
	}
	return out
}

// disturbance is what the regime adds to a healthy program, in bytes, and how
// busy the program is (1 usual).
func disturbance(r *rand.Rand, n int, regime string) (y, load []float64) {
	y, load = make([]float64, n), make([]float64, n)
	for i := range load {
		load[i] = 1
	}
	size := (5 + 60*r.Float64()) * mib
	switch regime {
	case "warm-up":
		tau := .03 + .12*r.Float64()
		for i := range y {
			y[i] = size * (1 - math.Exp(-float64(i)/float64(n)/tau))
		}
	case "step", "two steps":
		k := 1
		if regime == "two steps" {
			k = 2
		}
		for ; k > 0; k-- {
			a := int((.1 + .8*r.Float64()) * float64(n))
			s := size * (.3 + .7*r.Float64())
			for i := a; i < n; i++ {
				y[i] += s
			}
		}
	case "diurnal":
		w := 2 * math.Pi * (2 + 3*r.Float64()) / float64(n)
		ph := 2 * math.Pi * r.Float64()
		for i := range y {
			y[i] = size / 3 * (1 + math.Sin(w*float64(i)+ph))
			load[i] = 1 + .5*math.Sin(w*float64(i)+ph)
		}
	case "pace":
		for i := range load {
			load[i] = 1.6 - 1.3*float64(i)/float64(n)
		}
	case "spikes":
		for i := range y {
			if r.Float64() < .03 {
				y[i] = size * r.Float64()
			}
		}
	case "load ramp":
		a, b := .1+.3*r.Float64(), .5+.3*r.Float64()
		for i := range y {
			f := math.Min(math.Max((float64(i)/float64(n)-a)/(b-a), 0), 1)
			y[i], load[i] = size*f, 1+f
		}
	case "sawtooth":
		sawtooth(r, y, size)
	}
	return y, load
}

// sawtooth fills y with cycles: collected garbage rises and falls at once, a
// periodic evaluation holds its memory for part of the cycle.
func sawtooth(r *rand.Rand, y []float64, size float64) {
	n := len(y)
	period := float64(n) / (8 + 40*r.Float64())
	square := r.Float64() < .5
	duty := .2 + .5*r.Float64()
	for i := 0; i < n; {
		p := math.Max(4, period*(.9+.2*r.Float64()))
		for k := 0; k < int(p) && i < n; k++ {
			f := float64(k) / p
			switch {
			case !square:
				y[i] = size * f
			case f > 1-duty:
				y[i] = size
			}
			i++
		}
	}
}
