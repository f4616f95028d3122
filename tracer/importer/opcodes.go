package importer

import (
	"fmt"
	"strings"
)

// Opcodes of protocols 2 to 5, by the names of Python's pickletools.
const (
	opProto, opFrame                                     = 0x80, 0x95
	opMark, opPop, opPopMark, opDup                      = '(', '0', '1', '2'
	opNone, opTrue, opFalse                              = 'N', 0x88, 0x89
	opBinInt, opBinInt1, opBinInt2, opLong1, opLong4     = 'J', 'K', 'M', 0x8a, 0x8b
	opBinFloat                                           = 'G'
	opBinUnicode, opShortUnicode, opUnicode8             = 'X', 0x8c, 0x8d
	opBinString, opShortString                           = 'T', 'U'
	opBinBytes, opShortBytes, opBytes8, opByteArray8     = 'B', 'C', 0x8e, 0x96
	opEmptyDict, opEmptyList, opEmptyTuple, opEmptySet   = '}', ']', ')', 0x8f
	opTuple, opTuple1, opTuple2, opTuple3                = 't', 0x85, 0x86, 0x87
	opList, opDict, opFrozenSet                          = 'l', 'd', 0x91
	opAppend, opAppends, opSetItem, opSetItems, opAddAll = 'a', 'e', 's', 'u', 0x90
	opBinGet, opLongBinGet                               = 'h', 'j'
	opBinPut, opLongBinPut, opMemoize                    = 'q', 'r', 0x94
	opGlobal, opStackGlobal, opReduce                    = 'c', 0x93, 'R'
)

// step executes one opcode.
func (p *pickle) step(op byte) error {
	switch op {
	case opProto:
		n, err := p.in.size(1)
		if err == nil && (n < 2 || n > 5) {
			err = fmt.Errorf("%w: protocol %d", errPickle, n)
		}
		return err
	case opFrame:
		_, err := p.in.size(8) // frames are a hint for readers of files
		return err
	case opMark:
		p.stack.push(kindMark)
	case opPop:
		return p.popAny()
	case opPopMark:
		_, err := p.stack.popMark()
		return err
	case opDup:
		v, err := p.stack.pop()
		p.stack.push(v)
		p.stack.push(v)
		return err
	case opNone:
		p.stack.push(kindNone)
	case opTrue:
		p.stack.push(pickleTrue)
	case opFalse:
		p.stack.push(kindBool)
	case opEmptyDict:
		p.stack.push(p.container(kindDict, nil))
	case opEmptyList:
		p.stack.push(p.container(kindList, nil))
	case opEmptyTuple:
		p.stack.push(p.container(kindTuple, nil))
	case opEmptySet:
		p.stack.push(kindOpaque)
	case opBinInt, opBinInt1, opBinInt2, opLong1, opLong4, opBinFloat:
		return p.stepNumber(op)
	case opBinUnicode, opShortUnicode, opUnicode8, opBinString, opShortString,
		opBinBytes, opShortBytes, opBytes8, opByteArray8:
		return p.stepText(op)
	case opTuple, opTuple1, opTuple2, opTuple3, opList, opDict, opFrozenSet,
		opAppend, opAppends, opSetItem, opSetItems, opAddAll:
		return p.stepContainer(op)
	case opBinGet, opLongBinGet, opBinPut, opLongBinPut, opMemoize:
		return p.stepMemo(op)
	case opGlobal, opStackGlobal, opReduce:
		return p.stepCall(op)
	default:
		return fmt.Errorf("%w: opcode 0x%02x", errPickle, op)
	}
	return nil
}

// popAny takes off the top, also a mark.
func (p *pickle) popAny() error {
	if len(p.stack) == 0 {
		return fmt.Errorf("%w: empty stack", errPickle)
	}
	p.stack = p.stack[:len(p.stack)-1]
	return nil
}

func (p *pickle) stepNumber(op byte) error {
	width := 1
	switch op {
	case opBinInt2:
		width = 2
	case opBinInt, opLong4:
		width = 4
	case opBinFloat:
		v, err := p.real()
		p.stack.push(v)
		return err
	}
	n, err := p.in.size(width)
	if err != nil {
		return err
	}
	switch op {
	case opLong1, opLong4:
		v, err := p.long(n)
		p.stack.push(v)
		return err
	case opBinInt:
		p.stack.push(p.integer(int64(int32(n))))
	default:
		p.stack.push(p.integer(int64(n)))
	}
	return nil
}

func (p *pickle) stepText(op byte) error {
	width := 4
	switch op {
	case opShortUnicode, opShortString, opShortBytes:
		width = 1
	case opUnicode8, opBytes8, opByteArray8:
		width = 8
	}
	n, err := p.in.size(width)
	if err != nil {
		return err
	}
	switch op {
	case opBinBytes, opShortBytes, opBytes8, opByteArray8:
		p.stack.push(kindOpaque)
		return p.in.skip(n)
	}
	v, err := p.text(n)
	p.stack.push(v)
	return err
}

func (p *pickle) stepContainer(op byte) error {
	switch op {
	case opTuple1, opTuple2, opTuple3:
		return p.tuple(int(op) - opTuple1 + 1)
	case opAppend, opSetItem:
		return p.addOne(op)
	}
	vs, err := p.stack.popMark()
	if err != nil {
		return err
	}
	switch op {
	case opTuple:
		p.stack.push(p.container(kindTuple, vs))
	case opList:
		p.stack.push(p.container(kindList, vs))
	case opDict:
		if len(vs)%2 != 0 {
			return fmt.Errorf("%w: a key without a value", errPickle)
		}
		p.stack.push(p.container(kindDict, vs))
	case opFrozenSet:
		p.stack.push(kindOpaque)
	default:
		return p.addAll(op, vs)
	}
	return nil
}

