package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// hosting is the answer about a program whose host memory grows by 1 MiB a second, and
// whose one look, over 10 s where they tell no other time, found these holders.
func hosting(holders ...record.Holder) *Verdict {
	p := newProgram(400).grows(record.ColRSS, 50*mib, 16*kib, mib/20)
	run := p.run()
	for i := range holders {
		if holders[i].OverMs == 0 {
			holders[i].OverMs = 10_000
		}
	}
	run.Events = append(run.Events, record.Event{TMs: 16_000, Kind: record.KindHolders, Holders: holders})
	return Judge(run, Options{})
}

func TestOutputsWhoseGraphsNobodyWeighedAreThePlaceToTryFirst(t *testing.T) {
	t.Parallel()
	losses := record.Holder{Path: "list train.losses", Graphs: true, Bytes: 640, Count: 160,
		Filled: "/srv/app/train.py:9 step"}
	const want = "detach what list train.losses keeps, filled at app/train.py:9 in step, " +
		"and see whether it still grows: " +
		"it got 160 outputs more"
	if v := hosting(losses); !strings.HasPrefix(v.Next, want) || strings.Contains(v.Answer, "losses") {
		t.Errorf("%q, then %q", v.Answer, v.Next)
	}
	gone := losses
	gone.Gone, gone.OverMs = true, 4000 // a function's that has returned
	if v := hosting(gone); !strings.HasPrefix(v.Next, want) {
		t.Errorf("gone at the end: %q", v.Next)
	}
	rows := record.Holder{Path: "list train.rows", Bytes: 10 * mib, Count: 100}
	weighed := record.Holder{Path: "list train.kept", Graph: "Mean outputs", Bytes: 4096, Count: 3}
	plain := losses
	plain.Graphs = false
	for what, holders := range map[string][]record.Holder{"another explains it": {losses, rows},
		"they were weighed": {losses, weighed}, "they have none": {plain}} {
		if v := hosting(holders...); strings.Contains(v.Next, "detach what") {
			t.Errorf("%s: %q", what, v.Next)
		}
	}
}

func TestTheHoldersOfHostMemoryAreNamed(t *testing.T) {
	t.Parallel()
	jobs := record.Holder{Path: "list serve.jobs", Bytes: 6 * mib, Count: 60}
	v := hosting(jobs, record.Holder{Path: "dict serve.names", Bytes: mib, Count: 2000})
	if want := "held by list serve.jobs, with 60 objects more"; v.Verdict != HostGrowth ||
		!strings.Contains(v.Answer, want) {
		t.Errorf("%s: %q, want %q in it", v.Verdict, v.Answer, want)
	}
	if !strings.Contains(v.Next, "list serve.jobs") {
		t.Errorf("next: %q", v.Next)
	}
	jobs.Filled = "/srv/app/serve.py:12 handle; /srv/app/serve.py:40 <module>"
	v = hosting(jobs)
	const lines = "filled at app/serve.py:12 in handle and app/serve.py:40"
	if !strings.Contains(v.Answer, lines) || !strings.Contains(v.Next, "list serve.jobs, "+lines) {
		t.Errorf("answer %q, next %q, want %q in both", v.Answer, v.Next, lines)
	}
	fills := record.Holder{Path: "dict serve.decoded", Bytes: 6 * mib, Count: 160, OverMs: 2000}
	if v := hosting(jobs, fills); !strings.Contains(v.Answer, "held by list serve.jobs") {
		t.Errorf("beside one that filled faster than the host grows: %q", v.Answer)
	}
	nodes := record.Holder{Path: "Node objects below words.index.root", Bytes: 6 * mib, Count: 900,
		Filled: "/srv/app/words.py:12 grow"}
	const made = "held by Node objects below words.index.root, made at app/words.py:12 in grow, with 900 objects more"
	if v := hosting(nodes); !strings.Contains(v.Answer, made) {
		t.Errorf("answer %q, want %q in it", v.Answer, made)
	} else if !strings.HasSuffix(v.Next, " once they have been used: words.index.root keeps them") {
		t.Errorf("next: %q", v.Next)
	}
	graph := record.Holder{Path: "list train.losses", Bytes: 6 * mib, Count: 9, Graph: "Relu outputs"}
	own := record.Holder{Path: "list train.losses", Bytes: kib, Count: 60}
	if v := hosting(graph, own); !strings.Contains(v.Answer, "held by list train.losses") {
		t.Errorf("what a graph keeps for its holder: %q", v.Answer)
	}
	for what, h := range map[string]record.Holder{
		"too little":     {Path: "list a.b", Bytes: 2 * mib, Count: 60},
		"with a bound":   {Path: "deque a.b", Bytes: 9 * mib, Count: 60, Length: 60, Bound: 100},
		"a cycle":        {Path: "Tensor (8, 8) torch.float32 cpu: a reference cycle or native code", Bytes: 9 * mib},
		"nameless":       {Path: "Tensor", Bytes: 9 * mib, Count: 60, Graph: "Relu outputs"},
		"gone meanwhile": {Path: "list a.b", Bytes: 9 * mib, Count: 60, Gone: true},
	} {
		if v := hosting(h); strings.Contains(v.Answer, "held by") {
			t.Errorf("%s: %q", what, v.Answer)
		}
	}
}

