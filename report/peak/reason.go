package peak

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// rule is a reason and when it holds. Rules are tried in order: those that numbers
// prove come before those that only name what is largest.
type rule struct {
	reason Reason
	holds  func(*ooms) bool
	say    func(*ooms) string
	saves  func(*ooms) []Save
}

// rules are the cases. The parts of live or reserved memory from which something
// counts as the reason are set so that a healthy program of the same kind, one that
// is merely full, does not meet them.
func rules() []rule {
	return []rule{
		{Request, asksTooMuch, sayRequest, nil},
		{OtherPool, isBeside, sayBeside, saveBeside},
		{OtherProcess, isCrowded, sayOthers, saveOthers},
		{PrivatePool, isPrivate, sayElsewhere, saveElsewhere},
		{OtherStream, isOtherStream, sayElsewhere, saveElsewhere},
		{Fragmentation, isFragmented, sayFragments, saveFragments},
		{OptimizerStep, isFirstStep, sayOptimizer, saveOptimizer},
		{Checkpoint, isLoading, sayLoading, saveLoading},
		{Growing, isSummed, saySummed, saveSummed},
		{NoGrad, isInference, sayNoGrad, saveNoGrad},
		{Growing, grew, sayGrowth, nil},
		{Growing, isUncut, sayUncut, nil},
		{Weights, isModel, sayModel, saveModel},
		{Held, isHeld, sayHeld, saveHeld},
		{Activations, isStep, sayStep, saveStep},
		{Full, func(*ooms) bool { return true }, sayFull, nil},
	}
}

// explain finds the reason and what would have helped.
func (c *ooms) explain(o *OOM) {
	for _, r := range rules() {
		if !c.known && r.reason != Full || !r.holds(c) {
			continue
		}
		o.Reason, o.Sentence, o.next = r.reason, r.say(c), c.next(r.reason)
		if r.saves != nil {
			o.Saves = r.saves(c)
		}
		break
	}
	own := slices.Clone(o.Saves)
	if o.Reason != Fragmentation && c.known && c.own.PageBytes >= c.short() {
		o.Saves = append(o.Saves, saveFragments(c)...)
	}
	if s := saveLimit(c); s != nil {
		o.Saves = append(o.Saves, *s)
	}
	for i := len(own); i < len(o.Saves); i++ {
		o.Saves[i].Alone = goesOn(o.Reason)
	}
	best := bestOf(own)
	if best == nil && o.Reason != Growing { // for long, nothing else helps against a growth
		best = bestOf(o.Saves)
	}
	if best != nil {
		o.Sentence += " " + best.Text()
	}
}

// goesOn reports whether a program that ran out for a reason was in the midst of asking: for
// the rest of a step, of a model or of a state.
func goesOn(r Reason) bool {
	switch r {
	case Activations, NoGrad, OptimizerStep, Weights, Held, Full, Growing:
		return true
	}
	return false
}

// bestOf is the first change that would have made it fit, else the one that saves
// most.
func bestOf(saves []Save) *Save {
	var best *Save
	for i := range saves {
		s := &saves[i]
		if s.Fits != nil && *s.Fits {
			return s
		}
		if s.Fits == nil && best == nil {
			best = s
		}
	}
	return best
}

// Text is the change as a sentence, with what would have come of it.
func (s *Save) Text() string {
	text := s.Change
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsAny(word, ".(_") { // code stays as it is
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	switch {
	case s.Fits == nil:
		return text + "."
	case *s.Fits && s.Alone:
		return text + ": the request would have fit; what the program would have asked for next is not counted."
	case *s.Fits:
		return text + ": the request would have fit."
	}
	return text + ": not enough."
}

// fits reports whether so many bytes less would have been enough.
func (c *ooms) fits(saved int64) *bool { return ptr(saved >= c.short()) }

func (c *ooms) ask() string { return "asked for " + units.Bytes(c.Asked) }

func (c *ooms) ceiling() int64 {
	if c.Limit != nil {
		return *c.Limit
	}
	return c.live + c.idle + c.room
}

// at is where the request came from.
func (c *ooms) at() string {
	if c.Site == "" {
		return ""
	}
	if c.OtherThread {
		return ", in the backward pass or another thread, while the program was at " + short(c.Site)
	}
	if c.Module != "" {
		return " at " + short(c.Site) + " (module " + c.Module + ")"
	}
	return " at " + short(c.Site)
}
