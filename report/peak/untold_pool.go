package peak

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// The reasons of frameworks that do not show their blocks, of which a pool's limit, its live
// bytes and the arrays that Python holds are known.

// isTransient: once it had failed, most of the pool was free. The framework, not Python, had
// taken it for what ran there. The pool's own limit must be what stood in the way, and not
// the driver, which others may have left nothing.
func (s *seen) isTransient(o *OOM, run *record.Run) bool {
	const part = 2
	return o.LimitBytes != nil && o.LiveBytes == &s.death.Live &&
		*o.LiveBytes+*o.AskedBytes <= *o.LimitBytes/part && refusedNothing(run, o.PID)
}

// refusedNothing: it is known that the driver refused a process nothing.
func refusedNothing(run *record.Run, pid int) bool {
	refused := pointsOf(run.Samples, record.ColDriverFailed, pid, math.Inf(1))
	return len(refused) > 0 && refused[len(refused)-1].value == 0
}

func sayTransient(o *OOM, limit limited) string {
	return fmt.Sprintf("the step's peak is too high: it asked for %s more%s, and %s. Once it had failed, %s "+
		"of that were allocated: the rest was taken, or cut into pieces that are too small, by what was "+
		"run or compiled there.",
		units.Bytes(*o.AskedBytes), atSite(o), limit.words, units.Bytes(*o.LiveBytes))
}

func adviceTransient(o *OOM) string {
	if o.Framework != "jax" {
		return "make the batch or the sequence smaller, or compute in a lower precision"
	}
	return "make the batch or the sequence smaller, recompute activations in the backward pass " +
		"(jax.checkpoint), or compute in a lower precision"
}

// arrays are a category: arrays that Python holds, and that are no part of a model.
const arrays = "other arrays of Python"

// keptOf is how many bytes of arrays Python held at the end, where these are most of what
// could be had; else 0.
func keptOf(o *OOM, run *record.Run, limit limited) (kept int64) {
	for i := range run.Events {
		e := &run.Events[i]
		if d, ok := record.DetailOf[record.Composition](e); ok && e.Kind == record.KindComposition &&
			e.PID == o.PID && e.Name == o.Framework && d.Moment == "" {
			kept = d.Categories[arrays]
		}
	}
	const part = 2
	if o.LiveBytes == nil || limit.bytes <= 0 || kept < limit.bytes/part {
		return 0
	}
	return min(kept, *o.LiveBytes)
}

// tellKept says who was seen to hold arrays last, before the error.
func tellKept(o *OOM, run *record.Run, limit limited) {
	for i := range run.Events {
		e := &run.Events[i]
		if e.Kind == record.KindHolders && e.PID == o.PID && e.TMs <= o.AtMs {
			o.Holders = ofDevice(e.Holders)
		}
	}
	who := ""
	if len(o.Holders) > 0 {
		h := &o.Holders[0]
		who = fmt.Sprintf(", of them %s at least by %s", units.Bytes(h.Bytes), h.Path)
		text := "without what " + h.Path + " holds, at least " + units.Bytes(h.Bytes) + " less are live"
		o.Saves = []Save{wouldSave(text, h.Bytes, ptr(*o.LiveBytes-h.Bytes+*o.AskedBytes <= limit.bytes))}
	}
	o.Reason = Held
	o.Sentence = fmt.Sprintf("%s of %s allocated are arrays that Python holds%s; it asked for %s more%s, "+
		"and %s.", units.Bytes(keptOf(o, run, limit)), units.Bytes(*o.LiveBytes), who,
		units.Bytes(*o.AskedBytes), atSite(o), limit.words)
}

// ofDevice are holders of a device's memory that still held it when they were seen.
func ofDevice(all []record.Holder) (held []record.Holder) {
	for _, h := range all {
		if !h.Host && !h.Gone && h.Bytes > 0 {
			held = append(held, h)
		}
	}
	return held
}
