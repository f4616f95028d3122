package cause

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// nextOfHandles is what to do about the program's handles that are never released.
const nextOfHandles = "find what makes these handles and never releases them: parameters, " +
	"events, streams, graphs"

// releaseThem is what to do about handles of a kind of the driver's.
func releaseThem(kind string) string {
	return "keep one of these " + kind + " and use it again, or release each when its work is done"
}

// mostPerHandle is what one handle has at most where handles are what leaks: a page of
// 16 KiB, and a tenth, since bytes and number are estimates of their own.
const mostPerHandle = 16 * kib * 11 / 10

// programHandles: the number of live handles climbs, or many are left, with few bytes each.
func programHandles(c *Case) *Cause {
	if climbing := handlesClimb(c); climbing != nil {
		return climbing
	}
	return handlesLeft(c)
}

// handlesClimb is the cause where the trend shows that number.
func handlesClimb(c *Case) *Cause {
	if c.Class != account.AppLeak || !c.ByTrend || !c.Count.Growing() {
		return nil
	}
	n := c.Count.Amount()
	each := math.Max(0, c.Live.Amount()) / n
	if each > mostPerHandle {
		return nil
	}
	conf := .85
	e := evidence("%s more handles are live, with %s each", units.Whole(n), units.Bytes(each))
	if a, f := c.total(record.ColAllocs), c.total(record.ColFrees); a > 0 && f == f && a > f {
		e = append(e, fmt.Sprintf("%s allocations, %s frees", units.Whole(a), units.Whole(f)))
		conf = .9
	}
	return &Cause{ID: HandleLeak, Confidence: conf * c.Confidence, Evidence: e, Next: nextOfHandles}
}

// leastLeft is how many small handles are left by a program that makes them and never releases any:
// clones that it forgot are fewer.
const leastLeft = 1000

// handlesLeft: after everything was released many live handles are left, with few bytes each, that
// nobody cloned.
func handlesLeft(c *Case) *Cause {
	n := c.Count.Left
	if c.Class != account.AppLeak || !c.ByLeftover || !(n >= leastLeft) || c.Refs.Left > 1.1*n {
		return nil
	}
	each := math.Max(0, c.Live.Left) / n
	if !(each <= mostPerHandle) {
		return nil
	}
	return &Cause{ID: HandleLeak, Confidence: .85 * c.Confidence, Next: nextOfHandles,
		Evidence: evidence("%s handles are still live after everything was released, with %s each",
			units.Whole(n), units.Bytes(each))}
}

// handlesOfTheDriver: a kind of the driver's handles climbs, alone or while memory
// outside the program's does. The most numerous is named.
func handlesOfTheDriver(c *Case) *Cause {
	if !c.ByTrend || c.Class != account.DriverGrowth && c.Class != account.HostGrowth || c.touchedApart() {
		return nil
	}
	if c.Grows == &c.Handles {
		return c.handlesAlone()
	}
	var best *Cause
	most := 0.
	for _, k := range account.HandleKinds() {
		alive := c.alive(k.Column)
		n := stat.Rise(alive)
		if !(n > most) || !trend.Climbs(alive, account.MoreHandles) {
			continue
		}
		each := c.Size / n
		if each < account.LeastPerHandle || each > account.MostPerHandle {
			continue
		}
		most = n
		if best = c.loadedForShapes(k, n); best != nil {
			continue
		}
		seen := evidence("%s more %s are alive; memory outside the program's grows by %s with each",
			units.Whole(n), k.Name, units.Bytes(each))
		site := c.madeMost(k, n)
		if site != "" && k.Column == record.ColModules && n >= leastCompiled && c.hasAny("torch", "cupy", "jax") {
			best = c.compiledAt(Compilation{Site: site}, seen)
			continue
		}
		if libraryWorkspaces(c) != nil {
			continue // the handles are those of the library's
		}
		best = &Cause{ID: HandleLeak, Confidence: .85 * c.Confidence, Next: releaseThem(k.Name), Site: site,
			Evidence: seen}
		if k.Column == record.ColGraphs && c.hasAny("torch", "cupy") {
			best.ID, best.Next, best.Change = GraphPools, nextOfGraphs, changeOfGraphs()
		}
	}
	return best
}

// Confidence that objects which came while memory outside the program's grew have it: where the
// function that made them asked the driver too, and where it only came at the same time.
const (
	madeThere     = .8
	madeMeanwhile = .45
)

// objectsKept: a container got more objects of an extension while memory outside the program's
// grew. Each may have some of it, as a texture does.
func objectsKept(c *Case) *Cause {
	if c.Class != account.DriverGrowth || !c.ByTrend || c.inThings() || len(c.Judged.Clock) == 0 ||
		handlesOfTheDriver(c) != nil { // these are counted, and told by kind
		return nil
	}
	var best *Cause
	most, lasted := 0., c.Judged.Clock[len(c.Judged.Clock)-1]-c.Judged.Clock[c.Grows.From]
	for i := range c.Holders {
		h := &c.Holders[i]
		if !h.OfClass() || h.Bytes > 0 || h.Length == 0 || h.OverMs <= 0 {
			continue
		}
		n := float64(h.Count) * 1000 * lasted / h.OverMs
		if each := c.Size / n; n > most && each >= account.LeastPerHandle && each <= account.MostPerHandle {
			most = n
			id, confidence := HandleLeak, madeMeanwhile
			if c.askedWhereMade(h) || c.askedAsOften(h) {
				id, confidence = Asked, madeThere // they have the memory itself
			}
			if h.Kind == Caches {
				id = Caches
			}
			best = &Cause{ID: id, Confidence: confidence * c.Confidence,
				Evidence: evidence("%d more %s came in %.3g s; memory outside the program's grew by %s "+
					"with each", h.Count, h.Path, h.OverMs/1000, units.Bytes(each)),
				Next: "keep only the " + h.Path + " that are in use",
				Change: []string{"- textures[key] = make(key)",
					"+ textures[key] = make(key); drop_oldest(textures, most=64)"}}
		}
	}
	return best
}

