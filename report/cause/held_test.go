package cause

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// leak is an app-leak of 100 MiB that these holders keep.
func leak(holders ...record.Holder) *Case {
	c := &Case{Class: account.AppLeak, Confidence: 1, ByTrend: true, Size: 100 * mib, Holders: holders}
	c.Grows = &c.Live
	return c
}

func TestOutputsWhoseGraphKeepsMoreAreNoResults(t *testing.T) {
	t.Parallel()
	outputs := record.Holder{Path: "list train.traces", Graphs: true, Bytes: mib, Count: 6, Length: 6}
	graph := record.Holder{Path: "list train.traces", Graph: "Add outputs", Bytes: 80 * mib, Count: 1}
	c := leak(outputs, graph)
	c.Gains = map[string]float64{outputs.Path: 90 * mib}
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Graph}) {
		t.Errorf("with their graph: %v", got)
	}
	c.Holders = []record.Holder{outputs}
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Results}) {
		t.Errorf("alone: %v", got)
	}
}

func TestWhatHoldsTheGrowthNamesItsCause(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"gradient of a Parameter":                                          Gradients,
		"OrderedDict train.model._forward_hooks[…] closure kept":           Hooks,
		"list train.optimizer.param_groups":                                Groups,
		"list main() local runner.queue[…]['input']":                       Queues,
		"list train.failures[…].__traceback__ local out":                   Tracebacks,
		"list train.handler.buffer":                                        Logs,
		"list in list train.log.handlers[…].buffer":                        Logs,
		"list logging._handlerList":                                        Logs,
		"dict torch._dynamo.convert_frame.output_codes":                    Compiled,
		"deque serve() local inbox.queue":                                  Queues,
		"list serve() local futures":                                       Futures,
		"set main() local tasks":                                           Futures,
		"list main.server._tasks":                                          Futures,
		"Note objects below run() local task":                              Results,
		"Note objects below main() local future":                           Results,
		"Note objects below main.jobs.futures":                             Futures,
		"deque main() local scenes._items":                                 Queues,
		"set serve() local asked[…] → coroutine local photograph":          Futures,
		"dict main.jobs[…].future":                                         Futures,
		"tuple _bootstrap() local self.args[…].plan":                       Threads,
		"list _bootstrap() local self._args[…].results":                    Results,
		"list train.snapshots[…]['weight']":                                Snapshots,
		"dict serve.server.sessions":                                       Sessions,
		"list generate.sessions":                                           Sessions,
		"dict main.captions.clients":                                       Sessions,
		"deque main.server.lifetime._exit_callbacks":                       AtExit,
		"deque run() local closing._exit_callbacks[…][…].__self__.cube":    AtExit,
		"list main() local bus.listeners['tick.1'][…]":                     Callbacks,
		"list listen() local self.closing._callbacks[…][…].__self__.state": Callbacks,
		"list in list main() local trainer.callbacks[…].drives":            Results,
		"dict main.streamer.future_cache[…]._outputs":                      Futures,
		"lru_cache of train.encode":                                        Caches,
		"dict train.embedding_cache":                                       Caches,
		"dict star_frames.__warningregistry__":                             Caches,
		"dict weakref.finalize._registry":                                  AtExit,
		"StringIO train.log":                                               Buffers,
		"bytearray main() local received":                                  Buffers,
		"Pickler main() local pickler":                                     Memos,
		"Connection main() local db":                                       Databases,
		"dict sys.modules":                                                 Modules,
		"list train.history":                                               Results,
		"tuple main() local run.frames":                                    Results,
		"ModuleDict serve.model[…].up.lora_A[…].weight":                    Caches,
		"ModuleList train.model.stages":                                    Results,
		"cycle of tensors and their gradients with graphs":                 Cycle,
	} {
		got := Of(leak(record.Holder{Path: path, Bytes: 90 * mib, Count: 900}))
		if !slices.Equal(idsOf(got), []string{want}) {
			t.Errorf("%s: %v, not %s", path, idsOf(got), want)
			continue
		}
		c := got[0]
		if len(c.Change) != 2 || !strings.HasPrefix(c.Change[0], "- ") || !strings.HasPrefix(c.Change[1], "+ ") ||
			c.Next == "" || c.Share == nil || *c.Share != .9 {
			t.Errorf("%s: %+v", path, c)
		}
	}
}

