package workloads

import (
	"context"
	"math"
	"math/rand/v2"

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
			whole("samples", 1000, sineBatch,
				"training samples; the investigation's later version has 10000"),
			whole("hidden", 128, 1, "hidden neurons; 256 in the later version, with 100 epochs"),
		},
		run: runSine,
	}
}

const (
	sineBatch = 128
	sineTests = 10 // one test sample for so many training samples
)

func runSine(ctx context.Context, p *program) error {
	samples := p.number("samples")
	in, out := sines(p.rng, samples)
	testIn, testOut := sines(p.rng, max(samples/sineTests, 1))
	return p.runs(ctx, training{
		width: 1, hidden: p.number("hidden"), act: kernels.ActReLU, outAct: kernels.ActTanh,
		inputs: in, targets: out, batch: sineBatch, epochs: p.number("epochs"), rate: 0.001,
		// The best straight line leaves 1/2 - 3/π², about 0.196: below it the
		// network has bent.
		good: 0.18,
	}, testIn, testOut)
}

// sines are samples of the sine over one period.
func sines(rng *rand.Rand, n int) (x, y []float32) {
	for range n {
		v := rng.Float64() * 2 * math.Pi
		x = append(x, float32(v))
		y = append(y, float32(math.Sin(v)))
	}
	return x, y
}
