package kernels_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/gpumem/gpumem/metal/kernels"
)

func formats() []kernels.Format { return kernels.Formats() }

// blocks are random blocks of so many values as models have them: scales are
// normal numbers around 0.01, and each block has its own.
func blocks(f kernels.Format, values int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, uint64(f)))
	size := f.BlockBytes()
	all := make([]byte, (values+f.BlockValues()-1)/f.BlockValues()*size)
	for p := all; len(p) > 0; p = p[size:] {
		for i := range p[:size] {
			p[i] = byte(rng.Uint32())
		}
		scale(f, p, float32(0.005+0.01*rng.Float64()))
	}
	return all
}

// scale sets the scales of the block that p begins with.
func scale(f kernels.Format, p []byte, v float32) {
	half := func(at int) { binary.LittleEndian.PutUint16(p[at:], kernels.F32ToF16(v)) }
	switch f {
	case kernels.Float:
		binary.LittleEndian.PutUint32(p, math.Float32bits(v))
	case kernels.BFloat:
		binary.LittleEndian.PutUint16(p, uint16(math.Float32bits(v)>>16))
	case kernels.Q6_K:
		half(208)
	case kernels.Q3_K:
		half(108)
	case kernels.Q2_K:
		half(80)
		half(82)
	case kernels.Q4_1, kernels.Q5_1, kernels.Q4_K, kernels.Q5_K:
		half(0)
		half(2)
	default:
		half(0)
	}
}
