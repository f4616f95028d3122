package pool

import (
	"fmt"
	"math/bits"
)

// The element classes of TensorLogic: 1,024 x 2^k for k = 0..13.
const (
	smallestElements = 1024
	largestElements  = smallestElements << 13
)

// maxRequest bounds a request so that rounding it up cannot overflow; it is
// far above every device's longest buffer.
const maxRequest = 1 << 48

// paramBytes is the size of a parameter buffer: one int32 or float32.
const paramBytes = 4

// Class names a size class: buffers of one length that may stand for each
// other.
type Class struct {
	// Bytes is the length of its buffers.
	Bytes uint64
	// Elements and ElementSize are set when the policy counts elements:
	// classes of one length but of different element sizes are different.
	Elements    uint64
	ElementSize uint64
	// Kind is empty for tensors, "int" or "float" for parameter buffers, and
	// "unpooled" for buffers that belong to no class.
	Kind ClassKind
}

// ClassKind sets special classes apart.
type ClassKind string

// The kinds of classes.
const (
	KindTensor   ClassKind = ""
	KindInt      ClassKind = "int"
	KindFloat    ClassKind = "float"
	KindUnpooled ClassKind = "unpooled"
)

// String is the class for people: "4096 B", "2048 x 2 B", "4 B int".
func (c Class) String() string {
	s := fmt.Sprintf("%d B", c.Bytes)
	if c.Elements > 0 {
		s = fmt.Sprintf("%d x %d B", c.Elements, c.ElementSize)
	}
	if c.Kind != KindTensor {
		s += " " + string(c.Kind)
	}
	return s
}

// classKey is a Class in one word, for the maps of the hit path: the length
// in bytes above a byte for the kind of class or the element size.
type classKey uint64

const (
	keyInt   classKey = 0xfe
	keyFloat classKey = 0xff
	// Element sizes above it share the classes of plain bytes: no element
	// type of the kernels is that large.
	maxKeyElement = 0xfd
)

func (k classKey) class() Class {
	c := Class{Bytes: uint64(k) >> 8}
	switch low := k & 0xff; low {
	case 0:
	case keyInt:
		c.Kind = KindInt
	case keyFloat:
		c.Kind = KindFloat
	default:
		c.ElementSize = uint64(low)
		c.Elements = c.Bytes / c.ElementSize
	}
	return c
}

func keyOf(bytes, low uint64) classKey { return classKey(bytes<<8 | low) }

// classify turns a request into its class and its length in bytes.
func (p *Pool) classify(r Request) (classKey, uint64, error) {
	high, length := bits.Mul64(r.Elements, r.ElementSize)
	if high != 0 || length == 0 || length > maxRequest {
		return 0, 0, badRequest(r)
	}
	if r.Unpooled || r.Data && p.policy.DataAnew {
		return keyOf(length, 0), length, nil
	}
	bytes, low := length, uint64(0)
	switch p.policy.Class {
	case ClassPages:
		bytes = pagesClass(length, p.pageShift)
	case ClassPow2:
		bytes = pow2Class(length)
	case ClassTensors:
		if r.ElementSize <= maxKeyElement {
			low = r.ElementSize
		}
	case ClassElements:
		if r.ElementSize <= maxKeyElement {
			bytes, low = elementsClass(r.Elements)*r.ElementSize, r.ElementSize
		}
	}
	if bytes > p.info.MaxBufferLength {
		bytes = length // rounding must not ask for more than there can be
	}
	return keyOf(bytes, low), length, nil
}

// badRequest is apart so that a good request does not pay for the words.
func badRequest(r Request) error {
	return fmt.Errorf("get %q: %d elements of %d B: %w", r.Label, r.Elements, r.ElementSize, ErrRequest)
}

// pagesClass rounds up to whole pages, and above eight pages to one of eight
// steps in each power of two: at most 12.5 % more than the pages needed.
func pagesClass(length uint64, pageShift uint) uint64 {
	pages := (length + 1<<pageShift - 1) >> pageShift
	if n := bits.Len64(pages); n > 4 {
		step := uint64(1) << (n - 4)
		pages = (pages + step - 1) &^ (step - 1)
	}
	return pages << pageShift
}

func pow2Class(length uint64) uint64 {
	return 1 << bits.Len64(length-1)
}

func elementsClass(elements uint64) uint64 {
	switch {
	case elements <= smallestElements:
		return smallestElements
	case elements > largestElements:
		return elements
	}
	return pow2Class(elements)
}
