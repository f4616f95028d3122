package metaltest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// guard is poisoned memory on both sides of every buffer; it keeps the
// alignment of 256 B that devices want of offsets.
const guard = 256

// launcher runs a kernel on memory: args are the buffers and the parameters by
// argument index. What the kernel wrote is in args when it returns, beside the
// buffers, too.
type launcher func(t *testing.T, k kernels.Kernel, grid metal.Size, args []memory) error

// memory is an argument between its guards.
type memory struct {
	all  []byte // guard, the argument, guard; without guards for a parameter
	data []byte // the argument within all
}

// Kernels runs every kernel of package kernels against its float64 reference
// on host memory, through launch, which gets the arguments by index: buffers
// first, then parameters of 4 bytes. Run does the same on the device; this is
// for the Go versions alone.
func Kernels(t *testing.T, launch func(k kernels.Kernel, grid metal.Size, args [][]byte) error) {
	checkKernels(t, func(_ *testing.T, k kernels.Kernel, grid metal.Size, args []memory) error {
		var plain [][]byte
		for _, a := range args {
			plain = append(plain, a.data)
		}
		return launch(k, grid, plain)
	})
}

func kernelTests() []test {
	run := func(inline bool) func(t *testing.T, s *suite) {
		return func(t *testing.T, s *suite) {
			dev := s.open(t)
			q := s.queue(t, dev, 0)
			checkKernels(t, func(t *testing.T, k kernels.Kernel, grid metal.Size, args []memory) error {
				return onDevice(t, s, dev, q, k, grid, args, inline)
			})
		}
	}
	return []test{{"parameters as inline bytes", run(true)}, {"parameters in buffers of 4 B", run(false)}}
}

