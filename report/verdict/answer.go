package verdict

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// sureEnough is the confidence from which a cause is named in a sentence.
const sureEnough = .5

// constructor is the function in which an object of Python's gets its attributes: a container
// that is made there is filled by others.
const constructor = "__init__"

// answer is what a person takes away who reads nothing else, behind the class: whose
// the growth is and how much, and, as far as they are known, who holds it, the line
// that asked for it, and the cause.
func (s *settled) answer(v *Verdict) string {
	if s.class == None || s.class == Undecided {
		return s.claim(v)
	}
	text, filled := s.growthClaim(v), ""
	blamed := s.blamed(v.Holders)
	if h := blamed; h != nil && s.restsOn != ByLeftover {
		text = s.heldClaim(h, v.Holders, v.DrivenBy)
		if !h.OfClass() { // where such objects were made is not where what they have was asked for
			filled = h.Filled
		}
	}
	host := hostHolder(s, v.Holders)
	if host != nil && s.restsOn == ByObjects && host.Path == s.held {
		text = roseWords(s)
	}
	text += hostHeld(host) + largestWords(largestKnown(s, v.Holders)) + partsWords(v.Parts)
	if h := inNumber(s, v.Holders); h != nil && blamed == nil {
		text += "; most of the " + thingsOf(s.Run.Meta.Versions) + " are in " + h.Kept() + filledAt(h, "")
	}
	if s.primary == series.Handles {
		text += place.Made(v.Sites, s.Kind.Name, s.size)
	}
	if at := askedAt(s, v, filled); at != "" && !strings.Contains(text, at[strings.Index(at, " at ")+1:]) {
		text += "; " + at // unless it is said already
	}
	if asked := hostAsked(s); host == nil || asked.isNewsBeside(host) {
		text += asked.words()
	}
	if host == nil {
		text += cameWords(s, v)
	}
	if line := causeAt(v.Causes); line != "" {
		text += "; " + line
	}
	text += causeClaim(v.Causes) + cycleOf(v, text)
	switch {
	case host != nil:
	case blamed == nil:
		text += doneAt(v.Causes) + keptGraphs(s, v.Causes) + keptOutputs(v) + piecesIn(v)
	case blamed.Filled == "" && !hasName(blamed.Path):
		text += doneAt(v.Causes)
	}
	return text + "." + hazardWords(s)
}

// askedAt says where what grew was asked for; empty where nothing tells. What profiled
// steps left behind says it better than where a pool took memory for all. The line that fills the
// holder does as well, but not one that only makes it.
func askedAt(s *settled, v *Verdict, filled string) string {
	place := allocated(s, v.Sites)
	if filled != "" && poolAsked(s) && record.PlaceOf(filled).Name != constructor {
		return ""
	}
	if left := leftAt(s, v.Peak); left != "" && (place == "" || poolAsked(s)) {
		return "what stays of a step is allocated at " + left
	}
	if filled != "" && poolAsked(s) {
		return ""
	}
	if _, at, _ := strings.Cut(place, " "); place == "" || s.primary.Counts() || strings.Contains(s.why, at) {
		return "" // or it is said already
	}
	return allocatedBy(s, v.Sites) + place
}

// doneAt is the line that does what is named as the first cause, behind it.
func doneAt(causes []Cause) string {
	if len(causes) == 0 || causes[0].Confidence < sureEnough {
		return ""
	}
	done := map[string]string{
		cause.Cycle: "made", cause.AtExit: "registered", cause.Threads: "started", cause.HandleLeak: "made",
		cause.GraphPools: "captured", cause.StreamPools: "made",
	}[causes[0].ID]
	p := record.PlaceOf(causes[0].Site)
	if p.File == "" || done == "" {
		return ""
	}
	return ", " + done + " at " + place.Text(p)
}

// shareToName is the part of a growth from which a further cause is named with the first.
const shareToName = .1

// cycleOf names the objects of which a reference cycle is, and the attributes through which it goes,
// where a text does not do so yet and nothing but a cycle is its cause.
func cycleOf(v *Verdict, text string) string {
	if len(v.Causes) != 1 || v.Causes[0].ID != cause.Cycle || v.Causes[0].Confidence < sureEnough {
		return ""
	}
	for i := range v.Holders {
		of, ring, found := strings.Cut(v.Holders[i].Path, ": a reference cycle")
		if found && strings.HasSuffix(of, " objects") {
			if strings.Contains(text, of) {
				return ""
			}
			return " of " + of + ring
		}
	}
	return ""
}

