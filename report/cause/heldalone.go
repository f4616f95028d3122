package cause

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// heldByThemselves are the signatures of what grows by itself, and of what is in lists of
// the interpreter's: the type stands before the name.
func heldByThemselves() []held {
	return []held{
		{Buffers, `^(StringIO|BytesIO|bytearray) `, "a buffer that is only written to",
			"write what it has to a file when it is long enough, and empty it",
			[2]string{"log.write(line)",
				"log.write(line); …; file.write(log.getvalue()); log.seek(0); log.truncate()"}},
		{teeBehind, `^tee |^_tee_dataobject objects`, "a tee, of which one branch is read behind the other",
			"read both branches at the same pace: a tee keeps all that one has given and the other has not",
			[2]string{"train, report = itertools.tee(batches)",
				"for batch in batches: train(batch); report(batch)"}},
		{Memos, `^\w*Pickler `, "the memo of a pickler, with every object that it has pickled",
			"make a pickler for each object, or clear its memo when one is done",
			[2]string{"pickler.dump(item)", "pickler.dump(item); pickler.clear_memo()"}},
		{Databases, `^Connection `, "a database in memory",
			"delete the rows that nobody asks for any more, or keep the database in a file",
			[2]string{"db = sqlite3.connect(\":memory:\")", "db = sqlite3.connect(\"events.db\")"}},
		{Modules, `^dict sys\.modules$`, "modules that the program makes at run time",
			"make each module once and find it by its name again, or take it out of sys.modules when done",
			[2]string{"sys.modules[name] = module", "sys.modules[name] = module; …; del sys.modules[name]"}},
		{Exports, `\bcapsules\b`, "capsules of DLPack that nobody has taken over",
			"drop each capsule when it was handed on: until somebody takes it over it keeps the array",
			[2]string{"exported.append(to_dlpack(array))", "consume(to_dlpack(array))"}},
	}
}

// EndCallbacks is the path of what atexit has. As that of liveThreads it is known in number
// alone: nobody can see what the interpreter keeps there.
const (
	EndCallbacks = "callbacks of atexit.register"
	liveThreads  = "dict threading._active"
)

// How many of these must come, so that their number is a growth: more than a pool has.
const (
	manyForTheEnd = 100
	manyThreads   = 33
)

// unseen is the holder of a path that gained at least so many things, where no holder that
// can be seen keeps what grew; nil without one.
func (c *Case) unseen(path string, least int64) *record.Holder {
	grows := c.Class == account.AppLeak || c.Class == account.HostGrowth
	if !grows || !c.ByTrend || c.Size <= 0 || c.inThings() {
		return nil
	}
	known, found := 0., -1
	for i := range c.Holders {
		h := &c.Holders[i]
		if h.Path == path && h.Count >= least {
			found = i
		} else if h.Bound == 0 && (!h.Host || c.Class == account.HostGrowth) {
			known += c.gained(h)
		}
	}
	if found < 0 || known >= leastHeld*c.Size {
		return nil
	}
	return &c.Holders[found]
}

// noneSeen is the evidence that nobody else has what grew.
func noneSeen() string {
	return fmt.Sprintf("no holder that can be seen keeps %.0f %% of what grew", 100*leastHeld)
}

// registeredForTheEnd: callbacks for the program's end come all the time.
func registeredForTheEnd(c *Case) *Cause {
	h := c.unseen(EndCallbacks, manyForTheEnd)
	if h == nil {
		return nil
	}
	site, _, _ := strings.Cut(h.Filled, "; ")
	seen := evidence("%d callbacks more are registered with atexit, and what they keep is out of sight",
		h.Count)
	return &Cause{ID: AtExit, Confidence: .6 * c.Confidence, Evidence: append(seen, noneSeen()), Site: site,
		Next: "register one callback for all, or undo the registration when its work is done",
		Change: []string{"- atexit.register(flush, batch)",
			"+ atexit.register(flush, batch); …; atexit.unregister(flush)"}}
}

// growsAlone are the paths of what the agent tells only where each look found it larger: a buffer, the
// memo of a pickler, a database in memory.
var growsAlone = regexp.MustCompile(`^(StringIO|BytesIO|bytearray|\w*Pickler|Connection) `)

// GrowsAlone reports whether a holder's path is that of one object which each look found larger.
func GrowsAlone(path string) bool { return growsAlone.MatchString(path) }
