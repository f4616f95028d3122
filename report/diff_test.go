package report

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// twoRuns are a branch that leaks twice as fast as its base and whose sites
// moved, and what the engine would say of them.
func twoRuns() (base, new Side, d *verdict.Difference) {
	base, new = Side{"main", leakRun(400)}, Side{"branch", leakRun(1200)}
	for i, v := range new.Run.Samples.Column(record.ColLive) {
		new.Run.Samples.Column(record.ColLive)[i] = 2 * v
		new.Run.Samples.Column(record.ColGPU)[i] += v
	}
	new.Run.Meta.Versions = map[string]string{"gpumem": "0.1.0", "torch": "2.12.0"}
	d = &verdict.Difference{Schema: 1, Verdict: verdict.AppLeak, Tier: verdict.Confirmed, Confidence: .98,
		Summary: "app-leak: memory the program still references grows by 154.66 MiB more than before over 39 steps " +
			"(4.00 MiB a step).",
		Claim: "memory the program still references grows by 154.66 MiB more than before over 39 steps (4.00 MiB " +
			"a step).",
		AlignedBy: "step", Compared: 39, Base: leakVerdict(), New: leakVerdict(),
		Warnings: []string{"the runs have different lengths"},
		Rows: []verdict.DiffRow{
			{Account: verdict.Live, Growth: &verdict.Interval{Value: 155 * mib, Low: 152 * mib, High: 157 * mib},
				Count:   &verdict.Interval{Low: -1, High: 1},
				PerUnit: &verdict.Interval{Value: 4 * mib, Low: 3.9 * mib, High: 4.1 * mib},
				Level:   ptr(int64(477 * mib))},
			{Account: verdict.Idle, Noise: true, Growth: &verdict.Interval{Low: -mib, High: mib},
				PerUnit: &verdict.Interval{Low: -.02 * mib, High: .02 * mib}, Level: ptr(int64(-141 << 10))},
			{Account: verdict.Untracked, Noise: true},
		}}
	d.Base.Sites = []verdict.SiteRow{{Site: "train.py:38 step", Bytes: 160 * mib, Count: 40},
		{Site: "data.py:9 load", Bytes: 3 * mib, Count: 3}, {Site: "model.py:17 init", Bytes: 85 * mib, Count: 120}}
	d.New.Sites = []verdict.SiteRow{{Site: "train.py:41 step", Bytes: 960 * mib, Count: 240},
		{Site: "cache.py:5 keep", Bytes: mib, Count: 1}, {Site: "model.py:17 init", Bytes: 85 * mib, Count: 120}}
	d.Base.Causes, d.Base.Window.Steps = []verdict.Cause{{ID: "pool-never-trims"}}, 39
	return base, new, d
}

func renderDiff(t testing.TB, f Format) string {
	t.Helper()
	base, new, d := twoRuns()
	var b strings.Builder
	if err := WriteDiff(&b, f, base, new, d, Options{Producer: "gpumem 0.1.0"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryFormatSaysWhatChanged(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{Text, Markdown, HTML} { // JSON is the verdict's own
		compare(t, filepath.Join("testdata", "what-changed."+string(f)+".golden"), readable(t, f, renderDiff(t, f)))
	}
	var back verdict.Difference
	if err := json.Unmarshal([]byte(renderDiff(t, JSON)), &back); err != nil || back.Verdict != verdict.AppLeak ||
		len(back.Rows) != 3 {
		t.Errorf("%v, %s", err, back.Verdict)
	}
}

func TestSitesOfTwoRunsAreNewGoneAndGrown(t *testing.T) {
	t.Parallel()
	base, new, d := twoRuns()
	s := changedSites(sideOf(base, d.Base), sideOf(new, d.New))
	got := map[string]string{}
	for _, row := range s.blocks[0].table.rows {
		got[row[0]] = row[1]
	}
	for site, want := range map[string]string{"train.py:41 step": "grown", "cache.py:5 keep": "new",
		"data.py:9 load": "gone"} {
		if got[site] != want {
			t.Errorf("%s is %q, want %q", site, got[site], want)
		}
	}
	if len(got) != 3 || !strings.Contains(s.blocks[0].table.caption, "One more is the same") {
		t.Errorf("%v, %q", got, s.blocks[0].table.caption)
	}
	d.Base.Sites = nil
	if s := changedSites(sideOf(base, d.Base), sideOf(new, d.New)); len(s.blocks) != 0 {
		t.Errorf("sites are new although nobody looked before: %v", s.blocks[0].table.rows)
	}
	base.Run.Events = append(base.Run.Events, record.Event{Kind: record.KindSites})
	if s := changedSites(sideOf(base, d.Base), sideOf(new, d.New)); len(s.blocks) != 1 ||
		s.blocks[0].table.rows[0][1] != "new" {
		t.Error("sites are not new although nothing survived before")
	}
}

// TestTheDifferenceIsDrawnWithItsBand: the runs have different lengths and
// sample places; what is drawn is one less the other, over what both have.
func TestTheDifferenceIsDrawnWithItsBand(t *testing.T) {
	t.Parallel()
	base, new, d := twoRuns()
	charts := diffCharts(sideOf(base, d.Base), sideOf(new, d.New), d)
	if len(charts) < 3 || charts[0].id != "delta" {
		t.Fatalf("%d charts", len(charts))
	}
	live := charts[0].lines[0]
	first, last := ends(live.v)
	if live.id != "live" || live.fit == nil || first < 85*mib || last < 150*mib || last > 250*mib {
		t.Errorf("%s from %v to %v, fit %v", live.id, first, last, live.fit)
	}
	if f := live.fit; !(f.low[1] <= f.y[1] && f.y[1] <= f.high[1]) {
		t.Errorf("the fit ends at %v in %v to %v", f.y[1], f.low[1], f.high[1])
	}
	for _, c := range charts {
		if _, hi := rangeOf(c.axis.x); hi > d.Compared {
			t.Errorf("%s goes to %v, compared are %v", c.id, hi, d.Compared)
		}
		for _, l := range c.lines {
			if len(l.v) != len(c.axis.x) {
				t.Errorf("%s: %d values on %d places", c.id, len(l.v), len(c.axis.x))
			}
		}
	}
}

func TestADifferenceOfNothingIsWritten(t *testing.T) {
	t.Parallel()
	d := verdict.Diff(nil, nil, verdict.Options{})
	for _, f := range DiffFormats() {
		if err := WriteDiff(&strings.Builder{}, f, Side{}, Side{Name: hostile}, d, Options{}); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	if err := WriteDiff(&strings.Builder{}, CSV, Side{}, Side{}, d, Options{}); err == nil {
		t.Error("a difference was written as CSV")
	}
	if err := WriteDiff(&strings.Builder{}, Text, Side{}, Side{}, nil, Options{}); err == nil {
		t.Error("no difference was written")
	}
}