// causeClaim names the first cause, where it is sure enough, and others that share the
// growth with it.
func causeClaim(causes []Cause) string {
	if len(causes) == 0 || causes[0].Confidence < sureEnough {
		return ""
	}
	var names []string
	for _, c := range causes {
		if c.Confidence >= sureEnough && c.Share != nil && *c.Share >= shareToName {
			names = append(names, fmt.Sprintf("%s (%.0f %%)", strings.ReplaceAll(c.ID, "-", " "), 100**c.Share))
		}
	}
	if len(names) < 2 || causes[0].Share == nil {
		return "; cause: " + strings.ReplaceAll(causes[0].ID, "-", " ")
	}
	return "; causes: " + strings.Join(names, ", ")
}

// next is what to do first.
func (s *settled) next(v *Verdict) string {
	if h := unweighed(s, v); h != nil {
		return fmt.Sprintf("detach what %s keeps%s, and see whether it still grows: it got %s more, each with its "+
			"autograd graph, and what these keep is weighed only at the end of a program under gpumem run",
			h.Path, filledAt(h, ""), units.Counted(h.Count, "output", "outputs"))
	}
	if h := inNumber(s, v.Holders); h != nil && s.blamed(v.Holders) == nil {
		return boundIt(h)
	}
	if len(v.Causes) > 0 && v.Causes[0].Confidence >= sureEnough && s.class != Undecided {
		if h := s.blamed(v.Holders); h != nil {
			return "at " + where(h, &v.Causes[0]) + ": " + v.Causes[0].Next
		}
		if h := hostHolder(s, v.Holders); h != nil {
			return atHostHolder(h, v.Causes)
		}
		if h := largestKnown(s, v.Holders); h != nil {
			return "at " + where(h, &v.Causes[0]) + ": " + v.Causes[0].Next
		}
		if p := record.PlaceOf(v.Causes[0].Site); p.File != "" {
			return "at " + place.Text(p) + ": " + v.Causes[0].Next
		}
		return v.Causes[0].Next
	}
	if text := untoldNext(s, v.Forecast); text != "" {
		return text
	}
	if s.class == None && hazards(&s.Examined.Process) > 0 {
		return "give a buffer back when the command that uses it has completed, not when it is encoded"
	}
	switch s.class {
	case AppLeak:
		return leakNext(s, v)
	case PoolGrowth:
		return "bound what the pool keeps, or let it give idle memory back; --purge measures how much that is"
	case DriverGrowth:
		return driverNext(s, v)
	case HostGrowth:
		return s.hostNext(v)
	}
	return ""
}

// driverNext is what to do about what the driver keeps for no cause that is known.
func driverNext(s *settled, v *Verdict) string {
	if s.primary == series.Untracked {
		if at := allocated(s, v.Sites); at != "" {
			return "give back what is asked of the driver " + at + ", or keep it for the next time; where a library " +
				"asks for it there, destroy the handle or the plan that it belongs to"
		}
	}
	return "find the calls that leave something in the driver (events, streams, graphs, modules, " +
		"kernels compiled anew), and keep what they make for the next time"
}

// leakNext is what to do about live memory that grows for no cause that is known.
func leakNext(s *settled, v *Verdict) string {
	if h := s.blamed(v.Holders); h != nil {
		return boundIt(h)
	}
	if h := largestKnown(s, v.Holders); h != nil {
		return boundIt(h)
	}
	if left := leftAt(s, v.Peak); left != "" {
		return "find what keeps a reference to the memory that is allocated at " + left
	}
	if text := lazyNext(s, v); text != "" {
		return text
	}
	if len(v.Sites) == 0 && blocksAsked(s) == "" {
		return "run it again with --sites, which names the lines that allocate what stays"
	}
	if place := allocated(s, v.Sites); place != "" {
		return "find what keeps a reference to the memory that is " +
			allocatedBy(s, v.Sites) + place + arenaWords(s)
	}
	return "find what keeps a reference to this memory; the sites in the report show where it was allocated"
}

