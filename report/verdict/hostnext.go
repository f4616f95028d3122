package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// touchedAfter is how many seconds a program has to grow until gpumem has seen whose code
// fills its memory: it waits for a growth that goes on, and looks for 6 s.
const touchedAfter = 15

// mostTouched is the share of the new pages from which one library's code filled most.
const mostTouched = .5

// hostNext is what to do about host memory that grows for no cause that is known.
func (s *settled) hostNext(v *Verdict) string {
	if h := hostHolder(s, v.Holders); h != nil {
		return boundIt(h)
	}
	if text := hostAsked(s).next(); text != "" {
		return text
	}
	if text := noNameNext(s, outOfSight(v.Holders)); text != "" {
		return text
	}
	if text := languageNext(s); text != "" {
		return text
	}
	if place, _ := evidence.TouchedAt(&s.Examined.Process); place != "" &&
		evidence.Toucher(&s.Examined.Process) == finding.TheHost {
		return "find what keeps the memory that is filled " + place
	}
	switch look := "look for what the program keeps"; {
	case s.UsesDevice():
		return look + " in host memory: the device's memory is not what grows"
	case s.Touch == nil && s.LastSeen() < touchedAfter:
		return look + "; after a run of 20 s the answer often says where it was filled"
	default:
		return look + ", and for what native code that it calls never gives back"
	}
}

// outOfSight is the holder of most objects of an extension: they are known in number alone.
// What only the program's end let go of counts, as of all holders. nil without one.
func outOfSight(holders []HolderRow) *HolderRow {
	var most *HolderRow
	for i := range holders {
		h := &holders[i]
		if h.OfClass() && h.Bytes == 0 && (!h.Gone || h.OverMs > 0) && (most == nil || h.Count > most.Count) {
			most = h
		}
	}
	return most
}

// noNameNext is what to do where the program was asked who holds what came and no name led
// to it, by whose code filled it, or whose objects came; empty of another.
func noNameNext(s *settled, came *HolderRow) string {
	const none = "no name was found that leads to it: "
	switch library := filledBy(&s.Examined.Process); {
	case !lookedInVain(&s.Examined.Process, s.size):
		return ""
	case strings.HasPrefix(library, "libtorch"):
		return none + "detach what is carried on from one step to the next, whose graph keeps every step; " +
			"else look for what C++ keeps"
	case strings.HasPrefix(library, "libffi"), strings.HasPrefix(library, "_ctypes"):
		return none + "look for what is asked of a C library through ctypes and never given back"
	case came != nil:
		return fmt.Sprintf("find out whether %s%s, hold it: %s more came, and Python does not see "+
			"what they hold", came.Path, filledAt(came, ""), units.Count(came.Count))
	case strings.HasPrefix(library, "python3"), strings.HasPrefix(library, "libpython3"):
		return none + "look for a reference that C code keeps (ctypes, an extension) and never gives up"
	}
	return ""
}

// cameWords say which objects of an extension came while the driver's memory grew, or the host's
// and nobody was found who holds what came, as a part of a sentence: what they have outside of
// Python is not seen.
func cameWords(s *settled, v *Verdict) string {
	h := outOfSight(v.Holders)
	switch {
	case h == nil:
		return ""
	case s.class == DriverGrowth, s.class == HostGrowth && lookedInVain(&s.Examined.Process, s.size):
	case s.class != PoolGrowth || !hasPools(v.Causes, h):
		return ""
	}
	return fmt.Sprintf("; meanwhile %s more %s came%s", units.Count(h.Count), h.Path,
		filledAt(h, ""))
}

// hasPools reports whether the first cause is that each object of a holder has a pool of its own:
// a stream, a captured graph, or a pool that the program made itself.
func hasPools(causes []Cause, h *HolderRow) bool {
	if len(causes) == 0 {
		return false
	}
	class, _, _ := strings.Cut(h.Path, " ")
	return causes[0].ID == cause.OwnPools && strings.HasSuffix(class, "Pool") ||
		causes[0].ID == cause.GraphPools && strings.Contains(class, "Graph") ||
		causes[0].ID == cause.StreamPools && strings.Contains(class, "Stream")
}

// trifling is the part of a growth up to which a holder says nothing of it.
const trifling = .01

// lookedInVain reports whether the program answered at its end who holds what came, and nobody
// did that has more than a trifle of a growth of so many bytes.
func lookedInVain(p *series.Process, growth float64) bool {
	holds := func(h record.Holder) bool {
		return (!h.OfClass() || h.Bytes > 0) && (h.Bytes == 0 || float64(h.Bytes) > trifling*growth)
	}
	answered := false
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindHolders {
			answered = !slices.ContainsFunc(e.Holders, holds)
		}
	}
	return answered
}

// filledBy is the library whose code first touched most of the new pages; empty of none.
func filledBy(p *series.Process) string {
	if p.Touch == nil || len(p.Touch.Owners) == 0 || p.Touch.Owners[0].Share < mostTouched {
		return ""
	}
	return p.Touch.Owners[0].Library
}
