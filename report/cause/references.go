package cause

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// collected: collecting garbage gave memory back that references alone held.
func collected(c *Case) *Cause {
	if c.Class != account.AppLeak && c.Class != account.HostGrowth {
		return nil // every runtime has some garbage at its end
	}
	for _, e := range c.Receipts {
		r := e.Receipt
		if r.Action != record.ActionCollect {
			continue
		}
		// What a collection frees goes back to the framework's pool first, so
		// the program's own word counts as well as the system's.
		back := r.Returned()
		if r.ClaimedBytes != nil {
			back = math.Max(back, float64(*r.ClaimedBytes))
		}
		if back <= c.Leftover || back < CyclePart*c.Size {
			continue
		}
		conf := .9
		seen := evidence("collecting garbage freed %s", units.Bytes(back))
		if r.CollectorOff {
			seen = append(seen, "the program had turned its collector off")
		} else if e.TMs >= c.Exiting {
			if c.Class == account.HostGrowth || c.wasReached(back) {
				continue // it became garbage with the end of what held it
			}
			conf, seen[0] = .7, fmt.Sprintf("collecting garbage at the program's end freed %s",
				units.Bytes(back))
		}
		return &Cause{ID: Cycle, Confidence: conf, Evidence: seen,
			Next: "break the cycle, or collect on a schedule: only the collector could " +
				"free these objects",
			Change: []string{"- child.parent = parent", "+ child.parent = weakref.proxy(parent)"}}
	}
	return nil
}

// changeOfCycle is what to do about garbage that nobody collects, as lines of a patch.
func changeOfCycle() []string {
	return []string{"- gc.disable()", "+ gc.disable(); …; gc.collect()  # every so many steps"}
}

// leftCycles: a program whose collector is off has objects that nothing but
// each other refers to.
func leftCycles(c *Case) *Cause {
	if c.Class != account.AppLeak && c.Class != account.HostGrowth {
		return nil
	}
	nameless := 0. // arrays that no name leads to: what such objects refer to was not found in time
	for i := range c.Holders {
		if h := &c.Holders[i]; h.IsNameless() && !c.isElsewhere(h) {
			nameless += float64(h.Bytes)
		}
	}
	for i := range c.Holders {
		h := &c.Holders[i]
		bytes := float64(h.Bytes)
		if h.Kind != Cycle || bytes < seenOfCycle*c.Size || bytes+nameless < CyclePart*c.Size {
			continue
		}
		share := min(1, (bytes+nameless)/c.Size)
		site, _, _ := strings.Cut(h.Filled, "; ")
		return &Cause{ID: Cycle, Confidence: .85 * c.Confidence, Share: &share, Site: site,
			Evidence: evidence("%s in %d objects that nothing but each other refers to (%s), while the program's "+
				"garbage collector is off", units.Bytes(bytes), h.Count, h.Path),
			Next: "break the cycle with a weak reference" + atOneOf(h.Path) + ", or collect on a schedule: " +
				"with the collector off nothing frees these objects",
			Change: changeOfCycle()}
	}
	return nil
}

// atOneOf says of which attributes one is to be weak, where the path of a cycle names them: "Node objects: a
// reference cycle through .children and .parent".
func atOneOf(path string) string {
	_, names, found := strings.Cut(path, ": a reference cycle through ")
	switch {
	case !found:
		return ""
	case strings.Contains(names, " and "):
		return " at one of " + names
	}
	return " at " + names
}

// hasCycle reports whether objects of a holder's class refer to each other in a program whose collector
// is off, where no name leads to the holder that is still one at the end: a look that finds some of
// them by a variable finds what is in use for a moment.
func hasCycle(c *Case, h *record.Holder) bool {
	class, _, hasName := strings.Cut(h.Path, " below ")
	mayBe := strings.HasSuffix(class, " objects") && (h.Gone || !hasName)
	return mayBe && slices.ContainsFunc(c.Holders, func(o record.Holder) bool {
		return o.Kind == Cycle && o.Filled == h.Filled && strings.HasPrefix(o.Path, class+": ") &&
			float64(o.Bytes) >= CyclePart*c.Size
	})
}

// seenOfCycle is the least part of a growth that objects which refer to each other were seen to
// have, where arrays without a name may be theirs, too.
const seenOfCycle = .05

// CyclePart is the part of a growth that a collection must free to be its cause.
const CyclePart = .2

// perStep are the handles and references gained a step; NaN when unknown.
func (c *Case) perStep() (handles, refs float64) {
	step := c.Judged.Step
	if step == nil || !c.Count.Growing() {
		return math.NaN(), math.NaN()
	}
	steps := step[len(step)-1] - step[c.Count.From]
	if steps <= 0 {
		return math.NaN(), math.NaN()
	}
	refs = math.NaN()
	if c.Refs.Known {
		refs = c.Refs.Amount() / steps
	}
	return c.Count.Amount() / steps, refs
}

// nextOfGraph is what to do about a graph that is never cut.
const nextOfGraph = "detach what is kept from one step to the next (a loss summed up, a state) " +
	"from its graph"

