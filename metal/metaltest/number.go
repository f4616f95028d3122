package metaltest

import (
	"encoding/binary"
	"math"

	"github.com/gpumem/gpumem/metal/kernels"
)

// unit is half the distance of float32 values at 1: the largest relative error
// of one rounding.
const unit = 0x1p-24

// tiny is the smallest normal float32; a device may flush what is below.
const tiny = 0x1p-126

// estimate is a value and how far a float32 computation of it may be off.
type estimate struct{ value, slack float64 }

// term is a summand and the size of the numbers it was made of, which is more
// than its own where they cancelled.
type term struct{ value, size float64 }

func plain(v float64) term { return term{v, math.Abs(v)} }

// sum adds terms. Each of n additions rounds once, in any order; a summand is
// the result of up to ten roundings of its own.
func sum(terms ...term) estimate {
	var value, size float64
	for _, t := range terms {
		value += t.value
		size += t.size
	}
	return estimate{value, unit*float64(len(terms)+10)*size + tiny}
}

// exact is a value without rounding.
func exact(v float64) estimate { return estimate{value: v} }

// near is a value with an error of so many units in the last place.
func near(v, units float64) estimate { return estimate{v, 2*unit*units*math.Abs(v) + tiny} }

// holds reports that a device's value is within the slack.
func (e estimate) holds(got float64) bool {
	if math.IsNaN(e.value) || math.IsInf(e.value, 0) {
		return got == e.value || math.IsNaN(got) && math.IsNaN(e.value)
	}
	return math.Abs(got-e.value) <= e.slack
}

// decodeFloat is the little-endian float32 of the first four bytes.
func decodeFloat(p []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
}

// DecodeHalf is the value of a binary16: sign, five bits of exponent, ten of
// fraction.
func DecodeHalf(h uint16) float64 {
	sign := 1.0
	if h>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// RoundToHalf is the nearest value to v that a binary16 holds, ties to even.
func RoundToHalf(v float64) float64 {
	const largest = 65504
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	_, exponent := math.Frexp(v) // |v| in [2^(exponent-1), 2^exponent)
	place := math.Ldexp(1, max(exponent-11, -24))
	rounded := math.RoundToEven(v/place) * place
	if math.Abs(rounded) > largest {
		return math.Inf(int(math.Copysign(1, v)))
	}
	return rounded
}

// DecodeValue is value i of packed data, NaN for an unknown format. It follows
// the description of the formats (llama.cpp, ggml-common.h) for each value
// alone, without a thought of speed. A value that is a difference of two
// products is rounded to a float32, once, as the kernels round it.
func DecodeValue(f kernels.Format, p []byte, i int) float64 {
	half := func(at int) float64 { return DecodeHalf(binary.LittleEndian.Uint16(p[at:])) }
	switch f {
	case kernels.Float:
		return decodeFloat(p[4*i:])
	case kernels.HalfFloat:
		return half(2 * i)
	case kernels.Q4_0:
		block, j := 18*(i/32), i%32
		nibble := p[block+2+j%16] >> (4 * (j / 16)) & 15
		return half(block) * (float64(nibble) - 8)
	case kernels.Q8_0:
		block := 34 * (i / 32)
		return half(block) * float64(int8(p[block+2+i%32]))
	case kernels.Q6_K:
		block, j := 210*(i/256), i%256
		part, quarter, k := j/128, j%128/32, j%32
		low := p[block+64*part+32*(quarter%2)+k] >> (4 * (quarter / 2)) & 15
		high := p[block+128+32*part+k] >> (2 * quarter) & 3
		scale := int8(p[block+192+8*part+2*quarter+k/16])
		return half(block+208) * float64(scale) * (float64(high)*16 + float64(low) - 32)
	case kernels.BFloat:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(p[2*i:])) << 16))
	case kernels.Q4_1, kernels.Q5_0, kernels.Q5_1, kernels.IQ4_NL:
		return decodeSmall(f, p[i/32*f.BlockBytes():], i%32)
	case kernels.Q2_K, kernels.Q3_K, kernels.Q4_K, kernels.Q5_K, kernels.IQ4_XS:
		return decodeLarge(f, p[i/256*f.BlockBytes():], i%256)
	}
	return math.NaN()
}