// lazyNext is what to do about arrays of MLX that nobody's name leads to: what was never
// evaluated keeps all that it is to be made of, below one small array.
func lazyNext(s *settled, v *Verdict) string {
	if _, mlx := s.Run.Meta.Versions["mlx"]; !mlx || len(v.Sites) > 0 {
		return ""
	}
	return "evaluate what is carried on from step to step (mx.eval): until then it keeps every array that it is " +
		"made of; if that changes nothing, look for what keeps arrays"
}

// firstHolders are those of the first look after the warm-up; none where there was
// one look only.
func firstHolders(p *series.Process) []HolderRow {
	var first []HolderRow
	looks := 0
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindHolders {
			if looks++; looks == 1 {
				first = e.Holders
			}
		}
	}
	if looks < 2 {
		return nil
	}
	return first
}

// atHostHolder is what to do about a holder of host memory: by the first sure cause that is
// the program's. What the heap keeps free beside it is not the holder's.
func atHostHolder(h *HolderRow, causes []Cause) string {
	for i := range causes {
		if c := &causes[i]; c.ID != cause.Fragmented && c.Confidence >= sureEnough {
			if h.OfClass() && c.ID == cause.Results { // what its objects are in is not known
				return boundIt(h)
			}
			if at := where(h, c); at != h.Path {
				return "at " + at + ": " + c.Next
			}
			return "at " + h.Path + filledAt(h, "") + ": " + c.Next
		}
	}
	return boundIt(h)
}

// unweighed is the holder that got most outputs of autograd, where neither a holder nor a
// cause of the program's explains the growth; nil without one.
func unweighed(s *settled, v *Verdict) *HolderRow {
	if s.class != AppLeak && s.class != HostGrowth || s.blamed(v.Holders) != nil ||
		hostHolder(s, v.Holders) != nil {
		return nil
	}
	if c := v.Causes; len(c) > 0 && c[0].Confidence >= sureEnough && c[0].ID != cause.Fragmented &&
		c[0].ID != cause.Driver {
		return nil
	}
	return mostOutputs(v.Holders)
}

// mostOutputs is the holder that got most outputs of autograd of which nobody weighed what their
// graphs keep; nil without one.
func mostOutputs(last []HolderRow) (most *HolderRow) {
	for i := range last {
		h := &last[i]
		if h.Graph != "" {
			return nil // it was weighed
		}
		if h.Graphs && (!h.Gone || h.OverMs > 0) && (most == nil || h.Count > most.Count) {
			most = h
		}
	}
	return most
}

// where is the place to change: what a cause is about has a line where its holder has no
// name.
func where(h *HolderRow, c *Cause) string {
	if p := record.PlaceOf(c.Site); p.File != "" && !hasName(h.Path) {
		return place.Text(p)
	}
	return h.Path
}

// boundIt is what to do about a holder of which nothing more is known.
func boundIt(h *HolderRow) string {
	if _, above, below := strings.Cut(h.Path, " objects below "); below {
		return "let go of the " + h.Path + filledAt(h, ",") + " once they have been used: " + above + " keeps them"
	}
	if h.OfClass() && !h.IsNameless() {
		return "find what keeps the " + h.Path + filledAt(h, "") + ", and let go of them"
	}
	if h.IsNameless() {
		return "no name of the program leads there: look for objects that refer to each other, which " +
			"--purge collects and counts, or for an extension that keeps a reference"
	}
	if at := filledAt(h, ""); at != "" {
		return "bound " + h.Path + at + ", or let go of what it keeps"
	}
	return "find where " + h.Path + " is filled, and bound it or let go of what it keeps"
}

// filledAt says where a holder is filled, between commas; empty where nobody knows.
func filledAt(h *HolderRow, end string) string {
	var places []string
	for site := range strings.SplitSeq(h.Filled, "; ") {
		if p := record.PlaceOf(site); p.File != "" {
			places = append(places, place.Text(p))
		}
	}
	if len(places) == 0 {
		return ""
	}
	done := ", filled at "
	switch {
	case strings.HasSuffix(h.Path, cause.EndCallbacks):
		done = ", registered at "
	case h.OfClass():
		done = ", made at "
	}
	return done + strings.Join(places, " and ") + end
}
