package gguf

import (
	"fmt"
	"math/bits"
)

// Type is how a tensor's values are stored. The values are ggml's (ggml.h).
type Type uint32

// The types that have a name here; metal/kernels decodes more.
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2
	Q8_0 Type = 8
	Q6_K Type = 14
)

// layout is a type's name and block: so many values in so many bytes.
type layout struct {
	name     string
	elements uint64
	bytes    uint64
}

// layoutOf knows the types of ggml.h, so that any real file can be listed.
// The gaps are types that ggml removed again.
func layoutOf(t Type) (layout, bool) {
	l, ok := map[Type]layout{
		F32: {"F32", 1, 4}, F16: {"F16", 1, 2},
		Q4_0: {"Q4_0", 32, 18}, 3: {"Q4_1", 32, 20},
		6: {"Q5_0", 32, 22}, 7: {"Q5_1", 32, 24},
		Q8_0: {"Q8_0", 32, 34}, 9: {"Q8_1", 32, 36},
		10: {"Q2_K", 256, 84}, 11: {"Q3_K", 256, 110}, 12: {"Q4_K", 256, 144},
		13: {"Q5_K", 256, 176}, Q6_K: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292},
		16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74}, 18: {"IQ3_XXS", 256, 98},
		19: {"IQ1_S", 256, 50}, 20: {"IQ4_NL", 32, 18}, 21: {"IQ3_S", 256, 110},
		22: {"IQ2_S", 256, 82}, 23: {"IQ4_XS", 256, 136},
		24: {"I8", 1, 1}, 25: {"I16", 1, 2}, 26: {"I32", 1, 4}, 27: {"I64", 1, 8},
		28: {"F64", 1, 8}, 29: {"IQ1_M", 256, 56}, 30: {"BF16", 1, 2},
		34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66}, 39: {"MXFP4", 32, 17},
	}[t]
	return l, ok
}

// String is ggml's name of the type, or "type N".
func (t Type) String() string {
	if l, ok := layoutOf(t); ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Block is how many values the type stores together and in how many bytes;
// zeros for a type that is not known.
func (t Type) Block() (elements, bytes uint64) {
	l, _ := layoutOf(t)
	return l.elements, l.bytes
}

// Tensor is one tensor of a file.
type Tensor struct {
	Name string
	Type Type
	// Dims is in file order: the first dimension is the one whose values lie
	// next to each other.
	Dims []uint64
	// Offset is where the data begins, from the start of the file.
	Offset   int64
	Bytes    int64
	Elements uint64
}

// Shape is Dims reversed: rows first, as programs think of a matrix.
func (t Tensor) Shape() []int {
	s := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		s[len(s)-1-i] = int(d)
	}
	return s
}

// sizeOf is the elements and bytes of a tensor, or what is wrong with it.
func sizeOf(t Type, dims []uint64) (elements, bytes uint64, problem string) {
	l, ok := layoutOf(t)
	if !ok {
		return 0, 0, fmt.Sprintf("unknown tensor type %d", uint32(t))
	}
	elements = 1
	for i, d := range dims {
		if d == 0 {
			return 0, 0, fmt.Sprintf("dimension %d is zero", i)
		}
		hi, lo := bits.Mul64(elements, d)
		if hi != 0 || lo > 1<<62 {
			return 0, 0, fmt.Sprintf("dimensions %v overflow", dims)
		}
		elements = lo
	}
	row := uint64(1)
	if len(dims) > 0 {
		row = dims[0]
	}
	if row%l.elements != 0 {
		return 0, 0, fmt.Sprintf("first dimension %d is not a multiple of the %d values of a block of %s",
			row, l.elements, l.name)
	}
	hi, lo := bits.Mul64(elements/l.elements, l.bytes)
	if hi != 0 || lo > 1<<62 {
		return 0, 0, fmt.Sprintf("dimensions %v overflow", dims)
	}
	return elements, lo, ""
}

// Kind is the type of a metadata value. The values are those of the format.
type Kind uint32

// The kinds of metadata values.
const (
	Uint8 Kind = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	ArrayOf
	Uint64
	Int64
	Float64
)

// size is the bytes of a fixed-size kind, 0 for strings, arrays and unknowns.
func (k Kind) size() int64 {
	switch k {
	case Uint8, Int8, Bool:
		return 1
	case Uint16, Int16:
		return 2
	case Uint32, Int32, Float32:
		return 4
	case Uint64, Int64, Float64:
		return 8
	default:
		return 0
	}
}

// Array is an array value, left in the file: its elements are Bytes encoded
// bytes from Offset on.
type Array struct {
	Kind   Kind
	Count  uint64
	Offset int64
	Bytes  int64
}

// Entry is one metadata entry. Value is uint8, int8, uint16, int16, uint32,
// int32, float32, bool, string, uint64, int64, float64 or Array.
type Entry struct {
	Key   string
	Value any
}
