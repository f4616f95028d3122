package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// sample is a launch of k in which every element of every buffer counts: the
// grid covers all, nothing is zero.
func sample(t *testing.T, k kernels.Kernel) kernels.Call {
	t.Helper()
	c := kernels.Call{Grid: metal.Size{X: 16, Y: 16}, Args: make([][]byte, len(k.Args))}
	if k.Grid == "value" {
		c.Grid = metal.Size{X: 512}
	}
	dims := int32(3)
	for i, a := range k.Args {
		switch {
		case a.Kind == kernels.Float32:
			c.Args[i] = kernels.Float32Bytes(0.25)
		case a.Name == "act":
			c.Args[i] = kernels.Int32Bytes(int32(kernels.ActTanh))
		case a.Kind == kernels.Int32:
			c.Args[i] = kernels.Int32Bytes(dims)
			dims += 2
		}
	}
	need, err := k.Needs(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for i, n := range need {
		c.Args[i] = make([]byte, n)
		for at := 0; at < len(c.Args[i]); at += k.Args[i].Elem.Size() {
			fillElem(k.Args[i].Elem, c.Args[i][at:], 0.6+0.9*rng.Float32(), rng)
		}
		if k.Args[i].Elem == kernels.Bytes {
			rescale(k, c.Args[i])
		}
	}
	return c
}

// rescale gives the blocks scales and minima of one size, so that no value is
// lost beside its minimum.
func rescale(k kernels.Kernel, blocks []byte) {
	for _, f := range formats() {
		if !strings.HasPrefix(k.Name, "dequant_"+strings.ToLower(f.String())+"_") {
			continue
		}
		for size := f.BlockBytes(); len(blocks) >= size && f.BlockValues() > 1; blocks = blocks[size:] {
			scale(f, blocks, 0.01)
		}
	}
}

func fillElem(e kernels.Elem, p []byte, v float32, rng *rand.Rand) {
	switch e {
	case kernels.F32:
		binary.LittleEndian.PutUint32(p, math.Float32bits(v))
	case kernels.F16:
		binary.LittleEndian.PutUint16(p, kernels.F32ToF16(v))
	case kernels.Bytes:
		p[0] = byte(1+rng.IntN(6)) * 0x11
	}
}

// results are the buffers that k wrote when run on copies of the arguments.
func results(t *testing.T, k kernels.Kernel, c kernels.Call) [][]byte {
	t.Helper()
	args := make([][]byte, len(c.Args))
	for i, p := range c.Args {
		args[i] = bytes.Clone(p)
	}
	if err := k.Run(kernels.Call{Grid: c.Grid, Args: args}); err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for i, a := range k.Args {
		if a.Kind.Writes() {
			out = append(out, args[i])
		}
	}
	return out
}

// Needs is not a byte too large: the last element of each input changes a
// result, the last of each output is written.
func TestNeedsReachesToTheLastElement(t *testing.T) {
	t.Parallel()
	for _, k := range kernels.All() {
		c := sample(t, k)
		before := results(t, k, c)
		for i, a := range k.Args {
			if !a.Kind.IsBuffer() {
				continue
			}
			size := a.Elem.Size()
			last := c.Args[i][len(c.Args[i])-size:]
			old := bytes.Clone(last)
			switch a.Elem {
			case kernels.F32:
				v := math.Float32frombits(binary.LittleEndian.Uint32(last))
				binary.LittleEndian.PutUint32(last, math.Float32bits(-v/2-0.25))
			case kernels.F16, kernels.Bytes:
				last[size-1] ^= 0x11
			}
			after := results(t, k, c)
			switch at := slot(k, i); {
			case a.Kind == kernels.Out:
				if !bytes.Equal(before[at], after[at]) {
					t.Errorf("kernel %s: the end of output %d (%s) was not written", k.Name, i, a.Name)
				}
			case a.Kind == kernels.InOut:
				if bytes.HasSuffix(before[at], old) {
					t.Errorf("kernel %s: the end of argument %d (%s) was not written", k.Name, i, a.Name)
				}
			case equal(before, after):
				t.Errorf("kernel %s: the end of argument %d (%s) counts for nothing", k.Name, i, a.Name)
			}
			copy(last, old)
		}
	}
}

// slot is the place of argument i in the results.
func slot(k kernels.Kernel, i int) (n int) {
	for _, a := range k.Args[:i] {
		if a.Kind.Writes() {
			n++
		}
	}
	return n
}

func equal(a, b [][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Needs is not a byte too small either: the conformance suite runs with guard
// bytes. Here, one byte less is refused.
func TestAByteLessThanNeededIsRefused(t *testing.T) {
	t.Parallel()
	for _, k := range kernels.All() {
		c := sample(t, k)
		for i := range k.Args {
			whole := c.Args[i]
			c.Args[i] = whole[:len(whole)-1]
			err := k.Run(c)
			var short *kernels.ShortError
			if !errors.As(err, &short) || !errors.Is(err, metal.ErrInvalid) {
				t.Fatalf("kernel %s, argument %d: error %v", k.Name, i, err)
			}
			want := kernels.ShortError{Kernel: k.Name, Index: i, Arg: k.Args[i].Name, NeedBytes: uint64(len(whole)),
				HaveBytes: uint64(len(whole) - 1)}
			if *short != want {
				t.Errorf("got %+v, want %+v", *short, want)
			}
			c.Args[i] = whole
		}
	}
}

func TestBadArgumentsAreNamedAndNothingRuns(t *testing.T) {
	t.Parallel()
	big := kernels.Int32Bytes(math.MaxInt32)
	for _, c := range []struct {
		name, kernel string
		change       func(c *kernels.Call)
		says         string
	}{
		{"too few arguments", "add", func(c *kernels.Call) { c.Args = c.Args[:2] }, "2 arguments of 3"},
		{"a negative grid", "add", func(c *kernels.Call) { c.Grid.Z = -1 }, "negative"},
		{"a negative dimension", "matmul", func(c *kernels.Call) { c.Args[4] = kernels.Int32Bytes(-3) }, "(n) is -3"},
		{"an unknown activation", "linear_fwd", func(c *kernels.Call) { c.Args[7] = kernels.Int32Bytes(4) },
			"(act) is 4"},
		{"a misaligned buffer", "add", func(c *kernels.Call) { c.Args[1] = make([]byte, 4096)[1:] }, "not aligned"},
		{"a misaligned half", "dequant_f32_f16", func(c *kernels.Call) { c.Args[1] = make([]byte, 4096)[1:] },
			"not aligned"},
		{"dimensions that overflow", "sum_axis", func(c *kernels.Call) {
			c.Args[2], c.Args[3], c.Args[4] = big, big, big
		}, "9223372036854775807 B"},
		{"a grid that overflows", "fill", func(c *kernels.Call) { c.Grid.X = math.MaxInt }, "9223372036854775807 B"},
		{"a grid of blocks that overflows", "dequant_q4_0_f16", func(c *kernels.Call) { c.Grid.X = math.MaxInt },
			"needs"},
	} {
		k, ok := kernels.ByName(c.kernel)
		if !ok {
			t.Fatalf("no kernel %s", c.kernel)
		}
		call := sample(t, k)
		last := call.Args[k.Buffers()-1]
		before := bytes.Clone(last)
		c.change(&call)
		err := k.Run(call)
		if !errors.Is(err, metal.ErrInvalid) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), c.kernel) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
		if !bytes.Equal(last, before) {
			t.Errorf("%s: the kernel ran", c.name)
		}
	}
}

// A dimension of zero is an empty problem, not an error.
func TestEmptyDimensionsTouchNothing(t *testing.T) {
	t.Parallel()
	for _, k := range kernels.All() {
		c := sample(t, k)
		dims := 0
		for i, a := range k.Args {
			switch {
			case a.Kind == kernels.Int32 && a.Name != "act":
				c.Args[i] = kernels.Int32Bytes(0)
				dims++
			case a.Kind.IsBuffer():
				c.Args[i] = nil
			}
		}
		if dims == 0 {
			continue
		}
		if err := k.Run(c); err != nil {
			t.Errorf("kernel %s: %v", k.Name, err)
		}
	}
}