func TestHoldersOfLittleOrWithABoundAreNoCause(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]record.Holder{
		"a tenth of it": {Path: "list train.history", Bytes: 10 * mib, Count: 100},
		"with a bound":  {Path: "deque train.history", Bytes: 90 * mib, Count: 900, Bound: 1000},
		"one array":     {Path: "train.model.weight", Bytes: 90 * mib, Count: 1},
	} {
		if got := Of(leak(h)); len(got) > 0 {
			t.Errorf("%s: %v", name, idsOf(got))
		}
	}
}

func TestTwoFaultsHaveACauseEachWithItsShare(t *testing.T) {
	t.Parallel()
	got := Of(leak(record.Holder{Path: "list train.snapshots", Bytes: 55 * mib, Count: 5},
		record.Holder{Path: "OrderedDict model._forward_hooks", Bytes: 45 * mib, Count: 45}))
	if ids := idsOf(got); !slices.Equal(ids, []string{Snapshots, Hooks}) || *got[0].Share != .55 || *got[1].Share != .45 {
		t.Errorf("%v: %+v", ids, got)
	}
}

func TestACacheGetsABoundAsItIsMade(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"lru_cache of train.encode":                      "functools.lru_cache(maxsize=128)",
		"list in lru_cache train.encode[…][…]":           "functools.lru_cache(maxsize=128)",
		"OrderedDict main() local scorer.captured_cache": "drop_oldest(cache, most=128)",
	} {
		got := Of(leak(record.Holder{Path: path, Bytes: 90 * mib, Count: 90}))
		if len(got) != 1 || got[0].ID != Caches || !strings.Contains(got[0].Change[1], want) {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestThreadsThatHaveEndedAreDropped(t *testing.T) {
	t.Parallel()
	got := Of(leak(record.Holder{Path: "list main() local saver.writers", Kind: threadsEnded, Bytes: 90 * mib, Count: 90}))
	if len(got) != 1 || got[0].ID != Threads || !strings.Contains(got[0].Next, "when it has ended") {
		t.Errorf("%+v", got)
	}
}

func TestTasksThatHaveNotEndedAreBegunLessOften(t *testing.T) {
	t.Parallel()
	const path = "set serve() local asked[…] → coroutine local photograph"
	got := Of(leak(record.Holder{Path: path, Kind: Futures, Bytes: 90 * mib, Count: 90}))
	if len(got) != 1 || got[0].ID != Futures || !strings.Contains(got[0].Next, "what these tasks wait for") {
		t.Errorf("%+v", got)
	}
}

func TestWorkThatWaitsForAnExecutorIsBoundedAsItIsHandedOut(t *testing.T) {
	t.Parallel()
	for _, h := range []record.Holder{
		{Path: "main() local archive.pool", Kind: "unbounded-queue/executor", Bytes: 90 * mib, Count: 90},
		{Path: "archive.pool._work_queue", Bytes: 90 * mib, Count: 90},
	} {
		got := Of(leak(h))
		if len(got) != 1 || got[0].ID != Queues || !strings.Contains(got[0].Change[1], "Semaphore") {
			t.Errorf("%s: %+v", h.Path, got)
		}
	}
}

func TestACycleIsBegunAnew(t *testing.T) {
	t.Parallel()
	for _, h := range []record.Holder{
		{Path: "main() local batches", Kind: "results-kept/cycle", Bytes: 90 * mib, Count: 90},
		{Path: "itertools.cycle of batches", Bytes: 90 * mib, Count: 90},
	} {
		got := Of(leak(h))
		if len(got) != 1 || got[0].ID != Results || !strings.Contains(got[0].Change[1], "itertools.count()") {
			t.Errorf("%s: %+v", h.Path, got)
		}
	}
}

func TestAHolderIsNoGuessByTheNumberOfHandles(t *testing.T) {
	t.Parallel()
	c := leak(record.Holder{Path: "list train.history", Bytes: 90 * mib, Count: 90000})
	c.Count.Known, c.Count.Shape, c.Count.Rate, c.Count.Span = true, "growing", 90000, 1
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Results}) {
		t.Errorf("%v", got)
	}
}

