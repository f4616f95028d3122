package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
)

// drivenRow is what was found for one mix of units.
type drivenRow struct {
	n, right, background, costs, covered int
	errs                                 []float64
}

// printDriven prints how often the units that drive a growth are named, all of
// them and no other, and how far off their costs are.
func printDriven(w io.Writer, seed uint64, n int) {
	rows := map[string]*drivenRow{}
	for _, d := range corpus.DrivenBy(seed, n) {
		v := verdict.Judge(d.Run, verdict.Options{})
		name := mixName(d)
		if rows[name] == nil {
			rows[name] = &drivenRow{}
		}
		rows[name].add(d, v)
	}
	names := make([]string, 0, len(rows))
	for n := range rows {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Fprintf(w, "%-34s%6s%8s%12s%12s%10s\n", "growth driven by", "n", "right", "background",
		"cost off by", "covered")
	for _, n := range names {
		r := rows[n]
		sort.Float64s(r.errs)
		fmt.Fprintf(w, "%-34s%6d%8.3f%12.3f%12.4f%10.3f\n", n, r.n, part(r.right, r.n),
			part(r.background, r.n), at(r.errs, .5), part(r.covered, r.costs))
	}
	fmt.Fprintln(w)
}

func mixName(d *corpus.Driven) string {
	var units []string
	for u := range d.Cost {
		units = append(units, u)
	}
	slices.Sort(units)
	name := strings.Join(units, " and ")
	if d.Background {
		name += ", with pauses"
	}
	return name
}

// add counts one trace. A unit that advances in proportion to a driving one is
// as right, but has another cost.
func (r *drivenRow) add(d *corpus.Driven, v *verdict.Verdict) {
	r.n++
	if v.Background {
		r.background++
	}
	right := v.DrivenBy != nil
	said := 0
	for s := v.DrivenBy; s != nil; s = s.And {
		said++
		unit := s.Per
		if like, ok := d.Alike[unit]; ok {
			unit = like
		}
		cost, ok := d.Cost[unit]
		if right = right && ok; !ok || unit != s.Per {
			continue
		}
		r.costs++
		r.errs = append(r.errs, math.Abs(s.Value/cost-1))
		if s.Low <= cost && cost <= s.High {
			r.covered++
		}
	}
	if right && said == len(d.Cost) {
		r.right++
	}
}
