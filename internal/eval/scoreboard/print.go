package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// clearSigmas is the growth, in standard deviations of the noise, from which a
// growth should be found.
const clearSigmas = 6

var classes = [...]verdict.Class{verdict.None, verdict.AppLeak, verdict.PoolGrowth, verdict.DriverGrowth,
	verdict.HostGrowth}

// printConfusion prints truth against verdict, and F1 by class.
func printConfusion(w io.Writer, all []*result) {
	fmt.Fprintf(w, "%-14s", "truth \\ said")
	for _, c := range classes {
		fmt.Fprintf(w, "%14s", c)
	}
	fmt.Fprintf(w, "%14s%8s%8s%8s\n", verdict.Undecided, "recall", "prec.", "F1")
	sum := 0.
	for _, truth := range classes {
		row := map[verdict.Class]int{}
		said, n := 0, 0
		for _, r := range all {
			if !clearly(r) {
				continue
			}
			if verdict.Class(r.Truth) == truth {
				row[r.verdict.Verdict]++
				n++
			}
			if r.verdict.Verdict == truth {
				said++
			}
		}
		fmt.Fprintf(w, "%-14s", truth)
		for _, c := range classes {
			fmt.Fprintf(w, "%14d", row[c])
		}
		rec, prec := part(row[truth], n), part(row[truth], said)
		f1 := 2 * rec * prec / math.Max(rec+prec, 1e-9)
		sum += f1 / float64(len(classes))
		fmt.Fprintf(w, "%14d%8.3f%8.3f%8.3f\n", row[verdict.Undecided], rec, prec, f1)
	}
	fmt.Fprintf(w, "macro-F1 %.3f (growths of less than %d sigma left out; undecided counts as wrong)\n\n",
		sum, clearSigmas)
}

// clearly leaves out growth too small to be asked for.
func clearly(r *result) bool { return !r.grows() || r.Sigmas >= clearSigmas }