func TestAHolderCountsWithWhatItGainedOverTheWholeWindow(t *testing.T) {
	t.Parallel()
	c := leak(record.Holder{Path: "list train.history", Bytes: 30 * mib, Count: 30})
	if got := idsOf(Of(c)); len(got) > 0 {
		t.Errorf("of a part of the window: %v", got)
	}
	c.Gains = map[string]float64{"list train.history": 97 * mib}
	if got := Of(c); !slices.Equal(idsOf(got), []string{Results}) || *got[0].Share != .97 {
		t.Errorf("by its rate: %+v", got)
	}
}

func TestHostMemoryOfTicketsHasItsCause(t *testing.T) {
	t.Parallel()
	host := func(holders ...record.Holder) *Case {
		c := leak(holders...)
		c.Class, c.Grows = account.HostGrowth, &c.Host
		c.Meta.Versions = map[string]string{"python": "3.11.2"}
		return c
	}
	for want, h := range map[string]record.Holder{
		Loggers:           {Path: "dict server.root.manager.loggerDict", Bytes: 90 * mib, Count: 900},
		Callbacks:         {Path: "list main() local coordinator.shutdown._callbacks", Bytes: 90 * mib, Count: 900},
		Hooks:             {Path: "OrderedDict train.net._forward_hooks", Bytes: 90 * mib, Count: 900, Kind: Callbacks},
		Buffers:           {Path: "StringIO in list page.parts[…].text", Bytes: 90 * mib, Count: 9},
		Timers:            {Path: "list run_until_complete() local self._scheduled", Bytes: 90 * mib, Count: 900},
		Queues:            {Path: "deque main() local stream.events._queue", Bytes: 90 * mib, Count: 900},
		Queues + "/many":  {Path: "set main() local hub.queues[…]._queue[…]", Bytes: 90 * mib, Count: 900},
		Queues + "/tee":   {Path: "tee main() local course.for_report[…]", Bytes: 90 * mib, Count: 900},
		Queues + "/tees":  {Path: "tee in list main() local branches", Bytes: 90 * mib, Count: 900},
		Queues + "/links": {Path: "_tee_dataobject objects below main() local feed", Bytes: 90 * mib, Count: 900},
		Futures:           {Path: "list crawl() local jobs", Bytes: 90 * mib, Count: 900, Kind: Futures},
		Tracebacks: {Path: "list train.failures", Bytes: 90 * mib, Count: 9, Graph: "Addmm outputs",
			Kind: Tracebacks},
		Graph:    {Path: "list train.losses", Bytes: 90 * mib, Count: 9, Graph: "Addmm outputs"},
		Cycle:    {Path: "Node objects: a reference cycle", Bytes: 90 * mib, Count: 900, Kind: Cycle},
		Outgrown: {Path: "train.kept", Bytes: 90 * mib, Count: 1},
		Results:  {Path: "list train.rows", Bytes: 90 * mib, Count: 900, Kind: "a kind of a later agent"},
	} {
		got := Of(host(h))
		if id, _, _ := strings.Cut(want, "/"); !slices.Equal(idsOf(got), []string{id}) {
			t.Errorf("%s: %v, not %s", h.Path, idsOf(got), want)
		} else if len(got[0].Change) != 2 || got[0].Next == "" {
			t.Errorf("%s: %+v", h.Path, got[0])
		}
	}
	table := record.Holder{Path: "main() local feed.history", Bytes: 90 * mib, Count: 4}
	if got := Of(host(table)); !slices.Equal(idsOf(got), []string{Outgrown}) {
		t.Errorf("a table of a few arrays: %v", idsOf(got))
	}
	table.Path = "list main() local feed.history"
	if got := Of(host(table)); !slices.Equal(idsOf(got), []string{Results}) {
		t.Errorf("a list of a few arrays: %v", idsOf(got))
	}
	for want, h := range map[string]record.Holder{
		Caches: {Path: "Crosses main() local features.crosses", Bytes: 90 * mib, Count: 900,
			Filled: "/src/clicks.py:32 __missing__"},
		Results: {Path: "recipes.spans", Bytes: 90 * mib, Count: 900, Filled: "/src/recipes.py:24"},
	} {
		if got := Of(host(h)); !slices.Equal(idsOf(got), []string{want}) {
			t.Errorf("what has a type of the program's, or none, in its name, %s: %v", h.Path, idsOf(got))
		}
	}
	rows := record.Holder{Path: "list train.rows", Bytes: 90 * mib, Count: 900}
	if got := Of(host(rows)); strings.Contains(got[0].Change[0], "loss") {
		t.Errorf("a program without arrays: %+v", got[0])
	}
	views := record.Holder{Path: "list train.rows", Bytes: 90 * mib, Count: 900, ShownPart: .02}
	if got := Of(host(views)); !strings.Contains(got[0].Evidence[1], "show 1.80 MiB of the 90.0 MiB") ||
		!strings.Contains(got[0].Next, "keep copies of the parts") {
		t.Errorf("views: %+v", got[0])
	}
	open := record.Holder{Path: "dict passenger() local writer.open", Bytes: 90 * mib, Count: 900,
		Kind: Entries}
	if got := Of(leak(open)); !slices.Equal(idsOf(got), []string{Entries}) ||
		!strings.Contains(got[0].Next, "on every path") {
		t.Errorf("entries of a register: %+v", got)
	}
	open.Kind = entriesAskedFor
	if got := Of(leak(open)); !slices.Equal(idsOf(got), []string{Entries}) ||
		!strings.Contains(got[0].Next, "is done, given up or gone") {
		t.Errorf("entries that are found again: %+v", got)
	}
	named := open
	named.Path = "dict main() local service.sessions"
	if got := Of(leak(named)); !slices.Equal(idsOf(got), []string{Sessions}) {
		t.Errorf("a name says more: %+v", got)
	}
	window := record.Holder{Path: "deque main() local history.rows", Bytes: 90 * mib, Count: 900, Kind: boundUnreached}
	if got := Of(leak(window)); !slices.Equal(idsOf(got), []string{Buffers}) ||
		!strings.Contains(got[0].Next, "is not reached") {
		t.Errorf("a window that is never moved on: %+v", got)
	}
	open.Kind = entriesOfObjects
	if got := Of(host(open)); !slices.Equal(idsOf(got), []string{Entries}) ||
		!strings.Contains(got[0].Next, "WeakKeyDictionary") {
		t.Errorf("entries by object: %+v", got)
	}
	splats := record.Holder{Path: "defaultdict main() local optimizer.state", Bytes: 90 * mib, Count: 900}
	if got := Of(leak(splats)); !slices.Equal(idsOf(got), []string{Groups}) {
		t.Errorf("an optimizer's state: %+v", got)
	}
	splats.Kind = replacedStates
	if got := Of(leak(splats)); !slices.Equal(idsOf(got), []string{Entries}) ||
		!strings.Contains(got[0].Next, "when the parameter is replaced") {
		t.Errorf("the state of replaced parameters: %+v", got)
	}
	pollers := record.Holder{Path: "Poller objects", Bytes: 90 * mib, Count: 900, Kind: Threads}
	if got := Of(host(pollers)); !slices.Equal(idsOf(got), []string{Threads}) {
		t.Errorf("threads: %v", idsOf(got))
	}
	feeds := record.Holder{Path: "Feed objects", Bytes: 90 * mib, Count: 90}
	slots := record.Holder{Path: "pull() local self.slots", Bytes: 60 * mib, Count: 60, Kind: Threads}
	if got := Of(host(feeds, slots)); !slices.Equal(idsOf(got), []string{Threads}) {
		t.Errorf("variables of threads: %v", idsOf(got))
	}
	slots.Kind = ""
	if got := Of(host(feeds, slots)); !slices.Equal(idsOf(got), []string{Results}) {
		t.Errorf("variables of a function: %v", idsOf(got))
	}
	nodes := record.Holder{Path: "Node objects below words.index.root", Bytes: 90 * mib, Count: 900}
	if got := Of(host(nodes)); !slices.Equal(idsOf(got), []string{Results}) {
		t.Errorf("objects of a class: %v", idsOf(got))
	}
	if got := Of(leak(rows)); !strings.Contains(got[0].Change[0], "loss") {
		t.Errorf("a program with arrays: %+v", got[0])
	}
}