// onDevice copies the arguments to buffers, runs the kernel and copies back.
func onDevice(t *testing.T, s *suite, dev metal.Device, q metal.Queue, k kernels.Kernel, grid metal.Size,
	args []memory, inline bool) error {
	bindings, buffers := make([]arg, len(args)), make([]metal.Buffer, len(args))
	for i, a := range args {
		if inline && !k.Args[i].Kind.IsBuffer() {
			bindings[i] = arg{inline: a.data}
			continue
		}
		b, err := dev.NewBuffer(uint64(len(a.all)), k.Args[i].Name)
		must(t, err)
		defer func() { must(t, b.Release()) }()
		if _, err := b.WriteAt(a.all, 0); err != nil {
			t.Fatal(err)
		}
		buffers[i], bindings[i] = b, arg{buffer: b, offset: uint64(len(a.all)-len(a.data)) / 2}
	}
	c := s.command(t, q)
	p := s.pipeline(t, dev, k.Name)
	record(t, c, p, grid, bindings...)
	must(t, c.Commit())
	err := c.Wait()
	for i, b := range buffers {
		if b == nil {
			continue
		}
		if _, err := b.ReadAt(args[i].all, 0); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

func checkKernels(t *testing.T, run launcher) {
	for _, k := range kernels.All() {
		t.Run(k.Name, func(t *testing.T) {
			r, ok := referenceOf(k)
			if !ok {
				t.Fatalf("kernel %s has no float64 reference", k.Name)
			}
			hash := fnv.New64()
			_, _ = hash.Write([]byte(k.Name))
			rng := rand.New(rand.NewPCG(hash.Sum64(), 0))
			for _, p := range r.problems {
				if err := check(t, k, r, p, rng, run); err != nil {
					t.Fatalf("grid %v, parameters %v: %v", p.grid, p.params, err)
				}
			}
		})
	}
}

// check runs one problem and compares every byte of every argument.
func check(t *testing.T, k kernels.Kernel, r reference, p problem, rng *rand.Rand, run launcher) error {
	l := &launch{problem: p, args: make([][]float64, len(k.Args)), out: make([][]estimate, len(k.Args))}
	args := make([]memory, len(k.Args))
	plain := make([][]byte, len(k.Args))
	for i, a := range k.Args {
		switch {
		case !a.Kind.IsBuffer():
			args[i] = parameter(a.Kind, p.params[i-len(p.sizes)])
		default:
			args[i] = guarded(p.sizes[i] * a.Elem.Size())
			l.draw(k, r, i, args[i].data, rng)
		}
		plain[i] = bytes.Clone(args[i].data)
	}
	if err := needs(k, p, plain); err != nil {
		return err
	}
	r.fill(l)
	if err := run(t, k, p.grid, args); err != nil {
		return err
	}
	for i, a := range k.Args {
		if err := compare(a, l.out[i], args[i], plain[i]); err != nil {
			return fmt.Errorf("argument %d (%s): %w", i, a.Name, err)
		}
	}
	return nil
}

// needs checks that the kernel asks for what the problem's buffers hold.
func needs(k kernels.Kernel, p problem, args [][]byte) error {
	need, err := k.Needs(kernels.Call{Grid: p.grid, Args: args})
	if err != nil {
		return err
	}
	for i, n := range need {
		if n != uint64(len(args[i])) {
			return fmt.Errorf("argument %d (%s) needs %d B, the formula %d B", i, k.Args[i].Name, n,
				len(args[i]))
		}
	}
	return nil
}

func parameter(kind kernels.Kind, v float64) memory {
	p := kernels.Float32Bytes(float32(v))
	if kind == kernels.Int32 {
		p = kernels.Int32Bytes(int32(v))
	}
	return memory{p, p}
}

// guarded is n bytes between guards.
func guarded(n int) memory {
	all := bytes.Repeat([]byte{0xa5}, n+2*guard)
	return memory{all, all[guard : guard+n : guard+n]}
}

// draw fills an argument at random and notes its values; what is not written
// stays as it is.
func (l *launch) draw(k kernels.Kernel, r reference, i int, data []byte, rng *rand.Rand) {
	a := k.Args[i]
	if a.Elem == kernels.Bytes {
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		finite(k.Name, data)
		l.packed = data
		return
	}
	n := len(data) / a.Elem.Size()
	l.args[i], l.out[i] = make([]float64, n), make([]estimate, n)
	for j := range n {
		v := float64(float32(4*rng.Float64() - 2))
		if i == r.positive {
			v = math.Abs(v)
		}
		if a.Elem == kernels.F16 {
			bits := uint16(rng.Uint32()) &^ 0x4000 // below 2
			binary.LittleEndian.PutUint16(data[2*j:], bits)
			v = DecodeHalf(bits)
		} else {
			binary.LittleEndian.PutUint32(data[4*j:], math.Float32bits(float32(v)))
		}
		l.args[i][j], l.out[i][j] = v, exact(v)
	}
}

// finite takes NaN and infinity out of random packed float32 and bfloat16
// values, whose propagation differs between devices. The binary16 formats keep
// theirs.
func finite(kernel string, data []byte) {
	for _, f := range []kernels.Format{kernels.Float, kernels.BFloat} {
		if kernel != decoderName(f, kernels.F16) && kernel != decoderName(f, kernels.F32) {
			continue
		}
		for size := f.BlockBytes(); len(data) >= size; data = data[size:] {
			data[size-1] &^= 0x40 // the exponent's highest bit
		}
	}
}

// compare checks an argument after the launch.
func compare(a kernels.Arg, want []estimate, m memory, before []byte) error {
	if !a.Kind.Writes() && !bytes.Equal(m.data, before) {
		return fmt.Errorf("it was written, but is only read")
	}
	if poison := guarded(0).all; a.Kind.IsBuffer() &&
		(!bytes.Equal(m.all[:guard], poison[:guard]) ||
			!bytes.Equal(m.all[len(m.all)-guard:], poison[guard:])) {
		return fmt.Errorf("memory beside it was written")
	}
	if !a.Kind.Writes() {
		return nil
	}
	for i, e := range want {
		var got float64
		if a.Elem == kernels.F16 {
			got = DecodeHalf(binary.LittleEndian.Uint16(m.data[2*i:]))
		} else {
			got = decodeFloat(m.data[4*i:])
		}
		if !e.holds(got) {
			return fmt.Errorf("value %d is %v, want %v within %.3g", i, got, e.value, e.slack)
		}
	}
	return nil
}
