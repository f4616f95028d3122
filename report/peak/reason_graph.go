package peak

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// The reasons that lie with what autograd keeps for a backward pass. One forward pass
// without its backward pass proves nothing: it may be about to come. Several that are kept
// at once, or modules in eval mode, do.

// severalPasses is how many passes of the graph no two crops of a picture, and no pair of
// texts, explain.
const severalPasses = 3

// keepsPasses: the graph keeps several passes, and what the earlier ones made is a part of
// what lives that counts.
func (c *ooms) keepsPasses() bool {
	const part = .2
	return c.Graph != nil && c.Graph.Passes >= severalPasses && c.share(c.Graph.Earlier) >= part
}

// isJoined: one output leads to several passes.
func (c *ooms) isJoined() bool { return c.keepsPasses() && c.Graph.Joined >= severalPasses }

// isUntrained: nobody has an optimizer, and there are no gradients.
func (c *ooms) isUntrained() bool {
	return c.Model.Optimizers != nil && *c.Model.Optimizers == 0 && c.of(gradients) == 0
}

// isEvaluated: the modules that made what is kept are in eval mode, and no input waits for
// a gradient.
func (c *ooms) isEvaluated() bool {
	g := c.Graph
	return g != nil && g.Training != nil && !*g.Training && !g.Inputs
}

// records: operations are recorded, and what they keep is a good part of what lives.
func (c *ooms) records() bool {
	const part = .3
	return c.Grad != nil && *c.Grad && c.share(c.of(unseen, activations)) >= part
}

// isSummed: one output keeps the passes of a program that trains nothing, in training mode:
// a sum of losses that nobody cut from their graphs.
func isSummed(c *ooms) bool {
	return c.records() && c.isUntrained() && c.isJoined() && !c.isEvaluated()
}

func saySummed(c *ooms) string {
	return fmt.Sprintf("it grew until %s: %s keeps the autograd graphs of %d forward passes, with %s of "+
		"their activations at least; it %s%s.", c.full(), c.holderOfGraph("one result"), c.Graph.Joined,
		units.Bytes(c.Graph.Bytes), c.ask(), c.at())
}

func saveSummed(c *ooms) []Save {
	saved := c.Graph.Earlier
	text := "without the graphs behind it (" + c.cut() + ") at least " + units.Bytes(saved) + " less are live"
	return []Save{wouldSave(text, saved, c.fits(saved))}
}

// isUncut: one pass that grew for seconds, step by step of a recurrent module: its state
// went on with the graph of all steps before. Where something is trained, a long sequence
// may take a while as well before its backward pass comes.
func isUncut(c *ooms) bool {
	const trained, untrained, uses = 3, 1, 16 // seconds, seconds
	least := float64(trained)
	if c.isUntrained() {
		least = untrained
	}
	return c.records() && c.Graph != nil && c.Graph.Uses >= uses && c.rose >= least && !c.keepsPasses()
}

func sayUncut(c *ooms) string {
	return fmt.Sprintf("it grew for %s until %s: %s goes on with the graph of all %d steps of a module, "+
		"with %s of their activations at least; it %s%s.", units.Seconds(c.rose), c.full(),
		c.holderOfGraph("a state"), c.Graph.Uses, units.Bytes(c.Graph.Bytes), c.ask(), c.at())
}

// isInference: operations are recorded, and no backward pass comes.
func isInference(c *ooms) bool {
	switch {
	case !c.records():
		return false
	case !c.isUntrained():
		return c.isEvaluated() && c.keepsPasses() // an evaluation between steps
	case c.Graph == nil || c.Graph.Training == nil:
		return !c.Model.Training
	case c.isEvaluated():
		return true
	}
	return c.keepsPasses() && !c.isJoined()
}

func sayNoGrad(c *ooms) string {
	why := []string{}
	if c.Graph == nil || c.isEvaluated() {
		why = append(why, "the model is in eval mode")
	}
	if c.isUntrained() {
		why = append(why, "there is no optimizer and no gradient")
	}
	kept, because := units.Bytes(c.of(unseen, activations)), " ("+strings.Join(why, ", and ")+")"
	if c.keepsPasses() {
		return fmt.Sprintf("%d forward passes without torch.no_grad keep %s of activations for backward "+
			"passes that do not come%s, because %s holds their results; it %s%s.", c.Graph.Passes, kept,
			because, c.holderOfGraph("something"), c.ask(), c.at())
	}
	return fmt.Sprintf("a forward pass without torch.no_grad keeps %s of activations for a backward pass "+
		"that does not come%s, and it %s%s.", kept, because, c.ask(), c.at())
}

// saveNoGrad: the results of passes that are over would be all that is left of them. Of one
// that runs something is needed in any case.
func saveNoGrad(c *ooms) []Save {
	if c.keepsPasses() {
		saved := max(c.Graph.Earlier-c.Graph.Outputs, 0)
		text := "torch.no_grad() saves at least " + units.Bytes(saved)
		return []Save{wouldSave(text, saved, c.fits(saved))}
	}
	saved := c.of(unseen, activations)
	return []Save{wouldSave("torch.no_grad() saves up to "+units.Bytes(saved), saved, nil)}
}

// holderOfGraph names who holds what the passes led to, with the line that puts it there.
func (c *ooms) holderOfGraph(otherwise string) string {
	h := c.Graph.Holder
	if h == nil {
		return otherwise
	}
	if line, _, _ := strings.Cut(h.Filled, "; "); line != "" {
		return h.Path + " (" + short(line) + ")"
	}
	return h.Path
}

// cut is the code that cuts a loss from its graph.
func (c *ooms) cut() string {
	return c.name() + " += loss.detach()"
}

func (c *ooms) name() string {
	if h := c.Graph.Holder; h != nil {
		return h.Path[strings.LastIndexAny(h.Path, " .")+1:]
	}
	return "it"
}

// next is what to do first about passes that are kept, empty where they are not the reason.
func (c *ooms) next(reason Reason) string {
	switch {
	case reason == Growing && isSummed(c):
		return "add numbers in place of graphs (" + c.cut() + ", or loss.item()); " +
			"for a backward pass, call backward() for each loss"
	case reason == Growing && !c.growth.Sure:
		return "cut the state from its graph between steps (" + c.name() + " = " + c.name() +
			".detach()), or run it under torch.no_grad()"
	case reason == Activations && c.keepsPasses():
		return "call backward() for each forward pass, and detach() the results that are only to be looked at"
	}
	return ""
}

// sayPasses: a training keeps the graphs of several passes at once.
func sayPasses(c *ooms) string {
	return fmt.Sprintf("the graphs of %d forward passes are kept at once, because %s holds their results: "+
		"%s of activations and temporaries beside %s that stay (parameters, gradients, optimizer state); "+
		"it %s with %s left%s.", c.Graph.Passes, c.holderOfGraph("something"),
		units.Bytes(c.of(unseen, activations, tensors)),
		units.Bytes(c.of(parameters, gradients, optimizer, buffers)), c.ask(), units.Bytes(c.room), c.at())
}

// savePasses: a backward pass for each forward pass keeps one at a time.
func savePasses(c *ooms) []Save {
	saved := c.Graph.Earlier
	text := "a backward pass after each forward pass saves at least " + units.Bytes(saved)
	return []Save{wouldSave(text, saved, c.fits(saved))}
}

// full is how it ended: at the device's end, or at the program's own limit.
func (c *ooms) full() string {
	if c.limited {
		return "it reached its limit of " + units.Bytes(*c.Limit)
	}
	return "the device was full (" + units.Bytes(c.ceiling()) + ")"
}
