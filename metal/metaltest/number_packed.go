package metaltest

import (
	"encoding/binary"
	"math"

	"github.com/gpumem/gpumem/metal/kernels"
)

// bits are count bits of p from bit number at on, lowest first.
func bits(p []byte, at, count int) float64 {
	value := 0
	for n := range count {
		bit := at + n
		value |= int(p[bit/8]>>(bit%8)&1) << n
	}
	return float64(value)
}

// nibble is value j of so many that lie in the low nibbles of the bytes first,
// then in the high ones.
func nibble(p []byte, j, bytes int) float64 { return bits(p[j%bytes:], 4*(j/bytes), 4) }

func halfOf(p []byte) float64 { return DecodeHalf(binary.LittleEndian.Uint16(p)) }

// once is a value rounded to a float32.
func once(v float64) float64 { return float64(float32(v)) }

// decodeSmall is value j of a block of 32.
func decodeSmall(f kernels.Format, p []byte, j int) float64 {
	switch f {
	case kernels.Q4_1: // scale, minimum, nibbles
		return once(halfOf(p)*nibble(p[4:], j, 16) + halfOf(p[2:]))
	case kernels.Q5_0: // scale, fifth bits, nibbles
		return halfOf(p) * (nibble(p[6:], j, 16) + 16*bits(p[2:], j, 1) - 16)
	case kernels.Q5_1: // scale, minimum, fifth bits, nibbles
		return once(halfOf(p)*(nibble(p[8:], j, 16)+16*bits(p[4:], j, 1)) + halfOf(p[2:]))
	case kernels.IQ4_NL: // scale, nibbles
		return halfOf(p) * level(nibble(p[2:], j, 16))
	}
	return math.NaN()
}

// decodeLarge is value j of a block of 256.
func decodeLarge(f kernels.Format, p []byte, j int) float64 {
	part, group, k := j/128, j%128/32, j%32
	switch f {
	case kernels.Q2_K: // scales and minima, pairs, scale of scales, scale of minima
		q := bits(p[16+32*part+k:], 2*group, 2)
		return once(halfOf(p[80:])*bits(p[j/16:], 0, 4)*q - halfOf(p[82:])*bits(p[j/16:], 4, 4))
	case kernels.Q3_K: // third bits, pairs, scales, scale of scales
		n := j / 16
		scale := bits(p[96+n%8:], 4*(n/8), 4) + 16*bits(p[104+n%4:], 2*(n/4), 2) - 32
		q := bits(p[32+32*part+k:], 2*group, 2) + 4*bits(p[k:], j/32, 1) - 4
		return halfOf(p[108:]) * scale * q
	case kernels.Q4_K: // scale of scales, scale of minima, these, nibbles
		scale, minimum := packedScale(p[4:], j/32)
		q := bits(p[16+j/64*32+k:], 4*(j/32%2), 4)
		return once(halfOf(p)*scale*q - halfOf(p[2:])*minimum)
	case kernels.Q5_K: // as before, fifth bits before the nibbles
		scale, minimum := packedScale(p[4:], j/32)
		q := bits(p[48+j/64*32+k:], 4*(j/32%2), 4) + 16*bits(p[16+k:], j/32, 1)
		return once(halfOf(p)*scale*q - halfOf(p[2:])*minimum)
	case kernels.IQ4_XS: // scale of scales, high bits of these, low bits, nibbles
		n := j / 32
		scale := bits(p[4:], 4*n, 4) + 16*bits(p[2:], 2*n, 2) - 32
		return halfOf(p) * scale * level(nibble(p[8+16*n:], k, 16))
	}
	return math.NaN()
}

// level is a value of the formats with unequal steps, by its number.
func level(number float64) float64 {
	return [16]float64{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}[int(number)]
}

// packedScale is the scale and the minimum of 32 values, number n of 8: the
// first four have six bits of a byte each; of the others the low four bits are
// in the last four bytes, the high two above the first ones.
func packedScale(p []byte, n int) (scale, minimum float64) {
	if n < 4 {
		return bits(p[n:], 0, 6), bits(p[n+4:], 0, 6)
	}
	return bits(p[n+4:], 0, 4) + 16*bits(p[n-4:], 6, 2), bits(p[n+4:], 4, 4) + 16*bits(p[n:], 6, 2)
}