// addAll adds what stood above a mark to the container below it.
func (p *pickle) addAll(op byte, vs []value) error {
	c, err := p.stack.pop()
	if err != nil {
		return err
	}
	switch op {
	case opAppends:
		err = p.appendTo(c, vs)
	case opSetItems:
		if v, ok := p.taken(c, vs); ok {
			c = v
			break
		}
		err = p.extend(c, kindDict, vs)
	}
	p.stack.push(c)
	return err
}

// taken offers the pairs of a dict that was empty to the reader.
func (p *pickle) taken(c value, vs []value) (value, bool) {
	if p.takeDict == nil || c.kind() != kindDict || p.idents.at(c.index()) != 0 || len(vs)%2 != 0 {
		return 0, false
	}
	v, ok := p.takeDict(vs)
	if ok {
		p.idents.set(c.index(), takenItems)
		p.forget(c)
	}
	return v, ok
}

// forget has the memo recall takenDict for c. Python memoizes a dict right
// after it is made, so that its entry is among the last ones.
func (p *pickle) forget(c value) {
	for i := p.memo.n - 1; i >= max(0, p.memo.n-takenBack); i-- {
		if p.memo.at(i) == c {
			p.memo.set(i, takenDict)
			return
		}
	}
}

// takenBack is how far back in the memo a taken dict is looked for: its strings
// and its stack may have been memoized since.
const takenBack = 16

// appendTo adds vs to a list, unless the reader takes them.
func (p *pickle) appendTo(c value, vs []value) error {
	if p.takeItems != nil && c.kind() == kindList && p.takeItems(c, vs) {
		return nil
	}
	return p.extend(c, kindList, vs)
}

func (p *pickle) addOne(op byte) (err error) {
	n := 1
	if op == opSetItem {
		n = 2
	}
	if len(p.stack) < n+1 {
		return fmt.Errorf("%w: empty stack", errPickle)
	}
	at := len(p.stack) - n
	if op == opAppend {
		err = p.appendTo(p.stack[at-1], p.stack[at:])
	} else {
		err = p.extend(p.stack[at-1], kindDict, p.stack[at:])
	}
	p.stack = p.stack[:at]
	return err
}

func (p *pickle) tuple(n int) error {
	if len(p.stack) < n {
		return fmt.Errorf("%w: empty stack", errPickle)
	}
	at := len(p.stack) - n
	v := p.container(kindTuple, p.stack[at:])
	p.stack = append(p.stack[:at], v)
	return nil
}

func (p *pickle) stepMemo(op byte) error {
	if op == opMemoize {
		if len(p.stack) == 0 {
			return fmt.Errorf("%w: empty stack", errPickle)
		}
		p.memoize(uint32(p.memo.n+len(p.sparse)), p.stack[len(p.stack)-1])
		return nil
	}
	width := 1
	if op == opLongBinGet || op == opLongBinPut {
		width = 4
	}
	n, err := p.in.size(width)
	if err != nil {
		return err
	}
	if op == opBinGet || op == opLongBinGet {
		return p.recall(uint32(n))
	}
	if len(p.stack) == 0 {
		return fmt.Errorf("%w: empty stack", errPickle)
	}
	p.memoize(uint32(n), p.stack[len(p.stack)-1])
	return nil
}

// restoreTypeTag is the one global that may stand in a snapshot: torch's own
// writer wraps typed containers in it, and it gives its first argument back.
const restoreTypeTag = "torch.jit._pickle restore_type_tag"

// stepCall resolves globals and calls, of which there is one that is no code.
func (p *pickle) stepCall(op byte) error {
	switch op {
	case opReduce:
		args, err := p.stack.pop()
		if err != nil {
			return err
		}
		f, err := p.stack.pop()
		if err != nil {
			return err
		}
		vs := p.list(args)
		if f.kind() != kindCall || len(vs) == 0 {
			return fmt.Errorf("%w: a call of what is no function", errPickle)
		}
		p.stack.push(vs[0])
		return nil
	case opStackGlobal:
		name, err1 := p.stack.pop()
		module, err2 := p.stack.pop()
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%w: empty stack", errPickle)
		}
		return p.global(p.string(module) + " " + p.string(name))
	}
	module, err := p.inLine()
	if err != nil {
		return err
	}
	name, err := p.inLine()
	if err != nil {
		return err
	}
	return p.global(module + " " + name)
}

// inLine reads to the next newline.
func (p *pickle) inLine() (string, error) {
	var b strings.Builder
	for b.Len() < 1024 {
		c, err := p.in.r.ReadByte()
		if err != nil {
			return "", unexpected(err)
		}
		p.in.read++
		if c == '\n' {
			return b.String(), nil
		}
		b.WriteByte(c)
	}
	return "", fmt.Errorf("%w: a name without an end", errPickle)
}

func (p *pickle) global(name string) error {
	if name != restoreTypeTag {
		return fmt.Errorf("the file wants to run %q; nothing in a file is run", short([]byte(name)))
	}
	p.stack.push(kindCall)
	return nil
}
