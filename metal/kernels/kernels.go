package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
)

// Kind says how a kernel uses an argument.
type Kind uint8

// The kinds of arguments.
const (
	In      Kind = 1 + iota // buffer, only read
	Out                     // buffer, only written
	InOut                   // buffer, read and written
	Int32                   // 4-byte parameter, never negative
	Float32                 // 4-byte parameter
)

// IsBuffer reports that the argument is memory and not a parameter.
func (k Kind) IsBuffer() bool { return k == In || k == Out || k == InOut }

// Writes reports that the kernel writes the argument.
func (k Kind) Writes() bool { return k == Out || k == InOut }

// Elem is the type of a buffer argument's elements.
type Elem uint8

// The element types. F16 is IEEE 754 binary16 in little-endian uint16; Bytes
// is a packed format (the quantised blocks of GGUF).
const (
	F32 Elem = iota
	F16
	Bytes
)

// Size is the element's size in bytes, which is also the alignment that a
// binding's offset must have.
func (e Elem) Size() int {
	switch e {
	case F16:
		return 2
	case Bytes:
		return 1
	}
	return 4
}

// Arg is one argument of a kernel.
type Arg struct {
	Name string
	Kind Kind
	Elem Elem  // of buffers
	Max  int32 // largest value of an Int32 parameter; 0 means no limit
}

// Kernel is one kernel. The exported fields are plain data, the same for all
// drivers; a copy is as good as the original.
type Kernel struct {
	Name    string
	Summary string // the formula, in one line
	Grid    string // what one thread is: "value", "(column, row)"
	Args    []Arg

	need func(*Call) lengths // elements that each buffer argument must hold
	run  func(*Call)
}

// maxBuffers is the largest number of buffer arguments of a kernel.
const maxBuffers = 5

type lengths [maxBuffers]int64

// Call is one launch of a kernel on host memory.
type Call struct {
	// Grid is the number of threads; zero components count as 1.
	Grid metal.Size
	// Args is the memory of each argument by index, at the bound offset.
	Args [][]byte
	// Parallel splits [0, n) into ranges of at least grain and calls body
	// for each, at the same time; it returns when all have returned. Nil
	// runs body(0, n).
	Parallel func(n, grain int, body func(lo, hi int))
}

// ByName returns the kernel of that name.
func ByName(name string) (Kernel, bool) {
	for i := range table {
		if table[i].Name == name {
			return table[i], true
		}
	}
	return Kernel{}, false
}

// All returns every kernel in the order of the table.
func All() []Kernel { return append([]Kernel(nil), table[:]...) }

// Buffers is how many of the arguments are buffers; they come first.
func (k Kernel) Buffers() int {
	n := 0
	for _, a := range k.Args {
		if a.Kind.IsBuffer() {
			n++
		}
	}
	return n
}

// Needs returns how many bytes each buffer argument must hold for the grid
// and the parameters of c, by argument index. It reads the parameters in
// c.Args and nothing else, so the buffers' entries may be nil. A length that
// does not fit in 63 bits is math.MaxInt64. Errors match metal.ErrInvalid.
func (k Kernel) Needs(c Call) ([]uint64, error) {
	n, err := k.needs(&c)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, k.Buffers())
	for i := range out {
		out[i] = uint64(n[i])
	}
	return out, nil
}