func TestWhatAProgramHoldsIsCalledAsItsFrameworkCallsIt(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"tensors": {"torch", "python"}, "arrays": {"jax"}, "objects": {"python"},
	} {
		versions := map[string]string{}
		for _, name := range names {
			versions[name] = "1"
		}
		if got := thingsOf(versions); got != want {
			t.Errorf("%v: %s, want %s", names, got, want)
		}
	}
	if got := thingsOf(map[string]string{"torch": "2", "jax": "1"}); got != "objects" {
		t.Errorf("of two frameworks: %s", got)
	}
}

func TestTwoCausesOfOneGrowthAreBothNamed(t *testing.T) {
	t.Parallel()
	part := func(id string, confidence, share float64) Cause {
		return Cause{ID: id, Confidence: confidence, Share: &share}
	}
	for want, causes := range map[string][]Cause{
		"; causes: hooks kept (60 %), results kept (35 %)": {part("hooks-kept", .8, .6), part("results-kept", .7, .35)},
		"; cause: hooks kept":                              {part("hooks-kept", .8, .95), part("results-kept", .7, .04)},
		"; cause: missing pool": {{ID: "missing-pool", Confidence: .9},
			part("results-kept", .7, .35)},
		"": {part("hooks-kept", .3, .9)},
	} {
		if got := causeClaim(causes); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAHolderThatEndsWithItsFunctionIsNamed(t *testing.T) {
	t.Parallel()
	run := newProgram(400).grows(record.ColRSS, 50*mib, 16*kib, mib/20).run()
	tasks := record.Holder{Path: "list crawl() local tasks", Count: 60}
	for _, at := range []float64{4, 8, 16} { // seconds; each look is over half of that
		tasks.Bytes, tasks.Length, tasks.OverMs = int64(at/2*mib), int64(20*at), 500*at
		run.Events = append(run.Events, record.Event{TMs: 1000 * at, Kind: record.KindHolders,
			Holders: []record.Holder{tasks}})
	}
	gone := tasks
	gone.Gone = true
	end := record.Event{TMs: 19_900, Kind: record.KindHolders, Holders: []record.Holder{gone}}
	run.Events = append(run.Events, end)
	v := Judge(run, Options{})
	if !strings.Contains(v.Answer, "held by list crawl() local tasks") {
		t.Errorf("%s: %q", v.Verdict, v.Answer)
	}
	found := false
	for _, f := range v.Findings {
		found = found || f.Evidence == ByObjects
	}
	if !found {
		t.Errorf("the list was longer at each look, but the findings are %+v", v.Findings)
	}
	// Where the last look does not find it any more it was given up at work.
	late := tasks
	late.Path, late.Bytes = "list crawl() local other", mib/4
	run.Events[len(run.Events)-1] = record.Event{TMs: 19_000, Kind: record.KindHolders,
		Holders: []record.Holder{late}}
	run.Events = append(run.Events, end)
	if v := Judge(run, Options{}); strings.Contains(v.Answer, "local tasks") {
		t.Errorf("given up before: %q", v.Answer)
	}
}

func TestWhatGraphsKeepCountsToTheListThatHasTheirOutputs(t *testing.T) {
	t.Parallel()
	const list = "list train.failures"
	run := newProgram(400).grows(record.ColRSS, 50*mib, 16*kib, mib/20).run()
	look := record.Holder{Path: list, Bytes: mib, Count: 9, Length: 9, OverMs: 10_000}
	run.Events = append(run.Events,
		record.Event{TMs: 16_000, Kind: record.KindHolders, Holders: []record.Holder{look}},
		record.Event{TMs: 19_900, Kind: record.KindHolders, Holders: []record.Holder{
			{Path: list, Bytes: 4 * mib, Count: 20, Graph: "Addmm outputs"},
			{Path: list + "[…].__traceback__ → train() local logits", Bytes: 4 * mib, Count: 9,
				Graph: "Addmm outputs"},
			{Path: list, Bytes: 2 * mib, Count: 20}}})
	if v := Judge(run, Options{}); !strings.Contains(v.Answer, "held by "+list) {
		t.Errorf("%q", v.Answer)
	}
}

func TestAYoungProgramWhoseMemoryNobodyHoldsMayStillBeStarting(t *testing.T) {
	t.Parallel()
	young := func(meta map[string]string, holders ...record.Holder) *Verdict {
		run := newProgram(200).grows(record.ColRSS, 50*mib, 3*mib, mib/8).run()
		run.Meta.Versions = meta
		if len(holders) > 0 {
			run.Events = append(run.Events, record.Event{TMs: 8_000, Kind: record.KindHolders, Holders: holders})
		}
		return Judge(run, Options{})
	}
	python := map[string]string{"python": "3.11.2"}
	if v := young(nil); v.Verdict != HostGrowth || v.Tier == Confirmed {
		t.Fatalf("without an interpreter: %s %s", v.Verdict, v.Tier)
	}
	if v := young(python); v.Verdict != Undecided || !strings.Contains(v.Answer, "got so much longer") {
		t.Errorf("%s: %q", v.Verdict, v.Answer)
	}
	held := record.Holder{Path: "list train.rows", Bytes: 4 * mib, Count: 90, OverMs: 4000}
	if v := young(python, held); v.Verdict != HostGrowth {
		t.Errorf("with a list that got longer: %s: %q", v.Verdict, v.Answer)
	}
}

func TestBesideADeviceWhatHoldsHostMemoryIsNamed(t *testing.T) {
	t.Parallel()
	judged := func(holders ...record.Holder) *Verdict {
		run := newProgram(400).healthy().grows(record.ColRSS, 500*mib, 16*kib, mib/20).
			grows(record.ColHostHeap, 100*mib, 16*kib, mib/20).run()
		for i := range holders {
			if holders[i].OverMs == 0 {
				holders[i].OverMs = 10_000
			}
		}
		run.Events = append(run.Events, record.Event{TMs: 16_000, Kind: record.KindHolders, Holders: holders})
		return Judge(run, Options{})
	}
	rows := record.Holder{Path: "list train.rows", Bytes: 9 * mib, Count: 60, Host: true, Filled: "/srv/app/train.py:12 step"}
	batch := record.Holder{Path: "list train.batches", Bytes: 9 * mib, Count: 60}
	v := judged(batch, rows)
	const want = "held by list train.rows, filled at app/train.py:12 in step, with 60 objects more"
	if v.Verdict != HostGrowth || !strings.Contains(v.Answer, want) || !strings.Contains(v.Next, "list train.rows") {
		t.Errorf("%q, then %q, want %q", v.Answer, v.Next, want)
	}
	if v := judged(batch); strings.Contains(v.Answer, "held by") {
		t.Errorf("what is on the device: %q", v.Answer)
	}
	// It is not what the program's live memory is held by.
	if v := held([]record.Holder{rows}, []record.Holder{rows}, []record.Holder{rows}); strings.Contains(v.Answer, "train.rows") ||
		named(v, "results-kept") {
		t.Errorf("of the device's growth: %q", v.Answer)
	}
}

// A graph that a look weighed by what the heap gained is a part of the growth until then:
// its rate tells the rest, and the list of its outputs is not charged with it again.
func TestAGraphOfTheHostIsWeighedByItsRate(t *testing.T) {
	t.Parallel()
	p := newProgram(800).grows(record.ColRSS, 50*mib, 16*kib, mib/4)
	run := p.run()
	const path = "deque main() local store.episodes"
	run.Events = append(run.Events, record.Event{TMs: 5000, Kind: record.KindHolders, Holders: []record.Holder{
		{Path: path, Graph: "Addmm outputs", Bytes: 15 * mib, Count: 1, OverMs: 3000},
		{Path: path, Bytes: 200 * kib, Count: 400, Length: 40, OverMs: 3000}}})
	v := Judge(run, Options{})
	if v.Verdict != HostGrowth || len(v.Causes) == 0 || v.Causes[0].ID != "uncut-autograd-graph" {
		t.Fatalf("%s: causes %+v", v.Answer, v.Causes)
	}
	if !strings.Contains(v.Answer, path+": autograd graph of Addmm outputs") {
		t.Error(v.Answer)
	}
}

func TestAHolderExplainsWhatTheHeapDoesNotKeepFree(t *testing.T) {
	t.Parallel()
	for free, want := range map[float64]bool{1.6 * mib: true, .1 * mib: false} {
		p := onProcessor(400, 10, 0).set(record.ColHostHeapFree, func(i int) float64 {
			if i%10 != 0 {
				return math.NaN()
			}
			return free * float64(i)
		})
		p.events = append(p.events, record.Event{TMs: 16_000, Kind: record.KindHolders, Holders: []record.Holder{
			{Path: "list train.losses", Bytes: 100 * mib, Count: 100, OverMs: 10_000}}})
		v := p.judge()
		if v.Verdict != HostGrowth || strings.Contains(v.Answer, "held by list train.losses") != want {
			t.Errorf("%.1f MiB more free a row: %s", free/mib, v.Answer)
		}
	}
}

func TestAListWhoseObjectsAreKnownByTheirClassAsWellIsNamedItself(t *testing.T) {
	t.Parallel()
	class := record.Holder{Path: "LogRecord objects below main() local page.records", Bytes: 30 * mib, Count: 117,
		Length: 117, OverMs: 10_000, Filled: "/srv/app/page.py:65 check"}
	list := record.Holder{Path: "list main() local page.records", Bytes: 20 * mib, Count: 178, Length: 178,
		OverMs: 12_000, Filled: "/srv/app/page.py:32 emit"}
	small, other := list, list
	small.Bytes, other.Path = 10*mib, "list main() local page.others"
	for name, c := range map[string]struct {
		beside record.Holder
		named  string
	}{
		"most of it":     {list, "held by list main() local page.records, filled at app/page.py:32 in emit"},
		"a third of it":  {small, "held by LogRecord objects below main() local page.records"},
		"another's list": {other, "held by LogRecord objects below main() local page.records"},
	} {
		run := newProgram(400).grows(record.ColRSS, 50*mib, 16*kib, mib/10).run()
		run.Events = append(run.Events, record.Event{TMs: 19_000, Kind: record.KindHolders,
			Holders: []record.Holder{class, c.beside}})
		if v := Judge(run, Options{}); !strings.Contains(v.Answer, c.named) {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

// When the program's functions have ended, its objects are told by their class.
func TestAContainerThatHadTheObjectsBeforeTheEndIsNamedItself(t *testing.T) {
	t.Parallel()
	list := record.Holder{Path: "list main() local report.failures", Bytes: 25 * mib, Count: 110, Length: 112, Gone: true,
		OverMs: 12_000, Filled: "/srv/app/page.py:32 check"}
	little, shorter := list, list
	little.Bytes, shorter.Length = 8*mib, 60
	for name, c := range map[string]struct {
		had   record.Holder
		named string
	}{
		"most of it":    {list, "held by list main() local report.failures, filled at app/page.py:32 in check"},
		"a part of it":  {little, "held by PageError objects, made at app/page.py:65 in fail"},
		"a shorter one": {shorter, "held by PageError objects"},
	} {
		class := record.Holder{Path: "PageError objects", Bytes: 30 * mib, Count: 117, Filled: "/srv/app/page.py:65 fail"}
		run := newProgram(400).grows(record.ColRSS, 50*mib, 16*kib, mib/10).run()
		run.Events = append(run.Events, record.Event{TMs: 19_000, Kind: record.KindHolders,
			Holders: []record.Holder{class, c.had}})
		if v := Judge(run, Options{}); !strings.Contains(v.Answer, c.named) {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

func TestACycleIsToldWithTheObjectsThatItIsOf(t *testing.T) {
	t.Parallel()
	v := &Verdict{Causes: []Cause{{ID: cause.Cycle, Confidence: .9}}, Holders: []HolderRow{
		{Path: "Tensor (4, 512) cuda:0: a reference cycle or native code"},
		{Path: "Decoder objects: a reference cycle through .ring"}}}
	for text, want := range map[string]string{
		"185 tensors grow": " of Decoder objects through .ring",
		"Decoder objects: a reference cycle, made at a.py:3 in f, keep 3 MiB": "",
	} {
		if got := cycleOf(v, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	v.Causes = append(v.Causes, Cause{ID: cause.Results, Confidence: .9})
	if got := cycleOf(v, "185 tensors grow"); got != "" {
		t.Errorf("beside another cause: %q", got)
	}
}
