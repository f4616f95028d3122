package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// leastHeld is the part of a growth that holders of one kind must keep to be its cause.
const leastHeld = .4

// leastBeside is the part that they must keep where holders of other kinds keep more: a
// program may have two faults.
const leastBeside = .15

// inNumberAlone is how sure a cause is of which the bytes tell nothing, beside the class.
const inNumberAlone = .75

// heldMatters is the part of a growth from which a holder counts at all.
const heldMatters = .01

// held is a signature in the paths of the holders that keep a growth.
type held struct {
	id     string // the cause, and what tells it from others of that cause behind a slash
	path   string // regular expression that the path matches, without regard to case
	what   string // what these holders are, as the end of "… are held by …"
	next   string
	change [2]string // the line that is, and what it becomes
}

// heldSignatures are the signatures from the most particular to the most general: a
// holder belongs to the first one that its path matches.
func heldSignatures() []held {
	return append([]held{gradientsRefer(), statesOfReplaced()}, append([]held{
		{Gradients, `^gradient of a `, "gradients",
			"zero the gradients before each backward pass; a sparse one grows with every new row",
			[2]string{"loss.backward()", "optimizer.zero_grad(); loss.backward()"}},
		{Hooks, `_hooks\b`, "hooks",
			"remove each hook when it has done its work, or register it once",
			[2]string{"module.register_forward_hook(f)",
				"hook = module.register_forward_hook(f)  # once; hook.remove() when it is done"}},
		{Groups, `\bparam_groups\b|\boptim\w*\.(_?state)\b`, "an optimizer's groups or state",
			"take a group out of param_groups when what it was added for is done, with the optimizer's state for its " +
				"parameters, or make a new optimizer",
			[2]string{"optimizer.add_param_group({\"params\": new})",
				"optimizer.add_param_group({\"params\": new})  # when done: optimizer.param_groups.pop(); " +
					"del optimizer.state[old]"}},
		{Tracebacks, `\.__(traceback|context|cause)__`, "the frames of exceptions that are kept",
			"keep the message of an exception, not the exception: its traceback holds every variable of its frames",
			[2]string{"errors.append(error)", "errors.append(repr(error))"}},
		logsHeld(Logs+"/buffered", `handlers?\b.*\.(buffer|records)\b`),
		{Loggers, `\bloggerDict\b|\b_?log(s|g\w*)?\.(handlers|filters)\b`,
			"loggers, handlers or filters that the logging module never lets go",
			"name each logger once, and give it its handlers and filters once; what differs goes with the message",
			[2]string{"log = logging.getLogger(f\"request {id}\"); log.addHandler(handler)",
				"log = logging.LoggerAdapter(logging.getLogger(\"request\"), {\"id\": id})"}},
		{AtExit, `\bfinalize\b|\batexit\b|_exithandlers\b`, "callbacks registered for the program's end",
			"register a weak reference, or undo the registration when its work is done",
			[2]string{"atexit.register(f, array)", "atexit.register(f)  # finds what it needs by itself"}},
		{stackAtExit, `\b_exit_callbacks\b`, "callbacks of an exit stack that stays open",
			"close the stack when the work that it cleans up after is done: until then it keeps each callback, " +
				"and all that it would clean up",
			[2]string{"stack.callback(piece.close)", "with ExitStack() as stack: …  # a stack for each piece of work"}},
		// What an object among them has is its own, but for that of a bound method or a closure.
		{Callbacks, `\b_?(done_)?(callbacks|listeners|subscribers|observers)\b` +
			`((\[[^\]]*\]|[^.\[])*|.*\.__(self|closure|func|defaults|wrapped)__\b.*|.*\.(args|keywords)\b.*)$`,
			"callbacks of something that lives on",
			"take the callback back when its work is done",
			[2]string{"future.add_done_callback(f)",
				"future.add_done_callback(f); …; future.remove_done_callback(f)"}},
		{Timers, `\b_scheduled\b`, "timers that wait for their time",
			"cancel each timer when what it waits for is done: until its time it keeps all that it would call",
			[2]string{"loop.call_later(3600, session.expire)",
				"timer = loop.call_later(3600, session.expire); …; timer.cancel()"}},
		threadsHeld(),
		{threadsEnded, `^$`, "threads that have ended", // known by its kind alone
			"drop each thread when it has ended: it keeps what it was given, and what it made",
			[2]string{"writers.append(writer)", "writers = [w for w in writers if w.is_alive()] + [writer]"}},
		logsHeld(Logs, `\blogging\b|\bcaplog\b|\blog_?records?\b`),
	}, slices.Concat(heldByThemselves(), heldInCaches())...)...)
}

