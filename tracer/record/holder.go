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
	// Graph is what ends the autograd graph that the path keeps, such as "Add
	// outputs"; empty when it keeps none.
	Graph string `json:"graph,omitempty"`
	Bytes int64  `json:"bytes"`
	Count int64  `json:"count"`
}

// How Gone and Graph read behind a path. Recordings and agents from before the
// fields existed have these words in the path itself.
const (
	goneWords  = " (gone at the end)"
	graphWords = ": autograd graph of "
)

// UnmarshalJSON reads a holder and takes the words for Gone and Graph off its
// path, so that nothing behind the reader has to look for them.
func (h *Holder) UnmarshalJSON(text []byte) error {
	type plain Holder
	if err := json.Unmarshal(text, (*plain)(h)); err != nil {
		return err
	}
	if path, gone := strings.CutSuffix(h.Path, goneWords); gone {
		h.Path, h.Gone = path, true
	}
	if path, graph, found := strings.Cut(h.Path, graphWords); found && graph != "" && h.Graph == "" {
		h.Path, h.Graph = path, graph
	}
	return nil
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

// GoneSite is the name of a site whose memory lived earlier and is gone at the
// end, for people.
func GoneSite(site string) string { return site + goneWords }
