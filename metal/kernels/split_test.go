package kernels

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

// canary fills the bytes behind each buffer; no kernel may touch them.
const canary = 0xa5

// sample is a call of k with random parameters and buffers of exactly the
// needed length, each followed by canaries.
func sample(t *testing.T, k Kernel, r *rand.Rand) Call {
	t.Helper()
	c := Call{Grid: metal.Size{X: 1 + r.IntN(70), Y: 1 + r.IntN(20)}, Args: make([][]byte, len(k.Args))}
	for i, a := range k.Args {
		switch {
		case a.Kind == Int32 && a.Max > 0:
			c.Args[i] = Int32Bytes(r.Int32N(a.Max + 1))
		case a.Kind == Int32:
			c.Args[i] = Int32Bytes(r.Int32N(40))
		case a.Kind == Float32:
			c.Args[i] = Float32Bytes(r.Float32())
		}
	}
	need, err := k.Needs(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range need {
		c.Args[i] = fresh(k.Args[i].Elem, int(n), r)
	}
	return c
}

func fresh(e Elem, n int, r *rand.Rand) []byte {
	b := make([]byte, n, n+64)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	if e == F32 {
		for i := 0; i < n; i += 4 {
			copy(b[i:], Float32Bytes(r.Float32()-0.5))
		}
	}
	for i := n; i < cap(b); i++ {
		b[:cap(b)][i] = canary
	}
	return b
}

func (c Call) clone() Call {
	args := make([][]byte, len(c.Args))
	for i, a := range c.Args {
		args[i] = bytes.Clone(a[:cap(a)])[:len(a)]
	}
	c.Args = args
	return c
}

func TestEveryKernelStaysInsideItsBuffersAndReadsOnlyItsInputs(t *testing.T) {
	t.Parallel()
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				before := sample(t, k, r)
				after := before.clone()
				if err := k.Run(after); err != nil {
					t.Fatal(err)
				}
				for i, a := range k.Args {
					have := after.Args[i]
					if !a.Kind.Writes() && !bytes.Equal(have, before.Args[i]) {
						t.Errorf("argument %s is only read, but changed", a.Name)
					}
					if a.Kind.IsBuffer() &&
						!bytes.Equal(have[len(have):len(have)+64], bytes.Repeat([]byte{canary}, 64)) {
						t.Errorf("argument %s was written behind its end", a.Name)
					}
				}
			}
		})
	}
}

// shuffle runs ranges at the same time, of lengths that differ from call to
// call and heed no grain.
func shuffle(r *rand.Rand) func(n, grain int, body func(lo, hi int)) {
	return func(n, _ int, body func(lo, hi int)) {
		var wait sync.WaitGroup
		for at := 0; at < n; {
			lo, hi := at, min(n, at+1+r.IntN(n/4+5))
			wait.Go(func() { body(lo, hi) })
			at = hi
		}
		wait.Wait()
	}
}

func TestEveryKernelGivesTheSameBitsHoweverItIsSplit(t *testing.T) {
	t.Parallel()
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 4))
			for range 20 {
				serial := sample(t, k, r)
				if k.Grid == "value" { // wide enough that a split happens
					serial = widen(t, k, serial, r)
				}
				split := serial.clone()
				split.Parallel = shuffle(r)
				if err := errors.Join(k.Run(serial), k.Run(split)); err != nil {
					t.Fatal(err)
				}
				for i := range k.Args {
					if !bytes.Equal(serial.Args[i], split.Args[i]) {
						t.Fatalf("argument %s differs when split", k.Args[i].Name)
					}
				}
			}
		})
	}
}

func widen(t *testing.T, k Kernel, c Call, r *rand.Rand) Call {
	t.Helper()
	c.Grid.X = grainDequant + 1 + r.IntN(100)
	need, err := k.Needs(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range need {
		c.Args[i] = fresh(k.Args[i].Elem, int(n), r)
	}
	return c
}
