package importer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Limits of a pickle. Its memory is bounded by its length, at about forty
// bytes for each one-byte opcode in the worst case; these stop the rest.
const (
	maxPickleDepth  = 1 << 22 // values on the stack: a batch is a thousand
	maxPickleCells  = 1 << 28 // values held in all, of 8 bytes
	maxPickleMemo   = 1 << 29 // objects in all, of 12 bytes: 40 GiB of snapshot
	maxPickleString = 4 << 10 // kept of a string; a longer one is cut

	// An object of a real snapshot takes 14 bytes of the file and more. One that
	// is made to fill the memory has two or three bytes an object.
	freeObjects = 4 << 20
	leastObject = 8 // bytes of the file
)

// value is one Python object in eight bytes: the kind in the low four bits,
// above them a small integer or an index into the table of that kind.
type value uint64

const (
	kindNone value = iota
	kindBool
	kindInt    // 60 bits, signed
	kindBig    // pickle.bigs
	kindFloat  // pickle.floats
	kindString // pickle.strings
	kindList   // pickle.idents
	kindTuple  // pickle.idents
	kindDict   // pickle.idents: key, value, key, value
	kindCall   // the one function that is known, see reduce
	kindOpaque // an object nobody needs: bytes, sets
	kindTaken  // what pickle.takeDict made of a dict
	kindMark
)

// pickleTrue is True; False is kindBool itself.
const pickleTrue = 1<<4 | kindBool

func (v value) kind() value { return v & 15 }
func (v value) index() int  { return int(v >> 4) }

// pickle is Python's stack machine for protocols 2 to 5, reduced to plain
// data. It executes nothing: every global but one is refused. (Protocols 0 and
// 1 are text and older than every file that is read here.)
//
// A container's items lie apart from its identity, so that equal ones share
// them: a snapshot repeats the same stacks without end. (A container changed
// after it was put into another one may be seen there as it was; no writer of
// snapshots does that.) What the hooks take is not kept at all.
type pickle struct {
	in      pickleInput
	stack   pickleStack
	memo    pages[value]
	sparse  map[uint32]value // memo entries set out of order
	strings []string
	intern  map[string]int
	bigs    []uint64
	floats  []float64
	idents  pages[uint32] // by container: its index in items, 0 when empty
	items   [][]value
	shared  map[uint64]uint32 // index in items by the hash of what stands there
	slab    []value
	cells   int64

	// takeDict is offered the pairs by which an empty dict is filled at once.
	// What it returns stands for the dict from then on, of kind kindTaken.
	takeDict func(kv []value) (value, bool)
	// takeItems is offered what is appended to a list. True keeps it out.
	takeItems func(list value, vs []value) bool
}

// ownItems marks an index of items that one container has for itself.
const ownItems = 1 << 31

// Of a dict that was taken nothing is left, and takenDict stands for it
// wherever it is recalled. Most of a large snapshot's objects are such dicts.
const (
	takenItems = ownItems // index 0 holds nothing
	takenDict  = 0<<4 | kindDict
)

func newPickle(in *bufio.Reader) *pickle {
	p := &pickle{in: pickleInput{r: in}, intern: map[string]int{}, sparse: map[uint32]value{},
		items: make([][]value, 1), shared: map[uint64]uint32{}}
	p.memo.same, p.idents.same = takenDict, takenItems
	p.idents.add(takenItems)
	return p
}

var errPickle = errors.New("damaged pickle")

// load runs the machine to STOP and returns the object.
func (p *pickle) load() (value, error) {
	for {
		op, err := p.in.r.ReadByte()
		if err != nil {
			return 0, p.in.fail(unexpected(err))
		}
		p.in.read++
		if op == '.' {
			return p.stack.pop()
		}
		if err := p.step(op); err != nil {
			return 0, p.in.fail(err)
		}
		if objects := int64(p.idents.n + p.memo.n + len(p.sparse)); objects > freeObjects+
			2*p.in.read/leastObject {
			return 0, p.in.fail(fmt.Errorf("%w: more objects than so many bytes of a snapshot have",
				errPickle))
		}
		if len(p.stack) > maxPickleDepth || p.cells > maxPickleCells || p.idents.n > maxPickleMemo ||
			p.memo.n+len(p.sparse) > maxPickleMemo {
			return 0, p.in.fail(fmt.Errorf("%w: too large", errPickle))
		}
	}
}