func TestGradientsWhoseGraphsLeadBackAreACycleAndNotToBeZeroed(t *testing.T) {
	t.Parallel()
	const path = "cycle of tensors and their gradients with graphs"
	got := Of(leak(record.Holder{Path: path, Bytes: 60 * mib, Count: 480},
		record.Holder{Path: path, Graph: "Copy outputs", Bytes: 30 * mib, Count: 9}))
	if !slices.Equal(idsOf(got), []string{Cycle}) || !strings.Contains(got[0].Next, "torch.autograd.grad") ||
		*got[0].Share != .9 {
		t.Errorf("%+v", got)
	}
	hidden := record.Holder{Path: "w1 of w2", Kind: HeldKind(&record.Holder{Path: path}), Bytes: 90 * mib, Count: 9}
	if got := Of(leak(hidden)); !slices.Equal(idsOf(got), []string{Cycle}) {
		t.Errorf("of a copy without its words: %+v", got)
	}
	nameless := record.Holder{Path: "Tensor (6, 36, 36): a reference cycle or native code", Bytes: 20 * mib,
		Count: 2000}
	for count, want := range map[int64][]string{600: {Cycle}, 60: {}} {
		small := record.Holder{Path: path, Bytes: 190 * kib, Count: count,
			Filled: "/app/fit.py:48 improve; /app/fit.py:9 go"}
		got := Of(leak(small, nameless))
		if ids := idsOf(got); !slices.Equal(ids, want) || len(got) > 0 && got[0].Site != "/app/fit.py:48 improve" {
			t.Errorf("%d small tensors: %+v", count, got)
		}
	}
	named := record.Holder{Path: "list fit.kept", Bytes: 80 * mib, Count: 80}
	got = Of(leak(record.Holder{Path: path, Bytes: 190 * kib, Count: 600}, named))
	if !slices.Equal(idsOf(got), []string{Results}) {
		t.Errorf("beside a list that explains the growth: %+v", got)
	}
}

