package export

import (
	"bufio"
	"encoding/binary"
	"math/bits"
)

// Opcodes of Python's pickle, protocol 4, by the names of pickletools. These
// are the ones that PyTorch's viewer reads, too.
const (
	opProto, opStop            = 0x80, '.'
	opMark, opMemoize          = '(', 0x94
	opEmptyDict, opSetItems    = '}', 'u'
	opEmptyList, opAppends     = ']', 'e'
	opShortUnicode, opUnicode  = 0x8c, 'X'
	opBinInt1, opLong1         = 'K', 0x8a
	opTrue, opFalse            = 0x88, 0x89
	opBinGet, opLongBinGet     = 'h', 'j'
	opTuple2                   = 0x86
	pickleProtocol, batchItems = 4, 1000
)

// pickler writes plain data as a pickle. Strings are written once and recalled
// from then on. Errors stay in w until Flush.
type pickler struct {
	w       *bufio.Writer
	strings map[string]uint32
	memo    uint32
}

func newPickler(w *bufio.Writer) *pickler {
	p := &pickler{w: w, strings: map[string]uint32{}}
	p.w.Write([]byte{opProto, pickleProtocol})
	return p
}

func (p *pickler) op(codes ...byte) { p.w.Write(codes) }

func (p *pickler) text(s string) {
	if i, ok := p.strings[s]; ok {
		p.recall(i)
		return
	}
	if len(s) < 256 {
		p.op(opShortUnicode, byte(len(s)))
	} else {
		p.op(opUnicode)
		p.w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	}
	p.w.WriteString(s)
	p.strings[s] = p.memoize()
}

// memoize makes what was written last recallable.
func (p *pickler) memoize() uint32 {
	p.op(opMemoize)
	p.memo++
	return p.memo - 1
}

func (p *pickler) recall(i uint32) {
	if i < 256 {
		p.op(opBinGet, byte(i))
		return
	}
	p.op(opLongBinGet)
	p.w.Write(binary.LittleEndian.AppendUint32(nil, i))
}

// integer writes n, which must not be negative.
func (p *pickler) integer(n int64) {
	if n < 256 {
		p.op(opBinInt1, byte(n))
		return
	}
	size := bits.Len64(uint64(n))/8 + 1 // one bit more than n has, for the sign
	p.op(opLong1, byte(size))
	p.w.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))[:size])
}

func (p *pickler) boolean(b bool) {
	if b {
		p.op(opTrue)
		return
	}
	p.op(opFalse)
}

// dict writes what fill writes in pairs.
func (p *pickler) dict(fill func()) {
	p.op(opEmptyDict, opMark)
	fill()
	p.op(opSetItems)
}

// list writes n items in batches as Python does, because a reader holds a batch
// on its stack.
func (p *pickler) list(n int, item func(i int)) {
	p.op(opEmptyList)
	for i := 0; i < n; {
		p.op(opMark)
		for end := min(n, i+batchItems); i < end; i++ {
			item(i)
		}
		p.op(opAppends)
	}
}

func (p *pickler) pair(key string, n int64) {
	p.text(key)
	p.integer(n)
}
