package tensor

import (
	"errors"
	"fmt"
	"slices"
)

// node is one operation of a graph. It lives while a tensor made by it, or a
// later node, refers to it, and holds what its backward pass reads until then.
type node struct {
	op     string
	refs   int
	inputs []*node   // nil where no gradient is wanted
	saved  []*Tensor // released with the node
	// backward makes the gradients of the inputs, nil where the input is.
	backward func(dy *Tensor) ([]*Tensor, error)

	leaf *Tensor // the parameter, for a leaf
	grad *Tensor // of a leaf, kept until ZeroGrad
}

// RequireGrad makes the tensor a leaf whose gradient Backward accumulates.
func (t *Tensor) RequireGrad() *Tensor {
	t.node = &node{op: "leaf", refs: 1, leaf: t}
	return t.As(Parameters)
}

// Grad is the accumulated gradient of a leaf, nil before the first Backward.
func (t *Tensor) Grad() *Tensor {
	if t.node == nil {
		return nil
	}
	return t.node.grad
}

// ZeroGrad gives the gradient of a leaf up.
func (t *Tensor) ZeroGrad() error {
	if t.node == nil || t.node.grad == nil {
		return nil
	}
	grad := t.node.grad
	t.node.grad = nil
	return grad.Release()
}

// Detach cuts the tensor off its graph; what only it reached is released.
func (t *Tensor) Detach() error {
	n := t.node
	if n == nil {
		return nil
	}
	t.node = nil
	return n.unref()
}

// track puts out into the graph when an input is in it. saved tensors are
// shared, without their own place in the graph: a node that reached itself
// would never go.
func track(out *Tensor, op string, inputs, saved []*Tensor,
	backward func(n *node, dy *Tensor) ([]*Tensor, error)) error {
	n := &node{op: op, refs: 1}
	wanted := false
	for _, in := range inputs {
		n.inputs = append(n.inputs, in.node)
		wanted = wanted || in.node != nil
	}
	if !wanted {
		return nil
	}
	for _, t := range saved {
		s, err := t.share()
		if err == nil {
			err = s.Keep().Detach()
			s.rt.live.keep(s, heldByGraph)
			n.saved = append(n.saved, s)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("save for %s: %w", op, err), releaseAll(n.saved))
		}
	}
	for _, in := range n.inputs {
		if in != nil {
			in.refs++
		}
	}
	n.backward = func(dy *Tensor) ([]*Tensor, error) { return backward(n, dy) }
	out.node = n
	return nil
}

// unref gives one reference to the node up. A graph can be as deep as a run is
// long, so what becomes unreachable is worked off in a list.
func (n *node) unref() error {
	var failed error
	for work := []*node{n}; len(work) > 0; {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		n.refs--
		if n.refs > 0 {
			continue
		}
		failed = errors.Join(failed, releaseAll(n.saved))
		if n.grad != nil {
			failed = errors.Join(failed, n.grad.Release())
		}
		for _, in := range n.inputs {
			if in != nil {
				work = append(work, in)
			}
		}
		n.saved, n.inputs, n.grad = nil, nil, nil
	}
	return failed
}

func releaseAll(tensors []*Tensor) error {
	var failed error
	for _, t := range tensors {
		failed = errors.Join(failed, t.Release())
	}
	return failed
}

// Backward accumulates the gradients of loss, a single value, in the leaves it
// was computed from.
func (rt *Runtime) Backward(loss *Tensor) error {
	if loss.node == nil || loss.Len() != 1 {
		return fmt.Errorf("backward from %s %v: no single value with a graph: %w", loss.name,
			loss.shape, ErrShape)
	}
	seed, err := rt.New("grad of "+loss.name, loss.shape...)
	if err != nil {
		return err
	}
	ones := call{"fill", over(seed.Len()), []any{seed.store, float32(1)}}
	if err := rt.machine.encode("fill", ones); err != nil {
		return err
	}
	grads := gradients{loss.node: seed}
	for _, n := range slices.Backward(topological(loss.node)) {
		if err := grads.propagate(rt, n); err != nil {
			return fmt.Errorf("backward of %s: %w", n.op, err)
		}
	}
	return nil
}

// gradients are those of the nodes that a backward pass has reached and not yet done.
type gradients map[*node]*Tensor

// propagate hands the gradient of one node to its inputs, or to its leaf.
func (grads gradients) propagate(rt *Runtime, n *node) error {
	dy := grads[n]
	delete(grads, n)
	if n.leaf != nil {
		if n.grad == nil {
			n.grad = dy.Keep().As(Gradients)
			return nil
		}
		return errors.Join(rt.Axpy(dy, n.grad, 1), dy.Release())
	}
	into, err := n.backward(dy)
	if err != nil {
		return err
	}
	for i, g := range into {
		in := n.inputs[i]
		switch {
		case g == nil:
		case grads[in] == nil:
			grads[in] = g
		default:
			if err := errors.Join(rt.Axpy(g, grads[in], 1), g.Release()); err != nil {
				return err
			}
		}
	}
	return dy.Release()
}

// topological lists the nodes that root reaches, inputs before their users.
func topological(root *node) []*node {
	type frame struct {
		n    *node
		next int
	}
	var order []*node
	seen := map[*node]bool{root: true}
	for stack := []frame{{n: root}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if top.next == len(top.n.inputs) {
			order = append(order, top.n)
			stack = stack[:len(stack)-1]
			continue
		}
		in := top.n.inputs[top.next]
		top.next++
		if in != nil && !seen[in] {
			seen[in] = true
			stack = append(stack, frame{n: in})
		}
	}
	return order
}
