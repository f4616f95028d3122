package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// shown are the verdicts that are shown after looks a second apart, the first at 10 s.
func shown(classes ...verdict.Class) string {
	var j Judged
	var out []string
	for i, c := range classes {
		j.Take(&verdict.Verdict{Verdict: c, Tier: verdict.Likely, Answer: string(c)}, float64(10+i)*1000, false)
		out = append(out, string(j.Verdict.Verdict))
	}
	return strings.Join(out, " ")
}

func TestALiveVerdictDoesNotFollowEachDoubt(t *testing.T) {
	t.Parallel()
	const (
		n, u = verdict.None, verdict.Undecided
		app  = verdict.AppLeak
		pool = verdict.PoolGrowth
	)
	for what, c := range map[string]struct {
		looks []verdict.Class
		shows string
	}{
		"the first counts":             {[]verdict.Class{app}, "app-leak"},
		"one look changes nothing":     {[]verdict.Class{app, n, app}, "app-leak app-leak app-leak"},
		"two that disagree do neither": {[]verdict.Class{app, n, pool}, "app-leak app-leak app-leak"},
		"two that agree do":            {[]verdict.Class{u, app, app}, "undecided undecided app-leak"},
		"a doubt must last": {[]verdict.Class{app, app, app, app, u, u},
			"app-leak app-leak app-leak app-leak app-leak app-leak"},
		"and half as long again is long": {[]verdict.Class{app, app, u, u}, "app-leak app-leak app-leak undecided"},
	} {
		if got := shown(c.looks...); got != c.shows {
			t.Errorf("%s: %s, want %s", what, got, c.shows)
		}
	}
}

func TestTheLastLookCountsAsItIsAndATurnSaysWhy(t *testing.T) {
	t.Parallel()
	var j Judged
	j.Take(&verdict.Verdict{Verdict: verdict.AppLeak}, 1000, false)
	j.Take(&verdict.Verdict{Verdict: verdict.None, Answer: "no account grows."}, 2000, true)
	if j.Verdict.Verdict != verdict.None || j.Looks != 2 || j.Same != 1 {
		t.Errorf("%+v", j)
	}
	if got := fmt.Sprint(len(j.Turns), " ", j.Turns[1].Why); got != "2 no account grows." {
		t.Errorf("turns: %s", got)
	}
}
