package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/metal"
)

// Format is a tensor's storage format; the values are GGUF's type ids.
type Format uint32

// The formats that can be dequantised.
const (
	Float     Format = 0  // f32
	HalfFloat Format = 1  // f16
	Q4_0      Format = 2  // 32 values in 18 bytes
	Q4_1      Format = 3  // 32 values in 20 bytes
	Q5_0      Format = 6  // 32 values in 22 bytes
	Q5_1      Format = 7  // 32 values in 24 bytes
	Q8_0      Format = 8  // 32 values in 34 bytes
	Q2_K      Format = 10 // 256 values in 84 bytes
	Q3_K      Format = 11 // 256 values in 110 bytes
	Q4_K      Format = 12 // 256 values in 144 bytes
	Q5_K      Format = 13 // 256 values in 176 bytes
	Q6_K      Format = 14 // 256 values in 210 bytes
	IQ4_NL    Format = 20 // 32 values in 18 bytes
	IQ4_XS    Format = 23 // 256 values in 136 bytes
	BFloat    Format = 30 // the upper half of a f32
)

// layout is a format's name and block, zero for an unknown format.
type layout struct {
	name          string
	values, bytes int
}

func (f Format) layout() layout {
	switch f {
	case Float:
		return layout{"F32", 1, 4}
	case HalfFloat:
		return layout{"F16", 1, 2}
	case BFloat:
		return layout{"BF16", 1, 2}
	case Q4_0:
		return layout{"Q4_0", 32, 18}
	case Q4_1:
		return layout{"Q4_1", 32, 20}
	case Q5_0:
		return layout{"Q5_0", 32, 22}
	case Q5_1:
		return layout{"Q5_1", 32, 24}
	case Q8_0:
		return layout{"Q8_0", 32, 34}
	case Q2_K:
		return layout{"Q2_K", maxBlock, 84}
	case Q3_K:
		return layout{"Q3_K", maxBlock, 110}
	case Q4_K:
		return layout{"Q4_K", maxBlock, 144}
	case Q5_K:
		return layout{"Q5_K", maxBlock, 176}
	case Q6_K:
		return layout{"Q6_K", maxBlock, 210}
	case IQ4_NL:
		return layout{"IQ4_NL", 32, 18}
	case IQ4_XS:
		return layout{"IQ4_XS", maxBlock, 136}
	}
	return layout{}
}

// Formats lists the formats that can be dequantised, by their ids.
func Formats() []Format {
	return []Format{
		Float, HalfFloat, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL,
		IQ4_XS, BFloat,
	}
}

// Known reports that f is one of the formats above.
func (f Format) Known() bool { return f.layout().bytes != 0 }

// String is the name in GGUF's spelling, or the number of an unknown format.
func (f Format) String() string {
	if l := f.layout(); l.name != "" {
		return l.name
	}
	return fmt.Sprintf("format %d", uint32(f))
}

// BlockValues is how many values a block holds, 0 for an unknown format.
func (f Format) BlockValues() int { return f.layout().values }

// BlockBytes is the size of a block, 0 for an unknown format.
func (f Format) BlockBytes() int { return f.layout().bytes }

// maxBlock is the largest BlockValues.
const maxBlock = 256

// DequantF32 decodes len(dst) values from src, which holds whole blocks. It
// runs on the caller's goroutine; callers with many values split them at
// multiples of BlockValues. Errors match metal.ErrInvalid: unknown format,
// or src too short.
func DequantF32(dst []float32, src []byte, f Format) error {
	if err := f.check(len(dst), len(src)); err != nil {
		return err
	}
	switch f {
	case Float:
		copy(asBytes(dst), src)
		return nil
	case HalfFloat:
		for i := range dst {
			dst[i] = F16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
		}
		return nil
	case BFloat:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
		return nil
	}
	values, size := f.BlockValues(), f.BlockBytes()
	for ; len(dst) >= values; dst, src = dst[values:], src[size:] {
		f.block(dst[:values], src[:size])
	}
	if len(dst) > 0 {
		var last [maxBlock]float32
		f.block(last[:values], src[:size])
		copy(dst, last[:])
	}
	return nil
}

// DequantF16 is DequantF32 with each value rounded to binary16.
func DequantF16(dst []uint16, src []byte, f Format) error {
	if err := f.check(len(dst), len(src)); err != nil {
		return err
	}
	switch f {
	case HalfFloat:
		copy(asBytes(dst), src)
		return nil
	case Q4_0:
		n := len(dst) / 32
		q4Blocks(dst[:32*n], src)
		dst, src = dst[32*n:], src[18*n:]
	}
	var block [maxBlock]float32
	values, size := f.BlockValues(), f.BlockBytes()
	for len(dst) > 0 {
		n := min(len(dst), maxBlock)
		if err := DequantF32(block[:n], src, f); err != nil {
			return err
		}
		narrow(dst[:n], block[:n])
		dst, src = dst[n:], src[(n+values-1)/values*size:]
	}
	return nil
}

func (f Format) check(values, bytes int) error {
	if !f.Known() {
		return fmt.Errorf("dequantise %v: %w", f, metal.ErrInvalid)
	}
	if need := blocksBytes(f, int64(values)); need > int64(bytes) {
		return fmt.Errorf("dequantise %d values of %v: need %d B, have %d B: %w", values, f, need, bytes,
			metal.ErrInvalid)
	}
	return nil
}

// blocksBytes is the size of the blocks that hold so many values.
func blocksBytes(f Format, values int64) int64 {
	per := int64(f.BlockValues())
	blocks := values / per
	if values%per != 0 {
		blocks++
	}
	return product(blocks, int64(f.BlockBytes()))
}