// changeOfGraph is the same as lines of a patch: of a container that keeps results, of a
// sum, or of a state.
func changeOfGraph(h *record.Holder) []string {
	kind, _, isContainer := strings.Cut(h.Path, " ")
	switch {
	case isContainer && (kind == "list" || kind == "deque"):
		return []string{"- losses.append(loss)", "+ losses.append(loss.item())"}
	case strings.HasPrefix(h.Graph, "Add "):
		return []string{"- total += loss", "+ total += loss.item()"}
	}
	return []string{"- state = cell(x, state)", "+ state = cell(x, state.detach())"}
}

// heldGraph: an output keeps the graph of every step, as its holder says.
func heldGraph(c *Case) *Cause {
	h := c.graphHolder()
	if h == nil {
		return nil
	}
	return &Cause{ID: Graph, Confidence: .9 * c.Confidence, Next: nextOfGraph, Change: changeOfGraph(h),
		Evidence: evidence("%s keeps %s", h.Kept(), units.Bytes(c.gained(h)))}
}

// graphHolder is the holder that keeps an autograd graph, where that is a part
// of a growth that matters; nil without one.
func (c *Case) graphHolder() *record.Holder {
	const part = .2
	if c.Class != account.AppLeak && c.Class != account.HostGrowth {
		return nil
	}
	cycle := slices.ContainsFunc(c.Holders, func(h record.Holder) bool {
		return HeldKind(&h) == gradientGraphs && (c.gained(&h) >= part*c.Size || h.Count >= manyLeaves)
	})
	for _, h := range c.Holders {
		kind := HeldKind(&h)
		// What no name leads to is kept by the tensors whose gradients have graphs, where there are such.
		other := kind == Tracebacks || isOfHooks(&h) || kind == gradientGraphs ||
			cycle && isAnyTensor(&h)
		if h.Graph != "" && c.gained(&h) >= part*c.Size && !other {
			return &h
		}
	}
	return nil
}

// isAnyTensor reports whether the output that keeps a graph is known by its class alone: no name
// leads to it.
func isAnyTensor(h *record.Holder) bool {
	return h.Graph != "" && !strings.ContainsAny(h.Path, ".( ")
}

// graphOfEachStep: every step leaves several handles with bytes, as a graph that
// is never cut does. Where references are counted, its nodes hold each other.
func graphOfEachStep(c *Case) *Cause {
	if c.Class != account.AppLeak || !c.ByTrend || !c.Live.Growing() {
		return nil
	}
	n, refs := c.perStep()
	each := c.Live.Amount() / c.Count.Amount()
	if !(n >= 1.8) || refs < 1.2*n || refs != refs && (each < 4*kib || c.wasReached(c.Size)) {
		return nil
	}
	e := evidence("each step leaves %.1f handles and %s behind", n, units.Bytes(each*n))
	conf := .7
	if refs == refs {
		e = append(e, fmt.Sprintf("they hold each other: %.1f references for each handle", refs/n))
		conf = .85
	}
	return &Cause{ID: Graph, Confidence: conf * c.Confidence, Evidence: e, Next: nextOfGraph,
		Change: changeOfGraph(&record.Holder{})}
}

// referencesLeftDrained: references outlive the handles they were made for, and
// the device, which had nothing to do any more, holds none of them.
func referencesLeftDrained(c *Case) *Cause {
	if !c.Drained {
		return nil
	}
	return c.leftClone()
}

// referencesLeft is the same where the device may have had something to do.
func referencesLeft(c *Case) *Cause {
	if c.Drained {
		return nil
	}
	return c.leftClone()
}

// leftClone is the clone that references left over speak of. Who never counted
// references has none to show.
func (c *Case) leftClone() *Cause {
	refs := c.Refs.Left
	if c.Class != account.AppLeak || !c.ByLeftover || !(refs > 0) ||
		programHandles(c) != nil || graphOfEachStep(c) != nil { // these hold references as well
		return nil
	}
	e := []string{
		fmt.Sprintf("%s are still referenced after everything was released", units.Bytes(c.Live.Left)),
		fmt.Sprintf("%s references are left", units.Whole(refs)),
	}
	if n := c.Count.Left; n > 0 {
		e[1] = fmt.Sprintf("%s references to %s handles are left", units.Whole(refs), units.Whole(n))
	}
	if t := c.topSite(); t != "" {
		e = append(e, "the largest survivor was made at "+t)
	}
	return &Cause{ID: Clone, Confidence: .85 * c.Confidence, Evidence: e,
		Next: "look at who holds the survivors by site; drop the clone when its use ends"}
}

// referencesGrow: references grow while the handles they count do not.
func referencesGrow(c *Case) *Cause {
	if !c.Refs.Growing() || c.Count.Growing() || !c.Count.Known ||
		c.advance(record.ColLiveCount) >= c.Refs.Amount()/2 { // what a short run leaves open may grow as well
		return nil
	}
	more := fmt.Sprintf("references grow by %s while the handles they count do not",
		units.Whole(c.Refs.Amount()))
	return &Cause{ID: Clone, Confidence: .8, Evidence: []string{more},
		Next: "look at the clone audit: a clone is made and never dropped"}
}

// topSite is the site that holds most, empty when none is known.
func (c *Case) topSite() string {
	best := record.Site{}
	for _, x := range c.Sites {
		if x.Bytes > best.Bytes {
			best = x
		}
	}
	return best.Site
}
