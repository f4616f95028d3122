package kernels_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/gpumem/gpumem/metal/kernels"
)

func formats() []kernels.Format {
	return []kernels.Format{kernels.Float, kernels.HalfFloat, kernels.Q4_0, kernels.Q8_0, kernels.Q6_K}
}

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

// scale sets the scale of the block that p begins with.
func scale(f kernels.Format, p []byte, v float32) {
	switch f {
	case kernels.Float:
		binary.LittleEndian.PutUint32(p, math.Float32bits(v))
	case kernels.Q6_K:
		binary.LittleEndian.PutUint16(p[208:], kernels.F32ToF16(v))
	default:
		binary.LittleEndian.PutUint16(p, kernels.F32ToF16(v))
	}
}