func (f Format) block(dst []float32, src []byte) {
	switch f {
	case Q4_0:
		var values [16]float32
		d := halfAt(src)
		for q := range values {
			values[q] = d * float32(q-8)
		}
		nibbleValues((*[32]float32)(dst), (*[16]byte)(src[2:]), &values)
	case Q8_0:
		d, y := halfAt(src), (*[32]float32)(dst)
		for i, q := range (*[32]byte)(src[2:]) {
			y[i] = d * float32(int8(q))
		}
	case Q6_K:
		q6Block(dst, src)
	case Q4_1, Q5_0, Q5_1:
		f.smallBlock(dst, src)
	case Q2_K:
		q2Block(dst, src)
	case Q3_K:
		q3Block(dst, src)
	case Q4_K, Q5_K:
		q45Block(dst, src)
	case IQ4_NL:
		iq4Values((*[32]float32)(dst), (*[16]byte)(src[2:]), halfAt(src))
	case IQ4_XS:
		iq4Block(dst, src)
	}
}

// q6Block decodes 128 bytes of low nibbles, 64 bytes of high bit pairs, 16
// signed scales and a binary16 scale over them. Each half of the block holds
// 4 groups of 32 values; two groups share a byte's nibbles, four share a byte
// of pairs, 16 neighbours share a scale.
func q6Block(dst []float32, src []byte) {
	d := F16ToF32(binary.LittleEndian.Uint16(src[208:]))
	for half := range 2 {
		low, high := src[64*half:64*half+64], src[128+32*half:128+32*half+32]
		scales := src[192+8*half : 192+8*half+8]
		for g := range 4 {
			y := dst[128*half+32*g : 128*half+32*g+32]
			nibbles := low[32*(g&1) : 32*(g&1)+32]
			shift := 4 * (g >> 1)
			for s := range 2 {
				scale := d * float32(int8(scales[2*g+s]))
				for i := 16 * s; i < 16*s+16; i++ {
					q := nibbles[i]>>shift&15 | high[i]>>(2*g)&3<<4
					y[i] = scale * float32(int(q)-32)
				}
			}
		}
	}
}

// q4Blocks decodes whole Q4_0 blocks to binary16. Sixteen products a block
// are rounded once and looked up 32 times; neighbouring blocks often share
// their scale, the zero blocks of a sparse file always do.
func q4Blocks(dst []uint16, src []byte) {
	var products [16]uint16
	last := -1
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		if h := int(binary.LittleEndian.Uint16(src)); h != last {
			q4Products(&products, uint16(h))
			last = h
		}
		y, q := (*[32]uint16)(dst), (*[16]byte)(src[2:])
		for i, b := range q {
			y[i] = products[b&15]
			y[i+16] = products[b>>4]
		}
	}
}

// q4Products is (q - 8) x the scale h for q = 0..15, in binary16.
func q4Products(p *[16]uint16, h uint16) {
	if e := h >> 10 & 0x1f; e == 0 || e > 27 { // subnormal, or 8 h may be infinite
		d := F16ToF32(h)
		for k := range p {
			p[k] = F32ToF16(d * float32(k-8))
		}
		return
	}
	// Of normal numbers, twice is one more in the exponent, and the sign is a
	// bit: only 3, 5 and 7 are left to multiply and round.
	const twice, minus = 0x400, 0x8000
	d := math.Float32frombits(uint32(h&^minus)<<13 + 112<<23)
	sign := h & minus
	h3 := sign | uint16(narrowNormal(math.Float32bits(3*d)))
	h5 := sign | uint16(narrowNormal(math.Float32bits(5*d)))
	h7 := sign | uint16(narrowNormal(math.Float32bits(7*d)))
	n := h ^ minus
	*p = [16]uint16{
		n + 3*twice, h7 ^ minus, (h3 ^ minus) + twice, h5 ^ minus, n + 2*twice, h3 ^ minus, n + twice, n,
		sign, h, h + twice, h3, h + 2*twice, h5, h3 + twice, h7,
	}
}

// grainDequant is how many values are worth another core.
const grainDequant = 32 << 10

// dequant makes the kernel that decodes f into elements of type to.
func dequant(f Format, to Elem) Kernel {
	suffix := "_f16"
	if to == F32 {
		suffix = "_f32"
	}
	return Kernel{
		Name:    "dequant_" + strings.ToLower(f.String()) + suffix,
		Summary: "y = the values of blocks of " + f.String(),
		Grid:    "value",
		Args:    []Arg{{Name: "blocks", Kind: In, Elem: Bytes}, {Name: "y", Kind: Out, Elem: to}},
		need: func(c *Call) lengths {
			return lengths{blocksBytes(f, int64(c.Grid.X)), int64(c.Grid.X)}
		},
		run: func(c *Call) { runDequant(c, f, to) },
	}
}

func runDequant(c *Call, f Format, to Elem) {
	n, per, size := c.Grid.X, f.BlockValues(), f.BlockBytes()
	blocks := (n + per - 1) / per
	c.parallel(blocks, max(1, grainDequant/per), func(lo, hi int) {
		src, end := c.Args[0][lo*size:], min(hi*per, n)
		// The lengths were checked before; no error is left.
		if to == F32 {
			_ = DequantF32(c.f32(1, n)[lo*per:end], src, f)
			return
		}
		_ = DequantF16(c.f16(1, n)[lo*per:end], src, f)
	})
}
