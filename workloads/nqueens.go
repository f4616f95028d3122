package workloads

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// The constants of the N-Queens investigation.
const (
	queens       = 8
	diagonals    = 2*queens - 1
	queensRate   = 0.5  // of plain gradient descent
	entropyShare = 0.05 // weight of the sum of p (1 - p)
	queensReport = 100  // epochs between two looks at the loss
)

func nQueens() Workload {
	return Workload{
		Name:    "nqueens",
		Summary: "solves the eight queens problem by gradient descent, many small launches",
		Faults: []Fault{
			{
				Name: "no-autorelease-pool", Truth: "driver-growth", Cause: "missing-autorelease-pool",
				Summary: "no autorelease scope around an epoch: the driver's temporaries stay",
			},
			{
				Name: "uncut-graph", Truth: "app-leak", Cause: "uncut-autograd-graph",
				Summary: "total = total + loss keeps the graph of each epoch",
			},
		},
		Flags: []Flag{
			whole("epochs", 1500, 1, "epochs of one attempt"),
			whole("solutions", 5, 1, "solutions to find"),
			{
				Name: "leak-test", Default: "no", Bare: "yes", Check: yesOrNo,
				Help: "instead of queens, 50 iterations of loops that a continue and a break leave: " +
					"LEAK_TEST_OK, or FAILED",
			},
			whole("attempts", 0, 0, "attempts at most; 0 is 60, or 6 with a fault, which shows by then"),
		},
		run: runQueens,
	}
}

// board is one attempt: the parameter, the two masks, and with the fault the
// running total that keeps all graphs.
type board struct {
	p          *program
	x          *tensor.Tensor // [8, 8], requires gradient
	anti, main *tensor.Tensor // masks [15, 8, 8]
	total      *tensor.Tensor
}

func runQueens(ctx context.Context, p *program) error {
	if p.flag("leak-test") == "yes" {
		return p.leakTest(ctx)
	}
	b := &board{p: p}
	var err error
	if b.anti, err = p.mask("anti-diagonals", func(r, c int) int { return r + c }); err != nil {
		return err
	}
	if b.main, err = p.mask("main diagonals", func(r, c int) int { return r - c + queens - 1 }); err != nil {
		return err
	}
	wanted, most := p.number("solutions")*p.Repeat, p.attempts()*p.Repeat
	found, attempts := 0, 0
	for found < wanted && attempts < most {
		attempts++
		solved, err := b.attempt(ctx, p.number("epochs"))
		if err != nil {
			return err
		}
		p.printer.Snapshot(p.memory())
		if solved != nil {
			found++
			fmt.Fprintf(p.Stdout, "solution %d (attempt %d): columns %v\n", found, attempts, solved)
		}
	}
	fmt.Fprintf(p.Stdout, "%d of %d solutions in %d attempts\n", found, wanted, attempts)
	err = errors.Join(b.anti.Release(), b.main.Release())
	if found < wanted && p.Fault == "" && p.number("attempts") == 0 { // else it was told to give up
		return errors.Join(err, fmt.Errorf("found %d of %d solutions in %d attempts", found,
			wanted, attempts))
	}
	return err
}

// attempts is how many boards are tried at most.
func (p *program) attempts() int {
	switch n := p.number("attempts"); {
	case n > 0:
		return n
	case p.Fault != "":
		return 6
	}
	return 60
}

// mask has a one at [k, r, c] where the field lies on diagonal k.
func (p *program) mask(name string, diagonal func(r, c int) int) (*tensor.Tensor, error) {
	values := make([]float32, diagonals*queens*queens)
	for r := range queens {
		for c := range queens {
			values[(diagonal(r, c)*queens+r)*queens+c] = 1
		}
	}
	t, err := p.rt.From(name, values, diagonals, queens, queens)
	if err != nil {
		return nil, err
	}
	return t.Keep(), nil
}

// attempt trains one board and returns the queens' columns by row if they
// solve it, else nil.
func (b *board) attempt(ctx context.Context, epochs int) ([]int, error) {
	values := make([]float32, queens*queens)
	for i := range values {
		values[i] = float32(b.p.rng.NormFloat64())
	}
	x, err := b.p.rt.From("board", values, queens, queens)
	if err != nil {
		return nil, err
	}
	b.x = x.Keep().RequireGrad()
	b.p.did(console.TensorDecl)
	for epoch := range epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.p.rt.Scope(func() error { return b.epoch(epoch) }); err != nil {
			return nil, fmt.Errorf("epoch %d: %w", epoch, err)
		}
		b.p.tick()
	}
	b.p.did(console.For)
	solved, err := b.solved()
	return solved, errors.Join(err, b.x.ZeroGrad(), b.x.Release())
}

// epoch is one step of gradient descent.
func (b *board) epoch(n int) error {
	rt := b.p.rt
	loss, err := b.loss()
	if err != nil {
		return err
	}
	b.p.did(console.Let)
	if err := rt.Backward(loss); err != nil {
		return err
	}
	b.p.did(console.Expr)
	// In place and outside the graph: the next epoch starts a new one.
	if err := errors.Join(rt.Axpy(b.x.Grad(), b.x, -queensRate), b.x.ZeroGrad()); err != nil {
		return err
	}
	b.p.did(console.Assign)
	if b.p.Fault == "uncut-graph" {
		if err := b.accumulate(loss); err != nil {
			return err
		}
	}
	if (n+1)%queensReport == 0 {
		return rt.Sync()
	}
	return nil // committed when a hundred commands are encoded
}

// accumulate is the planted fault: a running total for a progress report, as
// total = total + loss instead of the loss's value.
func (b *board) accumulate(loss *tensor.Tensor) error {
	if b.total == nil {
		total, err := loss.Share()
		if err == nil {
			b.total = total.Keep()
		}
		return err
	}
	total, err := b.p.rt.Add(b.total, loss)
	if err != nil {
		return err
	}
	err = b.total.Release()
	b.total = total.Keep()
	return err
}

// loss is Σ(col − 1)² + Σ relu(anti − 1)² + Σ relu(main − 1)² + 0.05 Σ p(1 − p)
// with p the softmax of each row.
func (b *board) loss() (*tensor.Tensor, error) {
	c := chain{rt: b.p.rt}
	p := c.one(b.p.rt.Softmax(b.x))
	columns := c.squares(c.affine(c.sum(p, 0), 1, -1))
	anti := c.squares(c.relu(c.affine(c.onDiagonals(p, b.anti), 1, -1)))
	main := c.squares(c.relu(c.affine(c.onDiagonals(p, b.main), 1, -1)))
	spread := c.affine(c.total(c.mul(p, c.affine(p, -1, 1))), entropyShare, 0)
	return c.add(c.add(columns, anti), c.add(main, spread)), c.err
}

// solved reads the board: each row's queen is where it is most likely, and
// rows, columns and both diagonals must hold one queen at most.
func (b *board) solved() ([]int, error) {
	values, err := b.x.Values()
	if err != nil {
		return nil, err
	}
	columns := make([]int, queens)
	for r := range queens {
		for c := range queens {
			if values[r*queens+c] > values[r*queens+columns[r]] {
				columns[r] = c
			}
		}
	}
	if !isSolution(columns) {
		return nil, nil
	}
	return columns, nil
}

// isSolution reports that no two queens, one a row, attack each other.
func isSolution(columns []int) bool {
	for r, c := range columns {
		for s := range r {
			d := columns[s]
			if c == d || c-d == r-s || c-d == s-r {
				return false
			}
		}
	}
	return true
}