func TestAHolderOfSomethingElseIsNoCause(t *testing.T) {
	t.Parallel()
	// One object of it is larger than all that came: it was exchanged, not added to.
	c := leak(record.Holder{Path: "defaultdict train.optimizer.state", Bytes: 300 * mib, Count: 2})
	if got := Of(c); len(got) != 0 {
		t.Errorf("an object larger than the growth: %v", idsOf(got))
	}
	// Arrays of a device are none of the host's bytes.
	for host, want := range map[bool]int{false: 0, true: 1} {
		c = leak(record.Holder{Path: "list train.history", Bytes: 90 * mib, Count: 900, Host: host})
		c.Class, c.Live.Whole, c.Grows = account.HostGrowth, []float64{mib, mib}, &c.Host
		if got := Of(c); len(got) != want {
			t.Errorf("beside a device, of the host %v: %v", host, idsOf(got))
		}
	}
}

func TestHooksWhoseOutputsHaveGraphsAreHooks(t *testing.T) {
	t.Parallel()
	hooks := "OrderedDict main() local model.layer3._forward_hooks"
	outputs := record.Holder{Path: hooks + "[…] closure kept[…]", Bytes: 20 * mib, Count: 40, Graphs: true}
	graph := record.Holder{Path: hooks, Graph: "Relu outputs", Bytes: 70 * mib, Count: 1}
	got := Of(leak(outputs, graph))
	if len(got) == 0 || got[0].ID != Hooks {
		t.Errorf("many hooks: %v", idsOf(got))
	}
	outputs.Path, graph.Path = "list main() local seen", "list main() local seen" // that one hook fills
	if got := Of(leak(outputs, graph)); len(got) == 0 || got[0].ID != Graph {
		t.Errorf("a list: %v", idsOf(got))
	}
}

