package pool

import (
	"fmt"
	"math"
)

// Arg is one argument of a dispatch: a buffer or a 4-byte parameter. The zero
// Arg is refused.
type Arg struct {
	kind   argKind
	handle Handle
	offset uint64
	bits   uint32
}

type argKind uint8

const (
	noArg argKind = iota
	bufArg
	intArg
	floatArg
)

// Buf passes a buffer from its start.
func Buf(h Handle) Arg { return Arg{kind: bufArg, handle: h} }

// BufAt passes a buffer from an offset in bytes on.
func BufAt(h Handle, offset uint64) Arg { return Arg{kind: bufArg, handle: h, offset: offset} }

// Int passes an int32 parameter.
func Int(v int32) Arg { return Arg{kind: intArg, bits: uint32(v)} }

// Float passes a float32 parameter.
func Float(v float32) Arg { return Arg{kind: floatArg, bits: math.Float32bits(v)} }

func (a Arg) check(p *Pool) error {
	switch a.kind {
	case intArg, floatArg:
		return nil
	case bufArg:
	default:
		return fmt.Errorf("empty argument: %w", ErrRequest)
	}
	if err := p.owns(a.handle); err != nil {
		return err
	}
	if a.handle.Refs() == 0 {
		return ErrStale
	}
	if a.offset >= a.handle.length {
		return fmt.Errorf("offset %d of %d B: %w", a.offset, a.handle.length, ErrRequest)
	}
	return nil
}

// param is the parameter pool that the argument belongs to, and its label.
func (a Arg) param() (key classKey, label string) {
	if a.kind == intArg {
		return keyInt, "int parameter"
	}
	return keyFloat, "float parameter"
}
