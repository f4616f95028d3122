package cause

import (
	"slices"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// Signatures of causes that have more than one, or that share one.
const (
	temporariesStay  = "temporaries"                 // of Autorelease and Releases
	compiledStays    = "compile-cache"               // of Compile and Pipelines
	graphIsHeld      = Graph + "/holder"             // an output keeps the graph
	graphByStep      = Graph + "/step"               // each step leaves one
	compiledByLine   = Compiled + "/line"            // a line has it done again and again
	profilerRecords  = Buffers + "/profiler"         // a profiler of the program's goes on
	outgrownHost     = Outgrown + "/host"            // without a pool that keeps the old ones
	outgrownBefore   = Outgrown + "/requests"        // each of which is larger than the one before
	gradientGraphs   = Cycle + "/gradients"          // a gradient's graph leads back to its tensor
	cachedFunctions  = Caches + "/functions"         // what functools keeps of a function
	keptModules      = Caches + "/modules"           // a dictionary of modules
	boundUnreached   = Buffers + "/unreached"        // a line would let go of elements
	teeBehind        = Queues + "/tee"               // what one branch of a tee has yet to give
	workQueued       = Queues + "/executor"          // what its threads have not come to
	tasksWait        = Futures + "/pending"          // tasks that have not ended
	cycleKeeps       = Results + "/cycle"            // itertools.cycle keeps its first round
	warningsShown    = Caches + "/warnings"          // the texts of a module's warnings
	cycleAtTheEnd    = Cycle + "/left"               // found at the end of a program without a collector
	cloneWhenDrained = Clone + "/leftover-drained"   // left over while the device was idle
	cloneLeft        = Clone + "/leftover"           // left over while it was not
	clonesGrow       = Clone + "/growth"             // more and more
	threadsCounted   = Threads + "/counted"          // by the system
	replacedStates   = Entries + "/replaced"         // of an optimizer, of parameters that were replaced
	entriesAskedFor  = Entries + "/asked-for"        // objects that are found by their keys again
	entriesOfObjects = Entries + "/objects"          // keyed by objects, which they keep
	threadsEnded     = Threads + "/ended"            // and are kept
	stackAtExit      = AtExit + "/stack"             // of contextlib, which is not closed
	countedForTheEnd = AtExit + "/counted"           // callbacks of which no more is known
	driverHandles    = HandleLeak + "/of-the-driver" // events, streams, graphs
	objectsOfLibrary = HandleLeak + "/objects"       // an extension's, kept by the program
)

// Rule looks for one signature. Its ID is that of its cause, or a name of its own
// where causes and signatures do not come in pairs.
type Rule struct {
	ID string
	// Before are the rules that name nothing where this one finds its signature,
	// and all that these take precedence over.
	Before []string
	Last   bool // it names nothing where any other rule does
	Find   func(*Case) *Cause
}

// Catalogue is every rule. The order is that of the causes of equal confidence.
// A rule takes precedence over another when it explains what the other saw: work
// that waits for the device holds what it reads, and a cache holds handles.
func Catalogue() []Rule {
	return append(heldRules(), []Rule{
		{ID: temporariesStay, Find: temporaries},
		{ID: Backlog, Find: backlog,
			Before: []string{Cycle, cycleAtTheEnd, graphByStep, cloneLeft, clonesGrow, HandleLeak, driverHandles}},
		{ID: Uncommitted, Find: uncommitted},
		{ID: Policy, Find: policy},
		{ID: outgrownBefore, Find: outgrownRequests, Before: []string{Policy, Misses}},
		{ID: Misses, Find: misses},
		{ID: DriverPool, Find: driverPoolKeeps, Before: []string{Policy}},
		{ID: OwnPools, Find: poolsKept, Before: []string{Policy, Misses, outgrownBefore, PoolFragmented}},
		{ID: PoolFragmented, Find: poolFragmented, Before: []string{Policy}},
		{ID: StreamPools, Find: poolForEachStream, Before: []string{Policy, Misses, outgrownBefore, PoolFragmented}},
		{ID: compiledByLine, Find: compiledAnew,
			Before: []string{compiledStays, Compiled, graphByStep, cloneLeft, cloneWhenDrained, HandleLeak, driverHandles}},
		{ID: profilerRecords, Find: recorded},
		{ID: compiledStays, Find: compileCache, Before: []string{HandleLeak, driverHandles}},
		{ID: Cycle, Find: collected, Before: []string{cycleAtTheEnd, HandleLeak, driverHandles}},
		{ID: cycleAtTheEnd, Find: leftCycles, Before: []string{HandleLeak, driverHandles}},
		{ID: graphIsHeld, Find: heldGraph, Before: []string{graphByStep, HandleLeak, driverHandles}},
		{ID: graphByStep, Find: graphOfEachStep, Before: []string{HandleLeak, driverHandles}},
		{ID: cloneWhenDrained, Find: referencesLeftDrained},
		{ID: cloneLeft, Find: referencesLeft},
		{ID: clonesGrow, Find: referencesGrow},
		{ID: HandleLeak, Find: programHandles},
		{ID: driverHandles, Find: handlesOfTheDriver},
		{ID: objectsOfLibrary, Find: objectsKept},
		{ID: Finalizers, Find: finalizers},
		{ID: countedForTheEnd, Find: registeredForTheEnd},
		{ID: Resident, Find: resident},
		{ID: NotEmptied, Find: notEmptied, Before: []string{temporariesStay}},
		{ID: Ceiling, Find: ceiling},
		{ID: Workspaces, Find: libraryWorkspaces},
		{ID: GraphPools, Find: graphsKept, Before: []string{Policy, HandleLeak, driverHandles}},
		{ID: WarmUp, Find: lazyPages},
		{ID: Purge, Find: purgeInVain},
		{ID: Dead, Find: deadHolder},
		{ID: Workers, Find: workersLeft},
		{ID: threadsCounted, Find: threadsLeft},
		{ID: Tooling, Find: tooling},
		{ID: Pinned, Find: pinned},
		{ID: Outgrown, Find: outgrown},
		{ID: outgrownHost, Find: outgrownOnHost},
		{ID: Fragmented, Find: fragmented},
		{ID: Asked, Last: true, Find: askedAndKept},
		{ID: Driver, Last: true, Find: inDriver},
	}...)
}

// Of are the causes that the catalogue names for a case, the surest first.
func Of(c *Case) []Cause {
	rules := Catalogue()
	found := make([]*Cause, len(rules))
	var beaten []string
	for i, r := range rules {
		if slices.Contains(beaten, r.ID) {
			continue // what it takes precedence over is beaten as well
		}
		if found[i] = r.Find(c); found[i] != nil {
			beaten = append(beaten, r.Before...)
		}
	}
	var out []Cause
	for i, r := range rules {
		if found[i] == nil || slices.Contains(beaten, r.ID) || r.Last && len(out) > 0 {
			continue
		}
		found[i].Confidence = stat.Round(found[i].Confidence)
		if s := found[i].Share; s != nil {
			*s = stat.Round(*s)
		}
		out = append(out, *found[i])
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Confidence > out[j].Confidence })
	return out
}
