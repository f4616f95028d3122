package apple

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf16"
)

const (
	binaryMagic   = "bplist00"
	binaryTrailer = 32
	// maxObjects bounds the values of a binary property list: its objects may
	// be named any number of times.
	maxObjects = 1 << 16
)

// binaryPlist is a property list in Apple's binary form: objects, then a table
// of their offsets, then a trailer (Apple, CFBinaryPList.c).
type binaryPlist struct {
	b       []byte
	offsets []byte // the table
	width   int    // bytes of an offset
	refs    int    // bytes of a reference to an object
	objects uint64
	left    int // values that may still be read
}

// parseBinaryPlist reads a property list in the binary form into the values of
// parsePlist.
func parseBinaryPlist(b []byte) (any, error) {
	if len(b) < len(binaryMagic)+binaryTrailer {
		return nil, errors.New("cut short")
	}
	t := b[len(b)-binaryTrailer:]
	p := &binaryPlist{b: b[:len(b)-binaryTrailer], width: int(t[6]), refs: int(t[7]),
		objects: binary.BigEndian.Uint64(t[8:]), left: maxObjects}
	top, at := binary.BigEndian.Uint64(t[16:]), binary.BigEndian.Uint64(t[24:])
	if p.width < 1 || p.width > 8 || p.refs < 1 || p.refs > 8 || at > uint64(len(p.b)) ||
		p.objects > (uint64(len(p.b))-at)/uint64(p.width) {
		return nil, errors.New("its trailer does not fit it")
	}
	p.offsets = p.b[at : at+p.objects*uint64(p.width)]
	return p.object(top, 0)
}

// bigEndian is an unsigned integer of up to eight bytes.
func bigEndian(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// object reads the object of a number.
func (p *binaryPlist) object(n uint64, depth int) (any, error) {
	if p.left--; p.left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("more than %d values or %d levels", maxObjects, maxDepth)
	}
	if n >= p.objects {
		return nil, fmt.Errorf("there is no object %d", n)
	}
	at := bigEndian(p.offsets[n*uint64(p.width):][:p.width])
	if at >= uint64(len(p.b)) {
		return nil, fmt.Errorf("object %d lies outside", n)
	}
	kind, rest := p.b[at]>>4, p.b[at+1:]
	size := uint64(p.b[at] & 15)
	switch kind {
	case 0:
		return map[uint64]any{8: false, 9: true}[size], nil
	case 1, 2, 3:
		return number(kind, size, rest)
	}
	if size == 15 { // the size follows, as an integer
		if len(rest) == 0 || rest[0]>>4 != 1 {
			return nil, errors.New("a size that is no integer")
		}
		bytes := 1 << (rest[0] & 15)
		if bytes > 8 || len(rest) < 1+bytes {
			return nil, errors.New("a size that is cut short")
		}
		size, rest = bigEndian(rest[1:1+bytes]), rest[1+bytes:]
	}
	return p.sized(kind, size, rest, depth)
}

// number is an integer, a real or a date (seconds since 2001, a real) of 2^power
// bytes.
func number(kind byte, power uint64, rest []byte) (any, error) {
	size := 1 << power
	if len(rest) < size || size > 16 {
		return nil, errors.New("a number that is cut short")
	}
	switch {
	case kind == 1 && size == 16: // how what lies beyond int64 is written
		return bigEndian(rest[8:16]), nil
	case kind == 1 && size < 8: // no sign
		return int64(bigEndian(rest[:size])), nil
	case kind == 1:
		return int64(bigEndian(rest[:8])), nil
	case size == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(rest))), nil
	case size == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(rest)), nil
	}
	return nil, fmt.Errorf("a real of %d bytes", size)
}

// sized reads what has a size: in bytes, characters or entries.
func (p *binaryPlist) sized(kind byte, size uint64, rest []byte, depth int) (any, error) {
	each := map[byte]uint64{4: 1, 5: 1, 6: 2, 8: 1, 10: uint64(p.refs), 13: 2 * uint64(p.refs)}[kind]
	if each == 0 {
		return nil, fmt.Errorf("an object of the unknown kind %d", kind)
	}
	if size > uint64(len(rest))/each {
		return nil, errors.New("an object that is cut short")
	}
	rest = rest[:size*each]
	switch kind {
	case 5:
		return string(rest), nil
	case 6:
		units := make([]uint16, size)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(rest[2*i:])
		}
		return string(utf16.Decode(units)), nil
	case 10:
		list := []any{}
		for i := range size {
			v, err := p.reference(rest, i, depth)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case 13:
		return p.dict(size, rest, depth)
	}
	return nil, nil // data
}

// dict reads a dictionary: references to its keys, then to its values.
func (p *binaryPlist) dict(size uint64, rest []byte, depth int) (any, error) {
	d := map[string]any{}
	for i := range size {
		key, err := p.reference(rest, i, depth)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a key that is %T and no string", key)
		}
		if d[name], err = p.reference(rest, size+i, depth); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (p *binaryPlist) reference(refs []byte, i uint64, depth int) (any, error) {
	return p.object(bigEndian(refs[i*uint64(p.refs):][:p.refs]), depth+1)
}

func isBinaryPlist(b []byte) bool { return bytes.HasPrefix(b, []byte(binaryMagic)) }
