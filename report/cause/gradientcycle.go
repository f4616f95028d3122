package cause

import (
	"regexp"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// gradientsRefer is the signature of gradients that have a graph: it leads back to the
// tensor that each is the gradient of.
func gradientsRefer() held {
	return held{id: gradientGraphs, path: `\bgradients with graphs\b`,
		what: "gradients whose graphs lead back to the tensors that have them",
		next: "take the gradients from torch.autograd.grad, which stores none, or set .grad to None when " +
			"they have been used",
		change: [2]string{"loss.backward(create_graph=True)",
			"grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)"}}
}

// manyLeaves is from how many tensors on with a gradient that has a graph nothing else is likely to
// keep what no name leads to: a program that uses such gradients has one for each parameter.
const manyLeaves = 256

// manyGradients is the same of tensors that are small themselves: what the graphs of their gradients
// keep is many times as much, and nobody weighed it. Nil of few.
func manyGradients(c *Case, s *held, all []held, paths []*regexp.Regexp) *Cause {
	var found *record.Holder
	for _, h := range c.Holders {
		kind := kindOf(&h, all, paths)
		if kind != "" && kind != gradientGraphs && !isAnyTensor(&h) && c.gained(&h) >= leastHeld*c.Size {
			return nil // a name leads to what grew
		}
		if kind == gradientGraphs && h.Count >= manyLeaves {
			found = &h
		}
	}
	if found == nil {
		return nil
	}
	site, _, _ := strings.Cut(found.Filled, "; ")
	id, _, _ := strings.Cut(s.id, "/")
	return &Cause{ID: id, Confidence: .7 * c.Confidence, Next: s.next, Site: site,
		Change: []string{"- " + s.change[0], "+ " + s.change[1]},
		Evidence: evidence("%s and their gradients refer to each other; what the graphs of these keep was "+
			"not weighed", units.Counted(found.Count, "tensor", "tensors"))}
}
