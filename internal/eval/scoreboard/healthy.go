package main

import (
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
)

// printHealthy prints false alarms on many healthy traces of each regime, with
// the upper end of their 95 % interval.
func printHealthy(w io.Writer, seed uint64, n int) {
	if n <= 0 {
		return
	}
	fmt.Fprintf(w, "%-12s%9s%8s%10s%12s%10s%11s   (further healthy traces, seed %d; up to: 95 %%)\n",
		"regime", "healthy", "FPR", "up to", "confirmed", "up to", "undecided", seed)
	for _, g := range corpus.Regimes {
		if g == "late" {
			continue // a way to grow: its healthy traces are white
		}
		var alarms, sure, open atomic.Int64
		each(n, func(i int) {
			v := verdict.Judge(corpus.HealthyOne(seed, g, i).Run, verdict.Options{})
			switch {
			case v.Verdict == verdict.Undecided:
				open.Add(1)
			case v.Verdict != verdict.None:
				alarms.Add(1)
				if v.Tier == verdict.Confirmed {
					sure.Add(1)
				}
			}
		})
		a, s := int(alarms.Load()), int(sure.Load())
		fmt.Fprintf(w, "%-12s%9d%8.4f%10.4f%12.4f%10.4f%11.3f\n", g, n, part(a, n), upTo(a, n), part(s, n),
			upTo(s, n), part(int(open.Load()), n))
	}
	fmt.Fprintln(w)
}

// upTo is the upper end of Wilson's 95 % interval of k out of n.
func upTo(k, n int) float64 {
	const z = 1.96
	p, m := part(k, n), float64(n)
	return (p + z*z/2/m + z*math.Sqrt(p*(1-p)/m+z*z/4/m/m)) / (1 + z*z/m)
}
