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
	sameArg
)

// Buf passes a buffer from its start.
func Buf(h Handle) Arg { return Arg{kind: bufArg, handle: h} }

// BufAt passes a buffer from an offset in bytes on.
func BufAt(h Handle, offset uint64) Arg { return Arg{kind: bufArg, handle: h, offset: offset} }

// Int passes an int32 parameter.
func Int(v int32) Arg { return Arg{kind: intArg, bits: uint32(v)} }

// Float passes a float32 parameter.
func Float(v float32) Arg { return Arg{kind: floatArg, bits: math.Float32bits(v)} }

// Same passes a parameter of an earlier dispatch of the command again, without a buffer
// of its own: i counts the parameters of the command so far, from 0.
func Same(i int) Arg { return Arg{kind: sameArg, offset: uint64(max(i, 0))} }

// check refuses an argument; earlier is how many parameters earlier dispatches of the
// command have.
func (a Arg) check(p *Pool, earlier int) error {
	switch a.kind {
	case intArg, floatArg:
		return nil
	case sameArg:
		if a.offset >= uint64(earlier) {
			return fmt.Errorf("parameter %d of %d: %w", a.offset, earlier, ErrRequest)
		}
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

// isParam reports a parameter that is not an earlier one.
func (a Arg) isParam() bool { return a.kind == intArg || a.kind == floatArg }

// param is the parameter pool that the argument belongs to, and its label.
func (a Arg) param() (key classKey, label string) {
	if a.kind == intArg {
		return keyInt, "int parameter"
	}
	return keyFloat, "float parameter"
}