// logsHeld is a signature of the records of a log.
func logsHeld(id, path string) held {
	return held{id, path, "records of a log",
		"log numbers and text instead of arrays, and flush what is buffered",
		[2]string{"log.info(\"loss %s\", loss)", "log.info(\"loss %s\", loss.item())"}}
}

// statesOfReplaced is the signature of what an optimizer keeps for parameters that it no longer
// works on, as a scene of splats does that are split and made anew. The agent knows it by its kind.
func statesOfReplaced() held {
	return held{id: replacedStates, path: `^$`, what: "an optimizer's state for replaced parameters",
		next: "delete a parameter's state from the optimizer when the parameter is replaced: " +
			"the entry keeps the old parameter and its gradient",
		change: [2]string{"optimizer.state[new] = state", "del optimizer.state[old]; optimizer.state[new] = state"}}
}

// threadsHeld is the signature of threads.
func threadsHeld() held {
	// A thread's arguments are a tuple, which does not grow: what lies in them came with its thread.
	return held{id: Threads, path: `\bthreading\._active\b|^tuple _bootstrap\(\) local self\.`,
		what: "threads that do not end",
		next: "end each thread when its work is done, or let a pool of a fixed size do the work",
		change: [2]string{"threading.Thread(target=serve, args=(job,)).start()",
			"pool = ThreadPoolExecutor(8); …; pool.submit(serve, job)"}}
}

// entriesStay is the signature of objects that are found by their keys again, long after they are of use. The
// agent knows them by their kind, and a name says more.
func entriesStay() held {
	return held{id: entriesAskedFor, path: `^$`, what: "entries that stay when what they are for is done",
		next:   "take the entry out when what it is for is done, given up or gone",
		change: [2]string{"open[id] = Session(id)", "open[id] = Session(id); …; del open[id]  # when it ends"}}
}

