package peak

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// The reasons that lie with the program.

// isFirstStep: inside the optimizer's step, some of its state is there and some is
// not. A state that is small beside what lives is not what did not fit.
func isFirstStep(c *ooms) bool {
	if c.Model.Optimizer == nil || !c.isStepping() || c.outgrew() {
		return false
	}
	const part = .1
	if c.isUnstored() {
		return c.share(c.of(gradients)) >= part // its state comes to as much
	}
	return c.share(c.expected()) >= part
}

// isStepping: the optimizer itself asks, and no forward or backward pass of a closure that
// it calls.
func (c *ooms) isStepping() bool {
	if c.OtherThread {
		return false // the stack is not that of who asked
	}
	for i := range c.Stack { // innermost first
		switch {
		case c.isAt(i, "torch/optim/"):
			return true
		case c.isAt(i, "torch/autograd/"), c.isAt(i, "torch/nn/modules/module.py"):
			return false
		}
	}
	return false
}

// isUnstored: the optimizer keeps its state only once the first step is over (SGD), and
// what it has made of it so far is tensors of Python's.
func (c *ooms) isUnstored() bool {
	o := c.Model.Optimizer
	return o.Parameters > 0 && o.WithState == 0 && c.of(gradients) > 0
}

// expected is what the optimizer's state takes once it is whole, in proportion to the
// parameters that have theirs.
func (c *ooms) expected() int64 {
	o := c.Model.Optimizer
	if o == nil || o.WithState <= 0 || o.WithState >= o.Parameters {
		return 0
	}
	return int64(math.Round(float64(o.State) / float64(o.WithState) * float64(o.Parameters)))
}

func sayOptimizer(c *ooms) string {
	o := c.Model.Optimizer
	if c.isUnstored() {
		return fmt.Sprintf("the first step of %s does not fit: beside %s of parameters and %s of gradients it had made "+
			"%s, and %s more%s.", o.Name, units.Bytes(c.of(parameters)), units.Bytes(c.of(gradients)),
			units.Bytes(c.of(tensors)), c.ask(), c.at())
	}
	return fmt.Sprintf("the state of %s does not fit: it needs %s beside %s of parameters and %s of gradients, "+
		"and had %s when it %s more%s.", o.Name, units.Bytes(c.expected()), units.Bytes(c.of(parameters)),
		units.Bytes(c.of(gradients)), units.Bytes(o.State), c.ask(), c.at())
}

func saveOptimizer(c *ooms) []Save {
	if c.isUnstored() {
		return nil // how much it would be is not known
	}
	o := c.Model.Optimizer
	rest := c.expected() - o.State // still to come
	need := func(saved int64) *bool { return ptr(c.live-o.State+c.expected()-saved <= c.live+c.idle+c.room) }
	return []Save{
		{"state of 8 bits an element in place of 32 saves " + units.Bytes(c.expected()*3/4), c.expected() * 3 / 4,
			need(c.expected() * 3 / 4)},
		{"an optimizer without state saves " + units.Bytes(c.expected()), c.expected(), need(c.expected())},
		{fmt.Sprintf("%s more on the device would do", units.Bytes(max(rest-c.room, 0))), max(rest-c.room, 0), nil},
	}
}

// isLoading: inside torch.load, beside parameters that are there already.
func isLoading(c *ooms) bool {
	return c.within("torch/serialization.py") && c.of(parameters, tensors) > 0 && !c.outgrew()
}

func sayLoading(c *ooms) string {
	return fmt.Sprintf("a checkpoint is loaded onto the device beside the model: %s of it are there beside %s "+
		"of parameters%s.", units.Bytes(c.of(tensors)), units.Bytes(c.of(parameters)), c.at())
}

func saveLoading(c *ooms) []Save {
	saved := c.of(tensors) + c.Asked
	return []Save{{`torch.load(…, map_location="cpu") saves ` + units.Bytes(saved) + " on the device", saved,
		c.fits(saved)}}
}

// grew: the verdict is sure of a growth, and not of the host's memory.
func grew(c *ooms) bool { return c.growth.Sure && c.growth.Class != "host-growth" }

// outgrew: what grew for sure is most of what lives, so that nothing else is the reason.
func (c *ooms) outgrew() bool {
	const part = .5
	return grew(c) && c.share(c.growth.Bytes) >= part
}

func sayGrowth(c *ooms) string {
	text := fmt.Sprintf("it grew until %s, with %s live", c.full(), units.Bytes(c.live))
	if c.growth.Claim != "" {
		text += ": " + strings.TrimSuffix(c.growth.Claim, ".")
	}
	return text + "."
}

// isModel: nearly all is parameters. Of a model that is on its way to the device, a search
// that ended early has not found them all.
func isModel(c *ooms) bool {
	const part = .6
	known := c.of(parameters, buffers)
	if c.isHalfFound() {
		known += c.of(unseen)
	}
	return c.share(known) >= part && c.of(gradients, optimizer) == 0
}

