package kernels

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
)

// F16ToF32 widens an IEEE 754 binary16; it is exact for every number, keeps
// infinities, the sign of zero, and a NaN's sign and payload.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h & 0x3ff)
	switch {
	case exp == 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case exp == 0: // zero or subnormal: man x 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(man)*0x1p-24))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// F32ToF16 narrows to IEEE 754 binary16, to nearest, ties to even. Numbers
// from 65,520 on become infinity, those below 2^-24 round to a subnormal or
// zero, a NaN stays a (quiet) NaN with its sign.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	if m := b & 0x7fffffff; m-halfNormal < halfInfinity-halfNormal {
		return uint16(b>>16&0x8000 | narrowNormal(m))
	}
	return narrowSpecial(b)
}

// narrow is F32ToF16 of each value of src; dst is as long.
func narrow(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, f := range src {
		b := math.Float32bits(f)
		if m := b & 0x7fffffff; m-halfNormal < halfInfinity-halfNormal {
			dst[i] = uint16(b>>16&0x8000 | narrowNormal(m))
			continue
		}
		dst[i] = narrowSpecial(b)
	}
}

// narrowNormal rebiases the bits of a normal number without its sign, then
// rounds: half of the last place less one, plus the last kept bit, carries
// exactly when nearest-even rounds up.
func narrowNormal(m uint32) uint32 { return (m - 0x38000000 + 0xfff + m>>13&1) >> 13 }

// The bits of float32 values between which a binary16 is normal: 2^-14 and
// 65,520.
const (
	halfNormal   = 0x38800000
	halfInfinity = 0x477ff000
)

// narrowSpecial is F32ToF16 outside the normal numbers.
func narrowSpecial(b uint32) uint16 {
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= halfInfinity:
		return sign | 0x7c00
	}
	// Below 2^-14 the sum's low bits are the result.
	return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
}

// AsF32 views b as float32 values without a copy. It fails when b is
// misaligned or not a whole number of values; the view lives as long as b.
func AsF32(b []byte) ([]float32, error) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b)%4 != 0 || uintptr(p)%4 != 0 {
		return nil, fmt.Errorf("view %d B as f32: %w", len(b), metal.ErrInvalid)
	}
	return unsafe.Slice((*float32)(p), len(b)/4), nil
}

// AsF16 views b as binary16 values without a copy, as AsF32 does.
func AsF16(b []byte) ([]uint16, error) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b)%2 != 0 || uintptr(p)%2 != 0 {
		return nil, fmt.Errorf("view %d B as f16: %w", len(b), metal.ErrInvalid)
	}
	return unsafe.Slice((*uint16)(p), len(b)/2), nil
}

// asBytes is the memory of v, the little-endian bytes of its values: like the
// kernels, it takes a machine of that order, as all that GPUs are built into
// are.
func asBytes[E uint16 | float32](v []E) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}
