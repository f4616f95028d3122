package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// held is the verdict on a program whose live memory grows by 1 MiB a second, 20 MiB in
// all, with what was found by looks at 4, 6, 10 and 18 s and, at last, at the end. Each is
// about what came since the one before.
func held(looks ...[]record.Holder) *Verdict {
	run := growingLive()
	for i, holders := range looks {
		e := record.Event{TMs: 20_000, Kind: record.KindHolders}
		for _, h := range holders {
			if i < len(looks)-1 {
				e.TMs = 2000 + 1000*float64(int(2)<<i)
				h.OverMs = 1000 * float64(int(1)<<i)
			}
			e.Holders = append(e.Holders, h)
		}
		run.Events = append(run.Events, e)
	}
	return Judge(run, Options{})
}

// growingLive is a run of 20 s whose live memory grows by 1 MiB a second.
func growingLive() *record.Run {
	return newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, mib/20).
		set(record.ColGPU, func(i int) float64 { return 700*mib + float64(i)*mib/20 }).run()
}

func TestACacheThatFillsMoreSlowlyIsNamedAtTheRateOfItsLastLook(t *testing.T) {
	t.Parallel()
	var looks [][]record.Holder
	for i, bytes := range [...]int64{1, 5, 6, 8, 3} { // MiB in 1, 2, 4 and 8 s, and by the end
		looks = append(looks, []record.Holder{{Path: "dict serve.Encoder.sizes_cache", Bytes: bytes * mib,
			Count: 4 * bytes, Length: int64(10 * (i + 1)), Filled: "/srv/app/serve.py:36 embed"}})
	}
	v := held(looks...)
	const want = "dict serve.Encoder.sizes_cache, filled at app/serve.py:36 in embed, keeps about "
	if v.Verdict != AppLeak || !strings.Contains(v.Answer, want) ||
		!strings.Contains(v.Answer, "cache without bound") {
		t.Errorf("%s: %q, want %q in it", v.Verdict, v.Answer, want)
	}
	// One that the last look no longer found has stopped to grow.
	looks[3] = []record.Holder{{Path: "list serve.other", Bytes: 9 * kib, Count: 9}}
	if v := held(looks...); strings.Contains(v.Answer, "sizes_cache") {
		t.Errorf("of a cache that is full: %q", v.Answer)
	}
}

func TestHoldersThatGrewAlikeAreNamedTogether(t *testing.T) {
	t.Parallel()
	some := func(each int64, paths ...string) []record.Holder {
		var out []record.Holder
		for _, path := range paths {
			out = append(out, record.Holder{Path: path, Bytes: each, Count: 8, Filled: "/srv/app/serve.py:41 load"})
		}
		return out
	}
	v := held(some(5*mib, "ModuleDict serve.model.lora_A", "ModuleDict serve.model.lora_B", "dict serve.a"))
	const want = "ModuleDict serve.model.lora_A, filled at app/serve.py:41 in load, and 2 others keep 15.0 MiB in 24"
	if !strings.Contains(v.Answer, want) || !strings.Contains(v.Next, "serve.model.lora_A") {
		t.Errorf("%q, then %q, want %q", v.Answer, v.Next, want)
	}
	for what, holders := range map[string][]record.Holder{
		"crumbs":            some(2*mib, "list a.a", "list a.b", "list a.c", "list a.d", "list a.e", "list a.f"),
		"too little of all": some(4*mib, "list a.a", "list a.b"),
		"nameless":          some(5*mib, "Parameter (2, 2): not found in time", "Parameter (4, 2): not found in time"),
	} {
		claim, _, _ := strings.Cut(held(holders).Answer, "; the largest holder that was found")
		if strings.Contains(claim, "keep") {
			t.Errorf("%s: %q", what, claim)
		}
	}
}

func TestTheLargestOfHostHoldersThatGrewAlikeIsNamed(t *testing.T) {
	t.Parallel()
	of := func(mib4 int64, paths ...string) []record.Holder {
		var out []record.Holder
		for _, path := range paths {
			out = append(out, record.Holder{Path: path, Bytes: mib4 * mib / 4, Count: 60})
		}
		return out
	}
	v := hosting(of(11, "ModuleDict serve.model.lora_A", "ModuleDict serve.model.lora_B", "list serve.c")...)
	if !strings.Contains(v.Answer, "held by ModuleDict serve.model.lora_A") {
		t.Errorf("three with a quarter each: %q", v.Answer)
	}
	for what, holders := range map[string][]record.Holder{
		"two with a quarter": of(9, "list a.a", "list a.b"),
		"crumbs":             of(6, "list a.a", "list a.b", "list a.c", "list a.d", "list a.e", "list a.f"),
	} {
		if v := hosting(holders...); strings.Contains(v.Answer, "held by") {
			t.Errorf("%s: %q", what, v.Answer)
		}
	}
}