// heldInCaches are the more general ones of them: caches, queues, results.
func heldInCaches() []held {
	return []held{
		{Compiled, `\b_dynamo\b|\binductor\b|\bpjit\b|\bjax\._src\b|\btriton\b|\bcode_cache\b|\bcompiled?_cache\b`,
			"a cache of compiled functions",
			"compile once, outside of the loop, with arguments instead of constants that change",
			[2]string{"jax.jit(lambda x: f(x, step))(x)", "g(x, step)  # with g = jax.jit(f), once"}},
		boundIsUnreached(),
		{Queues, `queue\.(queue|_queue)\b|\.queue(\[|$)|\bqueue\b.*\b_?queue\b|` +
			`\b(buffer|inbox|backlog|pending)\.queue\b|\._queue(\[…\])?$|\b_cache\[…\]\._items$|^deque .*\._items$`,
			"a queue without a bound",
			"give the queue a bound, so that whoever fills it waits for whoever empties it",
			[2]string{"queue.Queue()", "queue.Queue(maxsize=8)"}},
		workIsQueued(), tasksAreOpen(),
		// A single one is waited for: what it has are the variables of what runs.
		{Futures, `(\b|_)futures(\b|_)|\bfuture_|\b_?tasks$|\]\._?(future|task)$`,
			"futures or tasks that are kept",
			"drop each future once its result has been taken",
			[2]string{"futures.append(pool.submit(f, x))", "result = pool.submit(f, x).result()"}},
		{Snapshots, `snapshots?\b|state_dicts?\b|checkpoints?\b|\bema\b|\bbest_\w+|\bcopies\b`,
			"copies of a state",
			"keep the last snapshot, or the best, and write the others to a file",
			[2]string{"snapshots.append(copy.deepcopy(model.state_dict()))",
				"snapshot = copy.deepcopy(model.state_dict())"}},
		{entriesOfObjects, `^$`, "entries that keep the objects that they are for", // known by its kind alone
			"key them weakly, as weakref.WeakKeyDictionary does, or take each entry out when its object is done with",
			[2]string{"self.values = {}", "self.values = weakref.WeakKeyDictionary()"}},
		{Entries, `^$`, "entries that are taken out again on some paths only", // likewise
			"take the entry out on every path, also when its work fails, is given up or is cancelled",
			[2]string{"open[id] = state; work(); del open[id]",
				"open[id] = state; try: work(); finally: del open[id]"}},
		{Sessions, `(\b|_)(sessions|clients|connections)\b`, "sessions that stay open",
			"end a session that has not been used for a while, and limit how many there are at once",
			[2]string{"sessions[id] = Session(model)",
				"sessions[id] = Session(model); expire(sessions, idle=600, most=64)"}},
		{cachedFunctions, `^(\S+ in )?lru_cache `, "a cache without a bound", "give the cache a bound",
			[2]string{"functools.cache", "functools.lru_cache(maxsize=128)"}},
		{warningsShown, `\b__warningregistry__`, "the texts of warnings that were shown",
			"warn with the same text each time, or log it: Python remembers each text that differs",
			[2]string{"warnings.warn(f\"frame {n} is dark\")", "log.warning(\"frame %d is dark\", n)"}},
		{Caches, `cache|\bmemo\b|\bmemoiz`, "a cache without a bound", "give the cache a bound",
			[2]string{"cache[key] = value", "cache[key] = value; drop_oldest(cache, most=128)"}},
		{keptModules, `^(ModuleDict|ParameterDict) `, "modules that are kept by their names",
			"unload a module that has not been used for a while, and limit how many there are at once",
			[2]string{"model.adapters[name] = Adapter()",
				"model.adapters[name] = Adapter(); del model.adapters[oldest]"}},
		{cycleKeeps, `\bitertools\.cycle\b`, "an iterator of itertools.cycle",
			"begin the loader anew for each round: itertools.cycle keeps every element of the first",
			[2]string{"batches = itertools.cycle(loader)",
				"batches = (batch for _ in itertools.count() for batch in loader)"}},
		entriesStay(),
		{Results, `^(list|deque|dict|set|tuple|OrderedDict|defaultdict|ModuleList|ParameterList) |` +
			`^\S+ objects( below .*)?$`, "results that are kept",
			"bound it, or keep a number instead of each object where that is enough",
			[2]string{"history.append(loss)", "history.append(loss.item())"}},
	}
}

// heldRules are the rules by what holders' paths say. Each takes precedence over
// guesses by how many handles there are.
func heldRules() []Rule {
	all := heldSignatures()
	paths := make([]*regexp.Regexp, len(all))
	out := make([]Rule, len(all))
	for i := range all {
		paths[i] = regexp.MustCompile("(?i)" + all[i].path)
		out[i] = Rule{ID: all[i].id, Before: []string{graphByStep, cloneLeft, cloneWhenDrained, HandleLeak, driverHandles},
			Find: func(c *Case) *Cause { return heldBy(c, all, paths, i) }}
	}
	return out
}