// text reads a string of n bytes and keeps the first maxPickleString.
func (p *pickle) text(n uint64) (value, error) {
	b, err := p.in.bytes(int(min(n, maxPickleString)))
	if err != nil {
		return 0, err
	}
	i, ok := p.intern[string(b)]
	if !ok {
		i = len(p.strings)
		s := strings.ToValidUTF8(string(b), "\uFFFD")
		p.strings = append(p.strings, s)
		p.intern[string(b)] = i
		p.cells += int64(len(b)/8 + 8)
	}
	return value(i)<<4 | kindString, p.in.skip(n - min(n, maxPickleString))
}

// integer makes a value of a signed integer.
func (p *pickle) integer(n int64) value {
	if n<<4>>4 == n {
		return value(n)<<4 | kindInt
	}
	return p.big(uint64(n), n < 0)
}

// big keeps an unsigned integer beyond 60 bits; a negative one that large is
// no address and no size.
func (p *pickle) big(n uint64, negative bool) value {
	if negative {
		return kindOpaque
	}
	p.bigs = append(p.bigs, n)
	p.cells++
	return value(len(p.bigs)-1)<<4 | kindBig
}

// long reads a two's complement integer of n bytes.
func (p *pickle) long(n uint64) (value, error) {
	if n > 9 {
		return kindOpaque, p.in.skip(n)
	}
	b, err := p.in.bytes(int(n))
	if err != nil {
		return 0, err
	}
	negative := n > 0 && b[n-1]&0x80 != 0
	var full [9]byte
	if negative {
		for i := range full {
			full[i] = 0xff
		}
	}
	copy(full[:], b)
	u := binary.LittleEndian.Uint64(full[:8])
	switch {
	case negative && full[8] == 0xff && int64(u) < 0, !negative && full[8] == 0 && int64(u) >= 0:
		return p.integer(int64(u)), nil
	case !negative && full[8] == 0:
		return p.big(u, false), nil
	}
	return kindOpaque, nil
}

// real reads a float in network order.
func (p *pickle) real() (value, error) {
	b, err := p.in.bytes(8)
	if err != nil {
		return 0, err
	}
	p.floats = append(p.floats, math.Float64frombits(binary.BigEndian.Uint64(b)))
	p.cells++
	return value(len(p.floats)-1)<<4 | kindFloat, nil
}

func (p *pickle) memoize(i uint32, v value) {
	switch {
	case int(i) < p.memo.n:
		p.memo.set(int(i), v)
	case int(i) == p.memo.n:
		p.memo.add(v)
	default:
		p.sparse[i] = v
	}
}

func (p *pickle) recall(i uint32) error {
	if int(i) < p.memo.n {
		p.stack.push(p.memo.at(int(i)))
		return nil
	}
	v, ok := p.sparse[i]
	if !ok {
		return fmt.Errorf("%w: memo %d was never set", errPickle, i)
	}
	p.stack.push(v)
	return nil
}

// get is the value of a dict's key; the last one of several.
func (p *pickle) get(dict value, key string) (value, bool) {
	id, ok := p.intern[key]
	if dict.kind() != kindDict || !ok {
		return 0, false
	}
	want, kv := value(id)<<4|kindString, p.inside(dict)
	for i := len(kv) - 2; i >= 0; i -= 2 {
		if kv[i] == want {
			return kv[i+1], true
		}
	}
	return 0, false
}

// list are the items of a list or tuple.
func (p *pickle) list(v value) []value {
	if k := v.kind(); k != kindList && k != kindTuple {
		return nil
	}
	return p.inside(v)
}

// number is an integer that is not negative.
func (p *pickle) number(v value) (uint64, bool) {
	switch v.kind() {
	case kindInt:
		n := int64(v) >> 4
		return uint64(n), n >= 0
	case kindBig:
		return p.bigs[v.index()], true
	}
	return 0, false
}

func (p *pickle) string(v value) string {
	if v.kind() != kindString {
		return ""
	}
	return p.strings[v.index()]
}