func TestAContainerOfAnExtensionsObjectsHasMoreThanIsSeen(t *testing.T) {
	t.Parallel()
	of := func(eighths int64, unseen string) []record.Holder {
		return []record.Holder{
			{Path: "dict main() local unmix.sessions", Bytes: eighths * mib / 8, Count: 60, Length: 80},
			{Path: "InferenceSession objects below " + unseen, Count: 58, Length: 80},
		}
	}
	const path = "main() local unmix.sessions"
	if v := hosting(of(22, path)...); !strings.Contains(v.Answer, "held by dict "+path) {
		t.Errorf("a quarter is seen: %q", v.Answer)
	}
	if v := hosting(of(8, path)...); strings.Contains(v.Answer, "held by") {
		t.Errorf("a tenth is seen: %q", v.Answer)
	}
	if v := hosting(of(22, "main() local other")...); strings.Contains(v.Answer, "held by") {
		t.Errorf("the extension's are elsewhere: %q", v.Answer)
	}
}

func TestAHolderOfTheEndIsNamedForObjectsThatNoNameLedTo(t *testing.T) {
	t.Parallel()
	of := func(bytes int64) []record.Holder {
		return []record.Holder{
			{Path: "jax._src.interpreters.partial_eval.trace_to_jaxpr", Bytes: bytes * mib, Count: 80,
				Filled: "/srv/app/surge.py:37 __init__"},
			{Path: "Basin objects", Bytes: 9 * mib, Count: 40, Gone: true, OverMs: 20_000,
				Filled: "/srv/app/surge.py:67 survey"},
		}
	}
	if v := held(of(19)); !strings.Contains(v.Answer, "trace_to_jaxpr") || strings.Contains(v.Answer, "results kept") {
		t.Errorf("%s", v.Answer)
	}
	if v := held(of(5)); strings.Contains(v.Answer, "trace_to_jaxpr keeps") {
		t.Errorf("a quarter of it: %s", v.Answer)
	}
}

func TestACycleThatNothingNamesIsToldWithTheLineThatMakesIt(t *testing.T) {
	t.Parallel()
	of := func(bytes int64) []record.Holder {
		return []record.Holder{{Path: "cycle of tensors and their gradients with graphs", Bytes: bytes * mib, Count: 80,
			Filled: "/srv/app/meta.py:34 adapt"}}
	}
	const at = "app/meta.py:34 in adapt"
	if v := held(of(6)); !strings.Contains(v.Answer, "; cause: reference cycle, made at "+at) ||
		!strings.HasPrefix(v.Next, "at "+at+": take the gradients from torch.autograd.grad") {
		t.Errorf("a third of it: %q, then %q", v.Answer, v.Next)
	}
	if v := held(of(18)); !strings.Contains(v.Answer, "gradients with graphs, filled at "+at) ||
		strings.Contains(v.Answer, "made at") || !strings.Contains(v.Answer, "; cause: reference cycle.") {
		t.Errorf("nearly all of it: %q", v.Answer)
	}
	if v := held(of(2)); strings.Contains(v.Answer, "cycle") {
		t.Errorf("a tenth of it: %q", v.Answer)
	}
}

func TestACycleOfAClassIsMadeWhereItsObjectsAreAndThatIsThePlaceToChange(t *testing.T) {
	t.Parallel()
	for through, where := range map[string]string{
		"": "", " through .next": " at .next", " through .children and .parent": " at one of .children and .parent",
	} {
		v := hosting(record.Holder{Path: "Node objects: a reference cycle" + through, Bytes: 40 * mib, Count: 400,
			OverMs: 10000,
			Kind:   "reference-cycle", Filled: "/srv/app/graph.py:34 link"})
		const at = "app/graph.py:34 in link"
		if !strings.Contains(v.Answer, "Node objects: a reference cycle"+through+", made at "+at) ||
			!strings.Contains(v.Answer, "; cause: reference cycle.") ||
			!strings.HasPrefix(v.Next, "at "+at+": break the cycle with a weak reference"+where+", or ") {
			t.Errorf("%q, then %q", v.Answer, v.Next)
		}
	}
}

