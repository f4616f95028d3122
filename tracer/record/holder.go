package record

import (
	"encoding/json"
	"strings"
)

// Holder is a path by which live memory is kept, in words of the program.
type Holder struct {
	Path string `json:"path"`
	// Gone says that the path was seen while the program ran and has been given
	// up since.
	Gone bool `json:"gone,omitempty"`
	// Host says that the path holds host memory, in a program with a device, whose arrays
	// the other holders are of.
	Host bool `json:"host,omitempty"`
	// Graph is what ends the autograd graph that the path keeps, such as "Add
	// outputs"; empty when it keeps none.
	Graph string `json:"graph,omitempty"`
	// Graphs says that autograd made what the path holds, at a look at a program that runs
	// on: what the graphs of it keep was not weighed.
	Graphs bool `json:"graphs,omitempty"`
	// Bytes are 0 of what is known in number alone, such as callbacks for the program's end.
	Bytes int64 `json:"bytes"`
	Count int64 `json:"count"`
	// ShownPart is the part of Bytes that the arrays show, where that is a quarter or less: a
	// view keeps the whole array that it is of. 0 where it is more, or nobody told.
	ShownPart float64 `json:"shown_part,omitempty"`
	// Length is how many elements the path's container has, and Bound how many it can
	// have at most; 0 where it is none, or has no bound that could be read.
	Length int64 `json:"length,omitempty"`
	Bound  int64 `json:"bound,omitempty"`
	// Filled are the places of the program's source, each as a Site.Site, that add to what
	// the path names, separated by "; ": found by a search of the text, and at most two.
	Filled string `json:"filled,omitempty"`
	// OverMs is how long Bytes took to come, in milliseconds, at a look at a program
	// that runs on; 0 where nobody told.
	OverMs float64 `json:"over_ms,omitempty"`
	// Before is how many of the path's arrays that the look before found were looked for
	// again, and Stayed how many of these were still there: 0 of a list that was emptied and
	// filled again. Both are 0 where nobody looked.
	Before int64 `json:"before,omitempty"`
	Stayed int64 `json:"stayed,omitempty"`
	// Kind is the cause that the elements of the path's container tell by their types, or
	// the lines that fill it by their form, or that the path's names told before they were
	// taken out; empty where none of these is so.
	Kind string `json:"kind,omitempty"`
	// Old is how many were looked for once more of the path's arrays that had stayed by the last look before, see
	// Stayed, or between two looks of those that it found, where it asked for none. OldStayed is how many of these were
	// still there, and OldOverMs after how many milliseconds. All are 0 where nobody looked.
	Old       int64   `json:"old,omitempty"`
	OldStayed int64   `json:"old_stayed,omitempty"`
	OldOverMs float64 `json:"old_over_ms,omitempty"`
	// Emptied is the place, as a Site.Site, of a line of the program's source that takes all out of the
	// path's container, all but a part, or what is old or too much: whether it has run nobody told. Empty
	// where there is none.
	Emptied string `json:"emptied,omitempty"`
	// EmptiedAfter is the age with which that line compares, as a number of the source: mostly of seconds or
	// milliseconds. 0 is unknown.
	EmptiedAfter float64 `json:"emptied_after,omitempty"`
	// Taken is the place, as Emptied's, of a line that takes single elements out of the path's container, where
	// no line empties it.
	Taken string `json:"taken,omitempty"`
	// TakenRan says that the line of Taken had run some times by this look. Where it does not nothing is known: not
	// each interpreter tells, nor of each line.
	TakenRan bool `json:"taken_ran,omitempty"`
	// OnlyAdded says that no line of the program's source takes anything out of the path's container, nor
	// hands it on by another name. Both were found by a search of the text.
	OnlyAdded bool `json:"only_added,omitempty"`
}

// How Gone and Graph read behind a path. Recordings and agents from before the
// fields existed have these words in the path itself.
const (
	goneWords  = " (gone at the end)"
	idleWords  = " (idle in the pool)"
	graphWords = ": autograd graph of "
	classWords = "objects"
)

// UnmarshalJSON reads a holder and takes the words for Gone and Graph off its
// path, so that nothing behind the reader has to look for them.
func (h *Holder) UnmarshalJSON(text []byte) error {
	type plain Holder
	if err := json.Unmarshal(text, (*plain)(h)); err != nil {
		return err
	}
	h.takeWords()
	return nil
}

// takeWords takes the words for Gone and Graph off the path.
func (h *Holder) takeWords() {
	if path, gone := strings.CutSuffix(h.Path, goneWords); gone {
		h.Path, h.Gone = path, true
	}
	if path, graph, found := strings.Cut(h.Path, graphWords); found && graph != "" && h.Graph == "" {
		h.Path, h.Graph = path, graph
	}
}

// OfClass reports whether the path names the objects of a class: what makes no container
// longer, such as the nodes of a tree.
func (h *Holder) OfClass() bool {
	_, rest, _ := strings.Cut(h.Path, " ")
	rest, _, _ = strings.Cut(rest, ":") // "Node objects: a reference cycle"
	return rest == classWords || strings.HasPrefix(rest, classWords+" below ")
}

// ofStates is the Kind of a container whose elements are states of a model.
const ofStates = "snapshots-kept"

// HasNewEach reports whether what is added to the path's container is another thing each time: to a list, or a
// state of a model to a dictionary. The keys of another dictionary may be a few names.
func (h *Holder) HasNewEach() bool {
	return strings.HasPrefix(h.Path, "list ") || strings.HasPrefix(h.Path, "deque ") || h.Kind == ofStates
}

// IsNameless reports whether the path is what the agent says of arrays that no name leads to.
func (h *Holder) IsNameless() bool {
	return strings.HasSuffix(h.Path, ": a reference cycle or native code")
}

// fewParts is how many arrays one thing has at most: a table has one for each kind of column.
const fewParts = 8

// IsOneThing reports whether the path names a variable or an attribute, and no container: an
// array, or an object with a few, that takes the place of the one before.
func (h *Holder) IsOneThing() bool {
	kind, _, typed := strings.Cut(h.Path, " ")
	typed = typed && !strings.ContainsAny(kind, ".(") // "list train.history", not "main() local feed.history"
	return h.Count <= fewParts && h.Length == 0 && h.Graph == "" && !typed && !strings.ContainsAny(h.Path, "[…:")
}

// Kept is the path with the graph that it keeps, for people.
func (h Holder) Kept() string {
	if h.Graph == "" {
		return h.Path
	}
	return h.Path + graphWords + h.Graph
}

// String is all that is known of the path, for people.
func (h Holder) String() string {
	if h.Gone {
		return h.Kept() + goneWords
	}
	return h.Kept()
}

// IdleSite is the name of a site for the buffers that lie idle in a pool since it gave
// them back.
func IdleSite(site string) string { return site + idleWords }

// IsIdleSite reports whether a site's name is one that IdleSite made.
func IsIdleSite(site string) bool { return strings.HasSuffix(site, idleWords) }

// GoneSite is the name of a site whose memory lived earlier and is gone at the
// end, for people.
func GoneSite(site string) string { return site + goneWords }