// heldBy is the cause of one signature; nil where its holders keep too little.
func heldBy(c *Case, all []held, paths []*regexp.Regexp, one int) *Cause {
	s := &all[one]
	switch {
	case c.Class != account.AppLeak && c.Class != account.HostGrowth || c.Size <= 0:
		return nil
	case c.inThings():
		return heldInNumber(c, all, paths, s)
	}
	bytes, came, others, largest := heldOf(c, all, paths, s.id)
	if s.id == gradientGraphs && bytes < CyclePart*c.Size {
		return manyGradients(c, s, all, paths)
	}
	least, site := leastHeld, ""
	if came+others >= leastHeld*c.Size && came >= leastBeside*c.Size {
		least = leastBeside // one of several causes
	}
	if s.id == gradientGraphs { // their graphs keep more than is seen, and nothing of it has a name
		least = CyclePart
		site, _, _ = strings.Cut(largest.Filled, "; ")
	}
	if bytes < least*c.Size {
		return nil
	}
	bytes *= min(1, c.Size/(bytes+others)) // all kinds together hold no more than what grew
	share := bytes / c.Size
	next, change := s.next, s.change
	if s.id == Results && !c.hasArrays() {
		next = "bound it, write what it has to a file, or keep of each object only what is needed later"
		change = [2]string{"results.append(result)", "results.append(result.total)"}
	}
	seen := evidence("%s of what grew are held by %s: %s has %s in %s", units.Bytes(bytes),
		s.what, largest.Path, units.Bytes(largest.Bytes),
		units.Counted(largest.Count, "object", "objects"))
	if part := largest.ShownPart; part > 0 {
		seen = append(seen, fmt.Sprintf("these are views that show %s of the %s that they keep",
			units.Bytes(part*float64(largest.Bytes)), units.Bytes(largest.Bytes)))
		next += "; and keep copies of the parts that are needed: a view keeps the whole array that it is of"
	}
	id, _, _ := strings.Cut(s.id, "/")
	confidence := (.5 + .4*share) * c.Confidence
	if saysLittle(s.id) && pinned(c) != nil {
		confidence = min(confidence, .8*c.Confidence)
	}
	return &Cause{ID: id, Confidence: confidence, Share: &share, Evidence: seen,
		Next: next, Change: []string{"- " + change[0], "+ " + change[1]}, Site: cmp.Or(site, compiledSite(c, id))}
}

// saysLittle reports whether a cause says less of what is kept than what it is: results, entries that stay.
func saysLittle(id string) bool {
	return id == Results || id == Entries || id == entriesAskedFor
}

// heldInNumber is the cause of one signature where the number of things grows, and their bytes do not show: that of
// who holds most of them.
func heldInNumber(c *Case, all []held, paths []*regexp.Regexp, s *held) *Cause {
	h := c.MostOf
	if h == nil || h.Bound > 0 || c.Grows != &c.Count || kindOf(h, all, paths) != s.id {
		return nil
	}
	id, _, _ := strings.Cut(s.id, "/")
	return &Cause{ID: id, Confidence: inNumberAlone * c.Confidence, Next: s.next,
		Evidence: evidence("most of what came is held by %s: %s has %s", s.what, h.Path,
			units.Counted(h.Count, "object", "objects")),
		Change: []string{"- " + s.change[0], "+ " + s.change[1]}}
}

// heldOf is what the holders of one kind gained, how much of it is known to have come, as
// much of those of other kinds, and the largest of that kind. Beside a device what is there
// at the end alone may have been there before.
func heldOf(c *Case, all []held, paths []*regexp.Regexp, id string) (
	bytes, came, others float64, largest record.Holder) {
	for _, h := range c.Holders {
		gained := min(c.gained(&h), c.Size)
		of, grew := named(c, &h)
		small := gained < heldMatters*c.Size || !grew
		// What a graph keeps is the graph's, but for that of variables of frames that an
		// exception keeps, or that many hooks keep: to detach them would change nothing, or too little.
		graphs := (h.Graph != "" || c.hasLargerGraph(&h)) && id != Tracebacks && id != gradientGraphs &&
			!isOfHooks(&h)
		if small || graphs || c.isElsewhere(&h) || h.Bound > 0 ||
			id == Results && (hasCycle(c, &h) || areOfThreads(c, &h)) {
			continue
		}
		surely := gained
		if c.Class == account.AppLeak {
			surely = min(c.Gains[h.Path+h.Graph], c.Size)
		}
		if kind := kindOf(of, all, paths); kind != id {
			if kind != "" {
				others += surely
			}
			continue
		}
		bytes, came = bytes+gained, came+surely
		if h.Bytes > largest.Bytes {
			largest = h
		}
	}
	return bytes, came, others, largest
}

// hasLargerGraph reports whether a holder's arrays are the outputs of a graph that keeps more
// than they have.
func (c *Case) hasLargerGraph(h *record.Holder) bool {
	return h.Graphs && slices.ContainsFunc(c.Holders, func(g record.Holder) bool {
		return g.Path == h.Path && g.Graph != "" && g.Bytes > h.Bytes
	})
}

// isOfHooks reports whether a holder is the dictionary of hooks that a module has, with what many
// of them have, and not what one hook fills.
func isOfHooks(h *record.Holder) bool {
	return strings.HasPrefix(h.Path, "OrderedDict ") && HeldKind(h) == Hooks
}

