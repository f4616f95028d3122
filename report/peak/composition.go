package peak

import (
	"cmp"

	"github.com/gpumem/gpumem/tracer/record"
)

// Composition is what live memory was made of at the program's end, or when it held most,
// as its allocator and its tensors told. The categories sum to the allocator's live bytes.
type Composition struct {
	AtMs float64 `json:"at_ms"`
	// Moment is as of record.Composition.
	Moment     string     `json:"moment,omitempty"`
	PID        int        `json:"pid,omitempty"`
	Device     int        `json:"device"`
	Bytes      int64      `json:"bytes"`
	Categories []Category `json:"categories"`
	// Of the idle bytes Whole are segments without a live block, which the pool can
	// give back; Beside lie beside live blocks, and only fitting requests can have
	// them. nil is unknown.
	Whole  *int64 `json:"idle_whole_bytes,omitempty"`
	Beside *int64 `json:"idle_beside_bytes,omitempty"`
	// Rounded is as of record.Composition.
	Rounded *int64 `json:"rounded_bytes,omitempty"`
	// Incomplete is set when the search for names ended early.
	Incomplete bool `json:"incomplete,omitempty"`
	// Modules are what modules of a model own; the rest of Bytes has no module.
	Modules []Owned `json:"modules,omitempty"`
}

// atEnd is the last composition of the framework and process with most live bytes; nil
// without one.
func atEnd(run *record.Run) *Composition {
	type teller struct {
		pid       int
		framework string // a program may have several, each with memory of its own
		moment    string
	}
	last := map[teller]*Composition{}
	for i := range run.Events {
		e := &run.Events[i]
		d, ok := record.DetailOf[record.Composition](e)
		if e.Kind != record.KindComposition || !ok || len(d.Categories) == 0 {
			continue
		}
		c := &Composition{AtMs: e.TMs, Moment: d.Moment, PID: e.PID, Device: d.Device,
			Categories: categories(d.Categories),
			Incomplete: d.Incomplete, Rounded: d.Rounded}
		for _, part := range c.Categories {
			c.Bytes += part.Bytes
		}
		c.Modules = ownedBy(d.Modules)
		for _, p := range d.Pools {
			c.Whole, c.Beside = plus(c.Whole, p.Whole), plus(c.Beside, p.Idle-p.Whole)
		}
		last[teller{e.PID, e.Name, d.Moment}] = c
	}
	var best *Composition
	for _, c := range last {
		if best == nil || c.Bytes > best.Bytes || c.Bytes == best.Bytes && c.before(best) {
			best = c
		}
	}
	return best
}

// ownedBy are the parts that a program told.
func ownedBy(parts []record.OwnedBytes) (owned []Owned) {
	for _, o := range parts {
		if o.Bytes > 0 {
			owned = append(owned, Owned{Module: o.Module, Category: o.Category, Bytes: o.Bytes})
		}
	}
	return owned
}

// before orders compositions of equal size, so that the same run gives the same one.
func (c *Composition) before(other *Composition) bool {
	return cmp.Or(cmp.Compare(c.PID, other.PID), cmp.Compare(c.AtMs, other.AtMs)) < 0
}

func plus(sum *int64, more int64) *int64 {
	if sum != nil {
		more += *sum
	}
	return &more
}

// Memory is what a run tells of its memory beside growth; each is nil where there is
// nothing to tell. Missing says why a window that was recorded is not shown.
type Memory struct {
	OOM         *OOM
	Peak        *Peak
	Composition *Composition
	Missing     string
}

// Of reads a run. It is pure, does not change the run and does not panic on any.
func Of(run *record.Run, g Growth) Memory {
	if run == nil {
		return Memory{}
	}
	m := Memory{OOM: OutOfMemory(run, g), Composition: atEnd(run)}
	m.Peak, m.Missing = ofWindow(run)
	return m
}
