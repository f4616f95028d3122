package workloads

import (
	"context"
	"fmt"

	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// The sizes of the TL language's regression test of scopes and references.
const (
	leakIterations = 50
	leakMask       = 32  // values of a row and of a column
	leakBoard      = 128 // values of a row and of a column
	leakLoop       = 8   // passes of the inner loop, which a break ends sooner
)

// leakTest runs the loops of the regression test and says whether scope depth and
// references are what they were at the start.
func (p *program) leakTest(ctx context.Context) error {
	before := p.rt.Stats()
	for n := range leakIterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.rt.Scope(func() error { return leakIteration(p) }); err != nil {
			return fmt.Errorf("iteration %d: %w", n, err)
		}
		p.did(console.For)
		p.tick()
	}
	after := p.rt.Stats()
	if after.ScopeDepth == before.ScopeDepth && after.Refs == before.Refs {
		fmt.Fprintln(p.Stdout, "LEAK_TEST_OK")
		return nil
	}
	fmt.Fprintf(p.Stdout, "FAILED: scope depth %d, was %d; %d references, were %d\n", after.ScopeDepth,
		before.ScopeDepth, after.Refs, before.Refs)
	return nil
}

// leakIteration makes a mask and a board, and leaves its inner loop by a continue
// and by a break: each pass has a scope, which must end in all three ways.
func leakIteration(p *program) error {
	mask, err := p.rt.From("mask", make([]float32, leakMask*leakMask), leakMask, leakMask)
	if err != nil {
		return err
	}
	board, err := p.rt.From("board", make([]float32, leakBoard*leakBoard), leakBoard, leakBoard)
	if err != nil {
		return err
	}
	if p.Fault == "uncut-graph" {
		if _, err = shareForEver(p, board); err != nil {
			return err
		}
	}
	for pass := range leakLoop {
		stop := false
		err := p.rt.Scope(func() error {
			if pass == 1 {
				return nil // the original's continue
			}
			if pass == 2 {
				stop = true
				return nil
			}
			_, err := p.rt.Add(mask, mask)
			return err
		})
		if err != nil || stop {
			return err
		}
	}
	return nil
}

// shareForEver adds a reference that nobody gives up.
func shareForEver(p *program, t *tensor.Tensor) (*tensor.Tensor, error) {
	s, err := t.Share()
	if err != nil {
		return nil, err
	}
	return s.Keep(), nil
}