// isElsewhere reports whether a holder keeps none of what grows: host memory beside a device,
// or the device's where the host grows, or objects of which one is larger than all that came.
func (c *Case) isElsewhere(h *record.Holder) bool {
	if beside := c.Live.Whole != nil; beside && h.Host != (c.Class == account.HostGrowth) {
		return true
	}
	return h.Count > 0 && float64(h.Bytes)/float64(h.Count) > c.Size
}

// hasArrays reports whether the program has a framework of arrays, or none of its
// versions is known.
func (c *Case) hasArrays() bool {
	for _, name := range [...]string{"torch", "jax", "cupy", "mlx", "numpy", "tensorflow"} {
		if _, ok := c.Meta.Versions[name]; ok {
			return true
		}
	}
	return len(c.Meta.Versions) == 0
}

// inThings reports whether the class is about a number of things, not of bytes.
func (c *Case) inThings() bool { return c.Grows == &c.Count || c.Grows == &c.Handles }

// kindOf is the cause that a holder's path names, or named before it was redacted; empty
// for none.
func kindOf(h *record.Holder, all []held, paths []*regexp.Regexp) string {
	kind := slices.IndexFunc(all, func(s held) bool { return s.id == h.Kind })
	i := firstMatch(paths, h.Path)
	if kind >= 0 && (i < 0 || kind < i) { // of both the more particular one
		i = kind
	}
	switch {
	case i >= 0 && all[i].id != Results:
		return all[i].id
	case i < 0 && (h.IsOneThing() || h.Count < severalKept || strings.Contains(h.Path, ": ")):
		return "" // no collection, or no name: "Node objects: a reference cycle"
	case fillsCache.MatchString(h.Filled):
		return Caches
	}
	return Results // also of a name that tells no type, or one of the program's own
}

// severalKept is from how many objects on a name that tells no type keeps a collection of them.
const severalKept = 3

// fillsCache matches the line that fills a holder, "/src/cross.py:32 __missing__", where the
// function is one that makes what a cache lacks.
var fillsCache = regexp.MustCompile(`(?i) (\w*_)?(__missing__|cached?|memo\w*)(;|$)`)

// HeldKind is the cause that a holder names: the kind it was given, where that is one of
// the catalogue's, else the one that the words of its path tell; empty for none.
func HeldKind(h *record.Holder) string {
	all := heldSignatures()
	paths := make([]*regexp.Regexp, len(all))
	for i := range all {
		paths[i] = regexp.MustCompile("(?i)" + all[i].path)
	}
	known := func(r Rule) bool { return r.ID == h.Kind }
	if kind := kindOf(h, all, paths); kind != "" || !slices.ContainsFunc(Catalogue(), known) {
		return kind
	}
	return h.Kind // one that is more than a holder, such as a cycle
}

// firstMatch is the first expression that a path matches; -1 of none. The paths of
// bundled workloads ("kept: kv cache") name what a buffer is for, not what keeps it.
func firstMatch(paths []*regexp.Regexp, path string) int {
	if word, _, found := strings.Cut(path, ": "); found && (word == "kept" || word == "graph" || word == "scope") {
		return -1
	}
	return slices.IndexFunc(paths, func(p *regexp.Regexp) bool { return p.MatchString(path) })
}

// mostPinned is by how many times what grows pinned memory may have risen: more of it came
// while the program warmed up, and what grows is something else.
const mostPinned = 2

// pinned: the program pins host memory again and again.
func pinned(c *Case) *Cause {
	rose := c.advance(record.ColPinnedBytes)
	if c.Class != account.HostGrowth || !c.ByTrend || !(rose >= leastHeld*c.Size && rose <= mostPinned*c.Size) {
		return nil
	}
	share := min(1, rose/c.Size)
	return &Cause{ID: Pinned, Confidence: .85 * c.Confidence, Share: &share,
		Evidence: evidence("pinned memory that the program asked the driver for grew by %s", units.Bytes(rose)),
		Next:     "pin one buffer, copy each batch into it, and wait for the copy before the next one",
		Change:   []string{"- batch.pin_memory().to(device)", "+ staging.copy_(batch); staging.to(device)"}}
}
