package kernels

import "encoding/binary"

// halfAt is the binary16 at the beginning of p.
func halfAt(p []byte) float32 { return F16ToF32(binary.LittleEndian.Uint16(p)) }

// nibbleValues looks up 32 values by their nibbles, the low ones first.
func nibbleValues(y *[32]float32, nibbles *[16]byte, values *[16]float32) {
	for i, q := range nibbles {
		y[i] = values[q&15]
		y[i+16] = values[q>>4]
	}
}

// smallBlock decodes the blocks of 32 values with a minimum or fifth bits.
func (f Format) smallBlock(dst []float32, src []byte) {
	d, low, fifth, nibbles := halfAt(src), float32(0), uint32(0), src[len(src)-16:]
	bias := 0
	if f == Q4_1 || f == Q5_1 {
		low = halfAt(src[2:])
	}
	if f == Q5_0 || f == Q5_1 {
		fifth = binary.LittleEndian.Uint32(src[len(src)-20:])
	}
	if f == Q5_0 {
		bias = 16
	}
	for i, q := range nibbles {
		dst[i] = d*float32(int(q&15|byte(fifth>>i&1)<<4)-bias) + low
		dst[i+16] = d*float32(int(q>>4|byte(fifth>>(i+16)&1)<<4)-bias) + low
	}
}

// q2Block decodes 16 scales and minima of four bits, 64 bytes of bit pairs, a
// scale over the scales and one over the minima.
func q2Block(dst []float32, src []byte) {
	d, low := halfAt(src[80:]), halfAt(src[82:])
	for n, s := range src[:16] { // 16 values share a scale
		part, group, at := n/8, n%8/2, n%2*16
		scale, minimum := d*float32(s&15), low*float32(s>>4)
		pairs := src[16+32*part+at : 16+32*part+at+16]
		y := dst[16*n : 16*n+16]
		for i, q := range pairs {
			y[i] = scale*float32(q>>(2*group)&3) - minimum
		}
	}
}

// q3Block decodes 32 bytes of third bits, 64 bytes of bit pairs, 16 scales of
// six bits in 12 bytes and a scale over them.
func q3Block(dst []float32, src []byte) {
	third, scales, d := src[:32], src[96:108], halfAt(src[108:])
	for n := range 16 {
		part, group, at := n/8, n%8/2, n%2*16
		six := scales[n%8]>>(4*(n/8))&15 | scales[8+n%4]>>(2*(n/4))&3<<4
		scale := d * float32(int(six)-32)
		y := dst[16*n : 16*n+16]
		for i, q := range src[32+32*part+at : 32+32*part+at+16] {
			y[i] = scale * float32(int(q>>(2*group)&3|third[at+i]>>(4*part+group)&1<<2)-4)
		}
	}
}

// sixBits is scale and minimum number n of 8: six bits each in 12 bytes.
func sixBits(p []byte, n int) (scale, minimum byte) {
	if n < 4 {
		return p[n] & 63, p[n+4] & 63
	}
	return p[n+4]&15 | p[n-4]>>6<<4, p[n+4]>>4 | p[n]>>6<<4
}

// q45Block decodes a scale over the scales and one over the minima, these, in
// Q5_K 32 bytes of fifth bits, and 128 bytes of nibbles.
func q45Block(dst []float32, src []byte) {
	d, low, scales, nibbles := halfAt(src), halfAt(src[2:]), src[4:16], src[len(src)-128:]
	fifth := src[16 : len(src)-128] // none in Q4_K
	for n := range 8 {
		s, m := sixBits(scales, n)
		scale, minimum := d*float32(s), low*float32(m)
		var values [32]float32
		for q := range 16 + len(fifth)/2 {
			values[q] = scale*float32(q) - minimum
		}
		y, shift := (*[32]float32)(dst[32*n:]), uint(4*(n%2))
		if len(fifth) == 0 {
			for i, q := range (*[32]byte)(nibbles[32*(n/2):]) {
				y[i] = values[q>>shift&15]
			}
			continue
		}
		high := (*[32]byte)(fifth)
		for i, q := range (*[32]byte)(nibbles[32*(n/2):]) {
			y[i] = values[q>>shift&15|high[i]>>n&1<<4]
		}
	}
}

// iq4Values decodes 32 nibbles, which number 16 levels that lie closer together
// around 0 (llama.cpp, kvalues_iq4nl).
func iq4Values(y *[32]float32, nibbles *[16]byte, scale float32) {
	values := [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	for q := range values {
		values[q] *= scale
	}
	nibbleValues(y, nibbles, &values)
}

// iq4Block decodes a scale over the scales, the high two bits of eight scales in
// two bytes, their low four bits in four, and 128 bytes of nibbles.
func iq4Block(dst []float32, src []byte) {
	d, high, low, nibbles := halfAt(src), binary.LittleEndian.Uint16(src[2:]), src[4:8], src[8:]
	for n := range 8 {
		six := int(low[n/2]>>(4*(n%2))&15) | int(high>>(2*n)&3)<<4
		iq4Values((*[32]float32)(dst[32*n:]), (*[16]byte)(nibbles[16*n:]), d*float32(six-32))
	}
}
