package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
)

// linkedVerdict names a holder and a line, both of which have rows.
func linkedVerdict() *verdict.Verdict {
	v := leakVerdict()
	v.Claim = "list __main__.history[…] keeps 428 MiB in 107 handles, 4.00 MiB more with every step; allocated at " +
		"src/train.py:41 in step."
	v.Holders[0].Path = "list __main__.history[…]"
	v.Sites[0].Site = "/home/me/src/train.py:41 step"
	v.Peak = &peak.Peak{Bytes: 8 * mib, Categories: []peak.Category{{Name: "activations", Bytes: 8 * mib}},
		Sites: []peak.Site{{Site: "/home/me/src/train.py:41 step", Category: "activations", Bytes: 8 * mib, Count: 1}}}
	return v
}

func TestLinksLeadFromTheHolderToTheSiteAndToTheLine(t *testing.T) {
	t.Parallel()
	body := bodyOf(t, linkedVerdict())
	for _, want := range []string{
		`<a href="#holder-1">list __main__.history[…]</a> keeps`,
		`allocated at src/<a href="#site-1">train.py:41</a> in step.`,
		`<tr id="holder-1"><th scope="row">list __main__.history[…], allocated at <a href="#site-1">train.py:41</a></th>`,
		`<tr id="site-1"><th scope="row">/home/me/src/<a href="#line-1">train.py:41</a> step</th>`,
		`<tr id="line-1"><th scope="row">/home/me/src/<a href="#site-1">train.py:41</a> step</th>`,
		`in step 1 at <a href="#site-1">train.py:41</a></li>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestEveryLinkOfThePageLeadsSomewhere(t *testing.T) {
	t.Parallel()
	v := linkedVerdict()
	v.Sites = append(v.Sites, verdict.SiteRow{Site: "train.py:99 empty"})
	v.Causes[0].Evidence = append(v.Causes[0].Evidence,
		"nothing was kept at train.py:99, train.py:411 or retrain.py:41")
	body := bodyOf(t, v)
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if n := strings.Count(body, `id="`+m[1]+`"`); n != 1 {
			t.Errorf("%d elements are called %s", n, m[1])
		}
	}
	if !strings.Contains(body, "train.py:99, train.py:411 or retrain.py:41") {
		t.Error("a line without a row, or a longer word, is a link")
	}
}

func TestTheLinesThatFillAHolderStandBesideIt(t *testing.T) {
	t.Parallel()
	v := &verdict.Verdict{Verdict: verdict.HostGrowth, Holders: []verdict.HolderRow{
		{Path: "list train.history", Bytes: 1 << 20, Count: 3, Filled: "/app/train.py:8 step"},
		{Path: "train.x", Bytes: 4096, Count: 1},
	}}
	table := holdersSection(v).blocks[0].table
	if n := len(table.head); n != 4 || table.rows[0][3] != "/app/train.py:8 step" || table.rows[1][3] != "" {
		t.Errorf("%d columns, rows %q", n, table.rows)
	}
	v.Holders[0].Filled = ""
	if n := len(holdersSection(v).blocks[0].table.head); n != 3 {
		t.Errorf("nobody knows a line, and there are %d columns", n)
	}
}