// askedWhereMade reports whether a function that makes a holder's objects asked the driver for
// something that it still has.
func (c *Case) askedWhereMade(h *record.Holder) bool {
	for filled := range strings.SplitSeq(h.Filled, "; ") {
		made := record.PlaceOf(filled)
		if made.File != "" && slices.ContainsFunc(c.Sites, func(s record.Site) bool {
			site := s.Site
			if _, caller, called := strings.Cut(site, ", called by "); called {
				site = caller
			}
			asked := record.PlaceOf(site)
			name, _, _ := strings.Cut(asked.Name, " ") // without what kind of memory it is
			return asked.File == made.File && name == made.Name
		}) {
			return true
		}
	}
	return false
}

// askedAsOften reports whether one place asked the driver for most of what grew about as often as a
// holder has objects.
func (c *Case) askedAsOften(h *record.Holder) bool {
	return slices.ContainsFunc(c.Sites, func(s record.Site) bool {
		return float64(s.GrowthBytes) >= leastHeld*c.Size && 2*s.Count >= h.Length && s.Count <= 2*h.Length
	})
}

// nearDriver are the libraries, as they begin, whose host memory may come with handles: those of
// drivers, of frameworks, of compilers, and the interpreter's.
var nearDriver = regexp.MustCompile(`^(lib(cu|nv|torch|c10|triton|LLVM|amdhip|hsa|roc|hip|python)|` +
	`python|_?cupy|xla|jax|\()`)

// touchedApart reports whether most new pages of the host were filled by a library that has
// nothing to do with the driver's handles.
func (c *Case) touchedApart() bool {
	return c.Class == account.HostGrowth && c.TouchedBy != "" && !nearDriver.MatchString(c.TouchedBy)
}

// madeMost is the line of the program that made most of so many handles more of a kind, itself
// or by a library that it called; empty where no line made half of them.
func (c *Case) madeMost(k account.HandleKind, more float64) string {
	class := " [" + strings.TrimSuffix(k.Name, "s") + "]"
	counts := map[string]int64{}
	for _, s := range c.DriverSites {
		site, ok := strings.CutSuffix(strings.TrimSuffix(s.Site, record.GoneSite("")), class)
		if _, caller, called := strings.Cut(site, ", called by "); called {
			site = caller
		}
		if ok && record.PlaceOf(site).File != "" {
			counts[site] += s.Count
		}
	}
	for site, count := range counts {
		if float64(count) > more/2 {
			return site
		}
	}
	return ""
}

// handlesAlone names the handles whose number is all that grows.
func (c *Case) handlesAlone() *Cause {
	if most, all := c.compiledMost(); all > 0 && c.Kind.Column == record.ColModules {
		return c.compiledAt(most, evidence("%s more modules are alive, and code was compiled %s times meanwhile",
			units.Whole(c.Size), units.Whole(all)))
	}
	e := evidence("%s more %s are alive; no bytes that were recorded grow with them",
		units.Whole(c.Size), c.Kind.Name)
	switch {
	case c.Kind.Cached:
		e = append(e, "a cache of what is made for each new shape would grow alike")
	case c.Live.Judged == nil:
		e = append(e, "the program's own objects were not counted: they may hold them, as each "+
			"array of JAX holds an event")
	}
	return &Cause{ID: HandleLeak, Confidence: .85 * c.Confidence, Evidence: e, Next: nextOfHandles}
}

// shapeLibraries make code, or load it, for each new size of what they are given, and keep it.
var shapeLibraries = regexp.MustCompile(`^lib(cufft|cublasLt|cudnn|cusparse|cusolver|nvJitLink|nvrtc)`)

// loadedForShapes is that most of so many modules more were loaded by a library that keeps
// one for each new size; nil where the sites do not say so.
func (c *Case) loadedForShapes(k account.HandleKind, more float64) *Cause {
	if k.Column != record.ColModules {
		return nil
	}
	count, most := 0., record.Site{}
	for _, s := range c.DriverSites {
		if !strings.HasSuffix(s.Site, " [module]") || !shapeLibraries.MatchString(s.Site) {
			continue
		}
		if count += float64(s.Count); s.Count > most.Count {
			most = s
		}
	}
	if count < more/2 {
		return nil
	}
	library, _, _ := strings.Cut(most.Site, "+")
	site := ""
	if _, caller, ok := strings.Cut(most.Site, ", called by "); ok {
		site = strings.TrimSuffix(caller, " [module]")
	}
	found := &Cause{ID: Compile, Confidence: .85 * c.Confidence, Site: site,
		Evidence: evidence("%s more modules are loaded, most of them by %s, which keeps one for each new size",
			units.Whole(more), library),
		Next: "pad what it is given to a few sizes, so that it needs no more code"}
	if _, torch := c.Meta.Versions["torch"]; torch && strings.HasPrefix(library, "libcufft") {
		found.Next = "pad what it is given to a few sizes, or give its cache a bound " +
			"(torch.backends.cuda.cufft_plan_cache.max_size)"
		found.Change = []string{"- spectrum = torch.fft.rfft(wave)",
			"+ spectrum = torch.fft.rfft(wave, n=size)  # one of a few sizes"}
	}
	return found
}