func TestWhatObjectsOfACycleReferToIsOfTheCycle(t *testing.T) {
	t.Parallel()
	nodes := record.Holder{Path: "Node objects: a reference cycle", Kind: Cycle, Bytes: 15 * mib, Count: 400}
	arrays := record.Holder{Path: "Tensor (4, 16): a reference cycle or native code", Bytes: 80 * mib, Count: 900}
	if got := Of(leak(arrays, nodes)); len(got) == 0 || got[0].ID != Cycle {
		t.Errorf("with arrays that no name leads to: %v", idsOf(got))
	}
	if got := Of(leak(nodes)); len(got) > 0 && got[0].ID == Cycle {
		t.Errorf("a sixth of what grew: %v", idsOf(got))
	}
	tree := record.Holder{Path: "Node objects below best() local leaf", Bytes: 90 * mib, Count: 900, Gone: true}
	nodes.Bytes, nodes.Filled, tree.Filled = 40*mib, "/a/tree.py:37 add", "/a/tree.py:37 add"
	if got := Of(leak(tree, nodes)); !slices.Equal(idsOf(got), []string{Cycle}) {
		t.Errorf("with a variable that had some of them at a look: %v", idsOf(got))
	}
	tree.Gone = false
	if got := Of(leak(tree, nodes)); !slices.Contains(idsOf(got), Results) {
		t.Errorf("with a variable that has some of them at the end: %v", idsOf(got))
	}
}

// When the program's functions have ended, no name leads to what their containers held.
func TestObjectsToWhichNoNameLeadsAtTheEndAreOfTheContainerThatHadThem(t *testing.T) {
	t.Parallel()
	boards := record.Holder{Path: "WaveBoard objects", Bytes: 80 * mib, Count: 24, Length: 24}
	listeners := record.Holder{Path: "list main() local desk.followers[…].table", Kind: Callbacks, Gone: true,
		Bytes: 35 * mib, Count: 10, Length: 25, OverMs: 20000}
	c := leak(boards, listeners)
	c.Gains = map[string]float64{listeners.Path: 30 * mib}
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Callbacks}) {
		t.Errorf("with a container of as many: %v", got)
	}
	c.Holders[0].Count = 60
	if got := idsOf(Of(c)); !slices.Contains(got, Results) {
		t.Errorf("with one of fewer: %v", got)
	}
	boxes := record.Holder{Path: "list main() local desk.boxes[…].base", Gone: true, Bytes: 2 * mib,
		Count: 4, Length: 60, OverMs: 20000}
	timers := record.Holder{Path: "list main() local clock._queue[…][…]", Kind: Timers, Gone: true, Bytes: 60 * mib,
		Count: 10, Length: 200, OverMs: 20000}
	c.Holders = []record.Holder{c.Holders[0], boxes, timers}
	c.Gains = map[string]float64{boxes.Path: mib, timers.Path: 50 * mib}
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Timers}) {
		t.Errorf("with one that had not grown: %v", got)
	}
}