func TestArraysThatNoNameLeadsToAreToldAsSuch(t *testing.T) {
	t.Parallel()
	lost := record.Holder{Path: "Tensor (8, 24) torch.float16 cuda:0: a reference cycle or native code",
		Bytes: 14 * mib, Count: 81}
	v := held([]record.Holder{lost})
	const want = "a reference cycle or native code keeps 14.0 MiB in 81 objects like Tensor (8, 24) torch.float16 cuda:0, "
	if !strings.Contains(v.Answer, want) || !strings.HasPrefix(v.Next, "no name of the program leads there: look for") {
		t.Errorf("%q, then %q; want %q", v.Answer, v.Next, want)
	}
	named := record.Holder{Path: "list train.history", Bytes: 11 * mib, Count: 60}
	if v := held([]record.Holder{lost, named}); !strings.Contains(v.Answer, "list train.history keeps 11.0 MiB") {
		t.Errorf("beside a name that explains most of it: %q", v.Answer)
	}
}

func TestWhatAFunctionHeldIsNamedByOneLookThatSawAsMuchComeAsCame(t *testing.T) {
	t.Parallel()
	judged := func(h record.Holder) *Verdict {
		run := growingLive()
		look, gone := h, h
		gone.Gone = true
		run.Events = append(run.Events,
			record.Event{TMs: 12000, Kind: record.KindHolders, Holders: []record.Holder{look}},
			record.Event{TMs: 20000, Kind: record.KindHolders, Holders: []record.Holder{gone}})
		return Judge(run, Options{})
	}
	list := record.Holder{Path: "list train() local history", Bytes: 4 * mib, Count: 40, OverMs: 4000,
		Filled: "/srv/app/train.py:40 train"}
	v := judged(list)
	const want = "list train() local history, filled at app/train.py:40 in train, keeps about "
	if !strings.Contains(v.Answer, want) || !strings.HasSuffix(v.Answer, "cause: results kept.") {
		t.Errorf("%q, want %q in it", v.Answer, want)
	}
	list.Count = 10 // few, and just what came to live in that time
	if v := judged(list); !strings.Contains(v.Answer, want) {
		t.Errorf("ten arrays: %q, want %q in it", v.Answer, want)
	}
	list.Count = 40
	graph := record.Holder{Path: "train() local total", Graph: "Add outputs", Bytes: 11 * mib, Count: 1}
	if v := judged(graph); !strings.Contains(v.Answer, "train() local total: autograd graph of Add outputs") ||
		!strings.Contains(v.Answer, "cause: uncut autograd graph") {
		t.Errorf("a graph: %q", v.Answer)
	}
	for what, change := range map[string]func(h *record.Holder){
		"a third of what came":  func(h *record.Holder) { h.Bytes /= 3 },
		"twice what came":       func(h *record.Holder) { h.Bytes *= 2 },
		"a moment's few arrays": func(h *record.Holder) { h.Count = 3 },
	} {
		other := list
		change(&other)
		if v := judged(other); strings.Contains(v.Answer, "history") {
			t.Errorf("%s: %q", what, v.Answer)
		}
	}
}

func TestTheHolderOfMostOfTheNewHandlesIsNamed(t *testing.T) {
	t.Parallel()
	// Two handles more in each row, with 512 bytes each or none.
	run := func(bytes float64, h record.Holder) *Verdict {
		r := newProgram(400).healthy().grows(record.ColLiveCount, 40, 0, 2).
			grows(record.ColLive, 60*mib, 0, 2*bytes).grows(record.ColGPU, 700*mib, 0, 2*bytes).run()
		h.Filled = "/srv/app/train.py:64 train"
		r.Events = append(r.Events, record.Event{TMs: 12000, Kind: record.KindHolders, Holders: []record.Holder{h}})
		return Judge(r, Options{})
	}
	const want = "list train() local kept, filled at app/train.py:64 in train"
	most := record.Holder{Path: "list train() local kept", Bytes: 640, Count: 160, OverMs: 4000}
	for what, v := range map[string]*Verdict{"a number": run(0, most), "crumbs": run(1000, most)} {
		if v.Verdict != AppLeak || !strings.Contains(v.Answer, " are in "+want) || !strings.Contains(v.Next, want) {
			t.Errorf("%s: %q, then %q", what, v.Answer, v.Next)
		}
	}
	few := most
	few.Count = 40
	for what, v := range map[string]*Verdict{"few of them": run(0, few), "large ones": run(64*kib, most)} {
		if strings.Contains(v.Answer, "kept") {
			t.Errorf("%s: %q", what, v.Answer)
		}
	}
}
