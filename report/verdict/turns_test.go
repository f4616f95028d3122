package verdict

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// turn is a process of a job: its life in seconds, its command, and by how many bytes of
// the host it grows each second.
type turn struct {
	from, to, rate float64
	name           string
}

// jobOf is a run of 60 s of a shell that starts processes.
func jobOf(list []turn) *record.Run {
	names := []string{record.ColTime, record.ColPID, record.ColFootprint}
	cols := make([][]float64, len(names))
	row := func(v ...float64) {
		for i, x := range v {
			cols[i] = append(cols[i], x)
		}
	}
	noise := rand.New(rand.NewPCG(7, 1))
	run := &record.Run{Meta: record.Meta{PID: 100}}
	for n, t := range list {
		run.Events = append(run.Events,
			record.Event{TMs: t.from * 1000, PID: 200 + n, Kind: record.KindProcess, Name: t.name})
	}
	for i := range 1200 {
		at := float64(i) / 20
		row(at*1000, 100, 3*mib)
		for n, t := range list {
			if at >= t.from && at < t.to {
				row(at*1000, float64(200+n), 30*mib+t.rate*(at-t.from)+8*kib*noise.Float64())
			}
		}
	}
	run.Samples = record.NewSamples(names, cols)
	return run
}

func TestAJobDoesNotGrowByProgramsThatRunInTurns(t *testing.T) {
	t.Parallel()
	// so many programs in the 60 s, each for its part of the time and then no more
	job := func(n int, name func(int) string, rate func(int) float64) (list []turn) {
		each := 60 / float64(n)
		for i := range n {
			list = append(list, turn{float64(i) * each, float64(i+1)*each - .5, rate(i), name(i)})
		}
		return list
	}
	one := func(int) string { return "python3 part.py" }
	part := func(i int) string { return "cc1plus -quiet part" + strconv.Itoa(i) + ".cc" }
	child := func(i int) string { return "Process-" + strconv.Itoa(i+2) }
	scripts := func(i int) string { return "python3 " + string(rune('a'+i)) + ".py" }
	slow := func(int) float64 { return 2.5 * mib }
	oneLarge := func(i int) float64 { return []float64{mib, mib, 20 * mib, mib, mib, mib}[i] }
	oneGrows := func(i int) float64 { return []float64{0, 0, 0, 2.5 * mib, 0}[i] }
	lastLeaks := func(i int) float64 { return []float64{mib, 20 * mib}[i/5] }
	together := job(6, one, slow)
	for i := range together {
		together[i].to = 59.5
	}
	for name, c := range map[string]struct {
		list []turn
		want Class
	}{
		"a script for each part":              {job(6, one, slow), None},
		"a compiler for each file":            {job(6, part, slow), None},
		"workers of multiprocessing":          {job(6, child, slow), None},
		"six scripts":                         {job(6, scripts, slow), HostGrowth},
		"one file that is large":              {job(6, part, oneLarge), None},
		"the last one grows by twenty times":  {job(6, one, lastLeaks), HostGrowth},
		"two for half the time each":          {job(2, one, slow), HostGrowth},
		"three for a third of the time each":  {job(3, one, slow), None},
		"one, and flat ones before and after": {job(5, scripts, oneGrows), HostGrowth},
		"all at the same time, to the end":    {together, HostGrowth},
	} {
		v := Judge(jobOf(c.list), Options{})
		if v.Verdict != c.want {
			t.Errorf("%s: %s", name, v.Summary)
		}
		told := strings.Contains(strings.Join(v.Warnings, "\n"), "each gave it back when it ended")
		if !told && c.want == None {
			t.Errorf("%s: warnings %q", name, v.Warnings)
		}
	}
}
