package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// trainingFaults are the planted defects of the two training tests.
func trainingFaults() []Fault {
	return []Fault{
		{
			Name: "fresh-params", Truth: "app-leak", Cause: "handle-leak",
			Summary: "a new 4-byte buffer for each parameter of each command, never freed",
		},
		{
			Name: "early-return", Truth: "none",
			Summary: "parameter buffers return to the pool before the commands that read them have run",
		},
		{
			Name: "no-flush", Truth: "app-leak", Cause: "command-buffer-backlog",
			Summary: "nothing waits for the device, which is slower than the program",
		},
		{
			Name: doubleDivision, Truth: "none",
			Summary: "gradients are divided by the batch twice, as the original's are: no leak, but it " +
				"hardly learns",
		},
	}
}

// doubleDivision is a defect that the investigation's program has and does not
// tell of: its loss divides by the rows, and so does each layer's gradient.
const doubleDivision = "double-division"

// faultyRuns is how many trainings a faulty program makes at most: what it
// keeps shows by then, and does not fill the machine.
const faultyRuns = 3

// training is a network of two layers and its data.
type training struct {
	hidden          int
	act, outAct     kernels.Activation
	inputs, targets []float32 // rows of width 1 or more
	width           int       // of an input row
	batch           int
	epochs          int
	rate            float64
	// good is the mean squared error that a run must reach.
	good float64
}

// train runs the training and returns the mean squared error over the test
// rows, of which check gives inputs and targets.
func (p *program) train(ctx context.Context, t training, testIn, testOut []float32) (loss float64,
	err error) {
	first, err := p.rt.NewLinear("hidden", t.width, t.hidden, t.act, p.rng)
	if err != nil {
		return 0, err
	}
	second, err := p.rt.NewLinear("output", t.hidden, 1, t.outAct, p.rng)
	if err != nil {
		return 0, errors.Join(err, first.Release())
	}
	adam := tensor.NewAdam(t.rate)
	for epoch := range t.epochs {
		start := time.Now()
		for lo := 0; lo+t.batch <= len(t.targets); lo += t.batch {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			err := p.rt.Scope(func() error {
				return p.trainBatch(first, second, adam, t.inputs[lo*t.width:(lo+t.batch)*t.width],
					t.targets[lo:lo+t.batch])
			})
			if err := p.tolerate(err); err != nil {
				return 0, fmt.Errorf("epoch %d: %w", epoch+1, err)
			}
		}
		if p.Fault != "no-flush" {
			if err := p.tolerate(p.rt.Sync()); err != nil {
				return 0, fmt.Errorf("epoch %d: %w", epoch+1, err)
			}
		}
		p.epochDone(epoch, time.Since(start))
	}
	if p.Fault == "no-flush" {
		return math.NaN(), errors.Join(first.Release(), second.Release()) // reading a loss would wait
	}
	err = p.rt.Scope(func() error {
		loss, err = p.meanSquaredError(first, second, testIn, testOut)
		return err
	})
	if err != nil {
		loss = math.NaN()
	}
	return loss, errors.Join(p.tolerate(err), p.tolerate(p.rt.Cleanup()), first.Release(), second.Release())
}

// tolerate lets the program with the planted early return go on after a command
// that read a parameter of another one and failed: it is what the fault does.
func (p *program) tolerate(err error) error {
	if err == nil || p.Fault != "early-return" {
		return err
	}
	if p.spoiled++; p.spoiled == 1 {
		fmt.Fprintf(p.Stderr, "%s: a command ran with another one's parameters: %v\n", p.workload.Name, err)
	}
	return nil
}

// epochDone prints the epoch's line, a hundred times a run at most, and marks
// the step.
func (p *program) epochDone(epoch int, took time.Duration) {
	if every := max(1, p.number("epochs")/10); (epoch+1)%every == 0 {
		p.printer.Epoch(epoch+1, took.Seconds())
	}
	p.tick()
}

// trainBatch is one batch: 13 commands with two layers.
func (p *program) trainBatch(first, second *tensor.Linear, adam *tensor.Adam,
	inputs, targets []float32) error {
	rows := len(targets)
	x, err := p.rt.From("batch inputs", inputs, rows, len(inputs)/rows)
	if err != nil {
		return err
	}
	want, err := p.rt.From("batch targets", targets, rows, 1)
	if err != nil {
		return err
	}
	p.did(console.Let)
	h, err := first.Forward(x)
	if err != nil {
		return err
	}
	y, err := second.Forward(h)
	if err != nil {
		return err
	}
	p.did(console.Let)
	n := 1 // a row has one value; Backward takes the mean over rows
	if p.Fault == doubleDivision {
		n = rows
	}
	dy, err := p.rt.MSEGrad(y, want, n)
	if err != nil {
		return err
	}
	dh, err := second.Backward(dy)
	if err != nil {
		return err
	}
	if _, err := first.Backward(dh); err != nil {
		return err
	}
	p.did(console.Expr)
	if err := adam.Step(first, second); err != nil {
		return err
	}
	p.did(console.Expr)
	return p.rt.Commit()
}

// meanSquaredError judges the network on rows it is given.
func (p *program) meanSquaredError(first, second *tensor.Linear, inputs, targets []float32) (float64, error) {
	rows := len(targets)
	x, err := p.rt.From("test inputs", inputs, rows, len(inputs)/rows)
	if err != nil {
		return 0, err
	}
	h, err := first.Forward(x)
	if err != nil {
		return 0, err
	}
	y, err := second.Forward(h)
	if err != nil {
		return 0, err
	}
	got, err := y.Values()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range got {
		sum += math.Pow(float64(got[i]-targets[i]), 2)
	}
	return sum / float64(rows), nil
}

// runs trains several times in sequence, with cleanup in between, and fails
// when a healthy one does not converge.
func (p *program) runs(ctx context.Context, t training, testIn, testOut []float32) error {
	runs := p.number("runs")
	if p.Fault != "" {
		runs = min(runs, faultyRuns)
	}
	for n := range runs * p.Repeat {
		loss, err := p.train(ctx, t, testIn, testOut)
		if err != nil {
			return err
		}
		if math.IsNaN(loss) { // the planted fault kept it from being read
			fmt.Fprintf(p.Stdout, "run %d: mean squared error not known after %d epochs\n", n+1, t.epochs)
			continue
		}
		fmt.Fprintf(p.Stdout, "run %d: mean squared error %.5f after %d epochs\n", n+1, loss, t.epochs)
		if p.Fault == "" && !(loss <= t.good) {
			return fmt.Errorf("run %d did not converge: mean squared error %.5f, expected at most %.5f",
				n+1, loss, t.good)
		}
	}
	return nil
}
