package workloads

import (
	"context"
	"math"

	"github.com/gpumem/gpumem/metal/kernels"
)

func sine() Workload {
	return Workload{
		Name:    "sine",
		Summary: "fits a sine with 1-128-1 neurons and Adam, 7 batches of 128 an epoch",
		Faults:  trainingFaults(),
		Flags: []Flag{
			whole("epochs", 50, 1, "epochs of one run"),
			whole("runs", 6, 1, "trainings in sequence"),
		},
		run: runSine,
	}
}

func runSine(ctx context.Context, p *program) error {
	in, out := p.sines(1000)
	testIn, testOut := p.sines(100)
	return p.runs(ctx, training{
		width: 1, hidden: 128, act: kernels.ActReLU, outAct: kernels.ActTanh,
		inputs: in, targets: out, batch: 128, epochs: p.number("epochs"), rate: 0.001,
		good: 0.25, // the mean, 0, has 0.5
	}, testIn, testOut)
}

// sines are samples of the sine over one period.
func (p *program) sines(n int) (x, y []float32) {
	for range n {
		v := p.rng.Float64() * 2 * math.Pi
		x = append(x, float32(v))
		y = append(y, float32(math.Sin(v)))
	}
	return x, y
}