// isMoved: a module takes its parameters to the device, or to another type, one by one.
func (c *ooms) isMoved() bool { return c.within("torch/nn/modules/module.py", "_apply") }

// isHalfFound: parameters of a model that is moved are among what nobody has named yet.
func (c *ooms) isHalfFound() bool {
	return c.isMoved() && c.Incomplete && c.of(activations) == 0 && c.of(parameters) > 0
}

func sayModel(c *ooms) string {
	if c.isHalfFound() {
		return fmt.Sprintf("the model does not fit: while it was moved, %s were live, %s of them parameters "+
			"for sure (the search for them ended early), %s more were asked for%s, and the limit is %s.",
			units.Bytes(c.live), units.Bytes(c.of(parameters, buffers)), units.Bytes(c.Asked), c.at(),
			units.Bytes(c.ceiling()))
	}
	return fmt.Sprintf("the model does not fit: %s of parameters were there, %s more were asked for%s, and the "+
		"limit is %s.", units.Bytes(c.of(parameters, buffers)), units.Bytes(c.Asked), c.at(), units.Bytes(c.ceiling()))
}

func saveModel(c *ooms) []Save {
	full := c.Model.Dtypes["torch.float32"]
	if full == 0 {
		return nil
	}
	return []Save{{"half precision saves " + units.Bytes(full/2) + " of the parameters so far", full / 2,
		c.fits(full/2 + c.Asked/2)}}
}

// isHeld: tensors that Python refers to, and that are no part of a model, are most of
// what lives.
func isHeld(c *ooms) bool {
	const part = .5
	return c.share(c.of(tensors)) >= part
}

func sayHeld(c *ooms) string {
	who := ""
	if len(c.Holders) > 0 {
		h := &c.Holders[0]
		who = fmt.Sprintf(", of them %s by %s", units.Bytes(h.Bytes), h.Path)
	}
	return fmt.Sprintf("%s of %s live are tensors that Python holds beside model and optimizer%s; it %s%s.",
		units.Bytes(c.of(tensors)), units.Bytes(c.live), who, c.ask(), c.at())
}

func saveHeld(c *ooms) (saves []Save) {
	for i := range c.Holders {
		if h := &c.Holders[i]; h.Bytes > 0 && i < 3 {
			saves = append(saves, Save{"without what " + h.Path + " holds, " + units.Bytes(h.Bytes) + " less are live", h.Bytes,
				c.fits(h.Bytes)})
		}
	}
	return saves
}

// isStep: what the step makes is the largest part. A model that is moved is no step.
func isStep(c *ooms) bool {
	if c.isMoved() {
		return false
	}
	step := c.of(unseen, activations, tensors)
	const part = .4
	return c.share(step) >= part || step > c.of(parameters, gradients, optimizer, buffers)
}

func sayStep(c *ooms) string {
	if c.keepsPasses() {
		return sayPasses(c)
	}
	return fmt.Sprintf("the step's peak is too high: %s of activations and temporaries beside %s that stay "+
		"(parameters, gradients, optimizer state), and it %s with %s left%s.",
		units.Bytes(c.of(unseen, activations, tensors)),
		units.Bytes(c.of(parameters, gradients, optimizer, buffers)), c.ask(), units.Bytes(c.room), c.at())
}

// saveStep says which part of the batch can fit at most: what stays does not shrink
// with it, and the step was not over when it died.
func saveStep(c *ooms) []Save {
	if c.keepsPasses() {
		return savePasses(c)
	}
	step := c.of(unseen, activations, tensors) + c.Asked
	room := c.live + c.idle + c.room - c.of(parameters, gradients, optimizer, buffers)
	if step <= 0 || room <= 0 || room >= step {
		return nil
	}
	most := math.Floor(100 * float64(room) / float64(step))
	return []Save{{fmt.Sprintf("at most %.0f %% of this batch can fit, if the step's memory is in proportion to "+
		"it: the step had come to %s, and %s are there for it", most, units.Bytes(step), units.Bytes(room)), step - room,
		nil}}
}

func sayFull(c *ooms) string {
	if !c.known {
		return fmt.Sprintf("it %s%s.", c.ask(), c.at())
	}
	return fmt.Sprintf("%s are live of %s, and it %s with %s left%s.", units.Bytes(c.live),
		units.Bytes(c.ceiling()), c.ask(),
		units.Bytes(c.room), c.at())
}

// saveLimit: the program's own limit is what it ran into.
func saveLimit(c *ooms) *Save {
	if !c.known || !c.limited || c.Free == nil {
		return nil
	}
	more := c.short()
	fits := *c.Free >= c.Asked
	text := fmt.Sprintf("%s more than the %s that the program allows itself, of the device's %s",
		units.Bytes(more), units.Bytes(*c.Limit), units.Bytes(*c.Capacity))
	return &Save{text, more, &fits}
}