func part(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// printDetection prints growth against no growth, beside the baselines.
func printDetection(w io.Writer, all []*result) {
	fmt.Fprintf(w, "%-26s%8s%8s%8s%10s\n", "rule", "prec.", "recall", "FPR", "abstains")
	engine := func(r *result) bool { return r.alarmed() }
	printRule(w, "gpumem", all, engine)
	printRule(w, "gpumem, confirmed only", all, func(r *result) bool {
		return r.alarmed() && r.verdict.Tier == verdict.Confirmed
	})
	for b := range baselines {
		printRule(w, baselines[b].name, all, func(r *result) bool { return r.rules[b] })
	}
	fmt.Fprintln(w)
}

func printRule(w io.Writer, name string, all []*result, alarm func(*result) bool) {
	var tp, fn, fp, tn, open int
	for _, r := range all {
		if !clearly(r) {
			continue
		}
		if r.verdict.Verdict == verdict.Undecided {
			open++
		}
		switch {
		case r.grows() && alarm(r):
			tp++
		case r.grows():
			fn++
		case alarm(r):
			fp++
		default:
			tn++
		}
	}
	fmt.Fprintf(w, "%-26s%8.3f%8.3f%8.4f", name, part(tp, tp+fp), part(tp, tp+fn), part(fp, fp+tn))
	if name == "gpumem" {
		fmt.Fprintf(w, "%10.3f", part(open, tp+fn+fp+tn))
	}
	fmt.Fprintln(w)
}

// printRegimes prints false alarms and recall by regime.
func printRegimes(w io.Writer, all []*result) {
	fmt.Fprintf(w, "%-12s%9s%8s%12s%10s%9s%10s", "regime", "healthy", "FPR", "confirmed", "undecided",
		"growing", "right")
	for b := range baselines {
		fmt.Fprintf(w, "  FPR %-12.12s", baselines[b].name)
	}
	fmt.Fprintln(w)
	for _, g := range corpus.Regimes {
		var healthy, fp, sure, open, growing, right int
		var rules [len(baselines)]int
		for _, r := range all {
			if r.Regime != g || !clearly(r) {
				continue
			}
			if r.grows() {
				growing++
				if r.right() {
					right++
				}
				continue
			}
			healthy++
			if r.verdict.Verdict == verdict.Undecided {
				open++
			}
			if r.alarmed() {
				fp++
				if r.verdict.Tier == verdict.Confirmed {
					sure++
				}
			}
			for b := range rules {
				if r.rules[b] {
					rules[b]++
				}
			}
		}
		fmt.Fprintf(w, "%-12s%9d%8.4f%12.4f%10.3f%9d%10.3f", g, healthy, part(fp, healthy),
			part(sure, healthy), part(open, healthy), growing, part(right, growing))
		for b := range rules {
			fmt.Fprintf(w, "  %-16.3f", part(rules[b], healthy))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// printEstimates prints rate error, coverage, calibration and cost.
func printEstimates(w io.Writer, all []*result) {
	var errs, costs []float64
	covered, rates := 0, 0
	for _, r := range all {
		costs = append(costs, float64(r.cost.Microseconds())/1000)
		iv := rateOf(r)
		if r.PerSecond <= 0 || !clearly(r) || iv == nil || !r.right() {
			continue
		}
		rates++
		errs = append(errs, math.Abs(iv.Value-r.PerSecond)/r.PerSecond)
		if iv.Low <= r.PerSecond && r.PerSecond <= iv.High {
			covered++
		}
	}
	sort.Float64s(errs)
	sort.Float64s(costs)
	fmt.Fprintf(w, "rate error of %d: median %.3f, p90 %.3f; 95 %% intervals cover %.3f\n",
		rates, at(errs, .5), at(errs, .9), part(covered, rates))
	ece, bins := calibration(all)
	fmt.Fprintf(w, "calibration error %.4f\n", ece)
	for _, b := range bins {
		fmt.Fprintf(w, "  said %.2f  right %.3f  of %d\n", b.said, b.right, b.n)
	}
	fmt.Fprintf(w, "cost a trace: median %.2f ms, p99 %.2f ms (two workers, shared machine)\n\n",
		at(costs, .5), at(costs, .99))
}

// rateOf is the rate given for the account that truly grows.
func rateOf(r *result) *verdict.Interval {
	for _, a := range r.verdict.Accounts {
		if a.Account == r.Account && a.Shape == trend.Growing {
			return a.PerSecond
		}
	}
	return nil
}

func at(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// bin is one group of verdicts of about the same confidence.
type bin struct {
	said, right float64
	n           int
}

// calibration is the mean gap between confidence and being right over ten
// groups of equal size, of the verdicts that decide.
func calibration(all []*result) (float64, []bin) {
	var decided []*result
	for _, r := range all {
		if r.verdict.Verdict != verdict.Undecided {
			decided = append(decided, r)
		}
	}
	sort.SliceStable(decided, func(i, j int) bool {
		return decided[i].verdict.Confidence < decided[j].verdict.Confidence
	})
	const groups = 10
	var bins []bin
	ece := 0.
	for g := 0; g < groups; g++ {
		part := decided[g*len(decided)/groups : (g+1)*len(decided)/groups]
		if len(part) == 0 {
			continue
		}
		b := bin{n: len(part)}
		for _, r := range part {
			b.said += r.verdict.Confidence / float64(len(part))
			if r.right() {
				b.right += 1 / float64(len(part))
			}
		}
		ece += math.Abs(b.said-b.right) * float64(b.n) / float64(len(decided))
		bins = append(bins, b)
	}
	return ece, bins
}

// rising are regimes whose healthy programs rise for a time: an alarm meanwhile
// is right, and has to close.
var rising = []string{"warm-up", "load ramp", "diurnal", "sawtooth"}

// printOnline watches traces sample by sample with a Monitor.
func printOnline(w io.Writer, all []*result) {
	var clean, alarms, meanwhile, kept, growing, found int
	var when []float64
	for _, r := range all {
		if !clearly(r) || r.Regime == "restart" || r.Run.Samples.Len() < 720 {
			continue
		}
		at, open := watch(r.Run)
		if !r.grows() {
			clean++
			switch {
			case at >= 0 && slices.Contains(rising, r.Regime):
				meanwhile++
			case at >= 0:
				alarms++
			}
			if open {
				kept++
			}
			continue
		}
		growing++
		if open {
			found++
			when = append(when, at)
		}
	}
	sort.Float64s(when)
	fmt.Fprintf(w,
		"online, %d clean traces: %d raised an alarm while they rose for a time (%s), %d others did; %d "+
			"alarms were open at the end\n",
		clean, meanwhile, strings.Join(rising, ", "), alarms, kept)
	fmt.Fprintf(w,
		"online, %d growing traces: %.3f end with an alarm, opened after %.2f of the trace (median)\n\n",
		growing, part(found, growing), at(when, .5))
}

// watch returns the part of the run after which an alarm first opened, -1 for
// none, and whether one is open at the end.
func watch(run *record.Run) (first float64, open bool) {
	m := verdict.NewMonitor(verdict.Options{})
	s := run.Samples
	tm := s.Column(record.ColTime)
	first = -1
	for i := range tm {
		var cells []record.Cell
		for _, n := range s.Names() {
			if v := s.Column(n)[i]; n != record.ColTime && v == v {
				cells = append(cells, record.Cell{Column: n, Value: int64(v)})
			}
		}
		m.Add(1, tm[i], cells...)
		open = len(m.Look()) > 0
		if open && first < 0 {
			first = float64(i+1) / float64(len(tm))
		}
	}
	return first, open
}

// printAdversarial prints the traces made to mislead, by name.
func printAdversarial(w io.Writer, all []*result) {
	type row struct{ n, right, open, wrong int }
	rows := map[string]*row{}
	var names []string
	for _, r := range all {
		if rows[r.Kind] == nil {
			rows[r.Kind] = &row{}
			names = append(names, r.Kind)
		}
		x := rows[r.Kind]
		x.n++
		switch {
		case r.right():
			x.right++
		case r.verdict.Verdict == verdict.Undecided:
			x.open++
		default:
			x.wrong++
		}
	}
	fmt.Fprintf(w, "%-40s%6s%8s%11s%8s\n", "made to mislead", "n", "right", "undecided", "wrong")
	for _, n := range names {
		x := rows[n]
		fmt.Fprintf(w, "%-40s%6d%8d%11d%8d\n", n, x.n, x.right, x.open, x.wrong)
	}
	fmt.Fprintln(w)
}

// printReal prints the recorded programs.
func printReal(w io.Writer, all []*result) {
	right := 0
	var rules [len(baselines)]int
	for _, r := range all {
		if r.right() {
			right++
		} else {
			fmt.Fprintf(w, "real %s: %s, should be %s\n", r.Kind, r.verdict.Verdict, r.Truth)
		}
		for b := range rules {
			if r.rules[b] == r.grows() {
				rules[b]++
			}
		}
	}
	fmt.Fprintf(w, "real traces right: gpumem %d of %d (class and all)", right, len(all))
	for b := range rules {
		fmt.Fprintf(w, "; %s %d (growth or not)", baselines[b].name, rules[b])
	}
	fmt.Fprintln(w)
}
