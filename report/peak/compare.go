package peak

import (
	"cmp"
	"slices"
)

// Moments of a run whose compositions are compared.
const (
	MomentPeak = "at the peak"
	MomentOOM  = "when it ran out"
	MomentEnd  = "at the end"
)

// Comparison is what live memory was made of in two runs. The categories of each side
// sum to its bytes.
type Comparison struct {
	BaseMoment string     `json:"base_moment"`
	NewMoment  string     `json:"new_moment"`
	BaseBytes  int64      `json:"base_bytes"`
	NewBytes   int64      `json:"new_bytes"`
	Categories []Compared `json:"categories"`
	// Incomplete is set when the search for names ended early in a run: bytes of any
	// category may then stand under those without a name.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Compared is a category in two runs; 0 is none of it, which is known.
type Compared struct {
	Name   string `json:"name"`
	Base   int64  `json:"base_bytes"`
	New    int64  `json:"new_bytes"`
	Change string `json:"change"` // new, gone, grown, shrunk or same
}

// moment is what live memory was made of at one time.
type moment struct {
	when       string
	categories []Category
	incomplete bool
}

// CompareTops compares the moments at which the two runs had most: the peak of the
// window, else the error that ended the run. nil unless both runs tell one.
func CompareTops(base, new Memory) *Comparison { return compare(base.top(), new.top()) }

// CompareEnds compares what the two runs told at their ends. nil unless both did.
func CompareEnds(base, new Memory) *Comparison { return compare(base.last(), new.last()) }

// top is the moment with most memory. An error that the program caught is none: the
// window is what its steps need.
func (m Memory) top() *moment {
	switch o := m.OOM; {
	case o != nil && o.Died && len(o.Composition) > 0:
		return &moment{MomentOOM, o.Composition, o.Incomplete}
	case m.Peak != nil:
		return &moment{when: MomentPeak, categories: m.Peak.Categories}
	}
	return nil
}

func (m Memory) last() *moment {
	if m.Composition == nil {
		return nil
	}
	return &moment{MomentEnd, m.Composition.Categories, m.Composition.Incomplete}
}

func compare(base, new *moment) *Comparison {
	if base == nil || new == nil {
		return nil
	}
	c := &Comparison{BaseMoment: base.when, NewMoment: new.when,
		Incomplete: base.incomplete || new.incomplete}
	at := map[string]int{}
	of := func(name string) *Compared {
		k, ok := at[name]
		if !ok {
			k = len(c.Categories)
			at[name] = k
			c.Categories = append(c.Categories, Compared{Name: name})
		}
		return &c.Categories[k]
	}
	for _, part := range base.categories {
		of(part.Name).Base += part.Bytes
		c.BaseBytes += part.Bytes
	}
	for _, part := range new.categories {
		of(part.Name).New += part.Bytes
		c.NewBytes += part.Bytes
	}
	for i := range c.Categories {
		c.Categories[i].Change = changeOf(c.Categories[i].Base, c.Categories[i].New)
	}
	slices.SortFunc(c.Categories, func(a, b Compared) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
	return c
}

// size is by how much a category differs.
func (c *Compared) size() int64 { return max(c.New-c.Base, c.Base-c.New) }

func changeOf(base, new int64) string {
	switch {
	case base == new:
		return "same"
	case base == 0:
		return "new"
	case new == 0:
		return "gone"
	case new > base:
		return "grown"
	}
	return "shrunk"
}