// needs is Needs without an allocation; it also normalises c.Grid.
func (k Kernel) needs(c *Call) (lengths, error) {
	if len(c.Args) < len(k.Args) {
		return lengths{}, fmt.Errorf("kernel %s: %d arguments of %d: %w", k.Name, len(c.Args), len(k.Args),
			metal.ErrInvalid)
	}
	g := &c.Grid
	if g.X < 0 || g.Y < 0 || g.Z < 0 {
		return lengths{}, fmt.Errorf("kernel %s: grid %dx%dx%d is negative: %w", k.Name, g.X, g.Y, g.Z,
			metal.ErrInvalid)
	}
	g.X, g.Y, g.Z = max(g.X, 1), max(g.Y, 1), max(g.Z, 1)
	for i, a := range k.Args {
		if a.Kind.IsBuffer() {
			continue
		}
		if len(c.Args[i]) < 4 {
			return lengths{}, k.short(i, 4, uint64(len(c.Args[i])))
		}
		if v := int32(binary.LittleEndian.Uint32(c.Args[i])); a.Kind == Int32 &&
			(v < 0 || a.Max > 0 && v > a.Max) {
			return lengths{}, fmt.Errorf("kernel %s: argument %d (%s) is %d: %w", k.Name, i, a.Name,
				v, metal.ErrInvalid)
		}
	}
	n := k.need(c)
	for i, a := range k.Args {
		if a.Kind.IsBuffer() {
			n[i] = product(n[i], int64(a.Elem.Size()))
		}
	}
	return n, nil
}

// Run checks every argument against the grid and runs the kernel on the host.
// It returns a *ShortError when a buffer is too short, else an error matching
// metal.ErrInvalid for a bad argument; then nothing was written.
func (k Kernel) Run(c Call) error {
	need, err := k.needs(&c)
	if err != nil {
		return err
	}
	for i, a := range k.Args {
		if !a.Kind.IsBuffer() {
			continue
		}
		if uint64(need[i]) > uint64(len(c.Args[i])) {
			return k.short(i, uint64(need[i]), uint64(len(c.Args[i])))
		}
		p := uintptr(unsafe.Pointer(unsafe.SliceData(c.Args[i])))
		if need[i] > 0 && p%uintptr(a.Elem.Size()) != 0 {
			return fmt.Errorf("kernel %s: argument %d (%s) is not aligned to %d bytes: %w",
				k.Name, i, a.Name, a.Elem.Size(), metal.ErrInvalid)
		}
	}
	k.run(&c)
	return nil
}

// ShortError is a buffer or parameter with fewer bytes than the grid reaches.
// It matches metal.ErrInvalid.
type ShortError struct {
	Kernel    string
	Index     int
	Arg       string
	NeedBytes uint64
	HaveBytes uint64
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("kernel %s: argument %d (%s) needs %d B, has %d B", e.Kernel, e.Index, e.Arg,
		e.NeedBytes, e.HaveBytes)
}

// Is reports that every ShortError is a metal.ErrInvalid.
func (e *ShortError) Is(target error) bool { return target == metal.ErrInvalid }

func (k Kernel) short(i int, need, have uint64) error {
	return &ShortError{Kernel: k.Name, Index: i, Arg: k.Args[i].Name, NeedBytes: need, HaveBytes: have}
}

// dim is the Int32 parameter at argument index i.
func (c *Call) dim(i int) int { return int(int32(binary.LittleEndian.Uint32(c.Args[i]))) }

// num is the Float32 parameter at argument index i.
func (c *Call) num(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(c.Args[i]))
}

// f32 is the first n elements of the buffer at argument index i.
func (c *Call) f32(i, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(c.Args[i]))), n)
}

// f16 is the first n elements of the buffer at argument index i.
func (c *Call) f16(i, n int) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(c.Args[i]))), n)
}

func (c *Call) parallel(n, grain int, body func(lo, hi int)) {
	if n <= 0 {
		return
	}
	if c.Parallel == nil || n <= grain {
		body(0, n)
		return
	}
	c.Parallel(n, grain, body)
}

// product multiplies non-negative factors and stops at math.MaxInt64.
func product(factors ...int64) int64 {
	p := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(p, uint64(f))
		if f == 0 {
			return 0
		}
		if hi != 0 || lo > math.MaxInt64 {
			p = math.MaxInt64
			continue
		}
		p = lo
	}
	return int64(p)
}

// Int32Bytes is v as a parameter.
func Int32Bytes(v int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// Float32Bytes is v as a parameter.
func Float32Bytes(v float32) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
}
