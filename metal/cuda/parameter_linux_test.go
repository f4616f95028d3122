//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"io"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/metal/kernels"
)

// TestAParameterInABufferIsWhatWasWrittenLast, by the host or by a kernel: the
// driver needs it before the launch, Metal only when the kernel runs.
func TestAParameterInABufferIsWhatWasWrittenLast(t *testing.T) {
	t.Parallel()
	dev := mustOpen(t, cuda.Options{Library: stubbed(t, "lag_us 500")})
	q, err := dev.NewQueue(0)
	must(t, err)
	fill, err := dev.NewPipeline("fill")
	must(t, err)
	var made []metal.Buffer
	buffer := func(length uint64) metal.Buffer {
		b, err := dev.NewBuffer(length, "")
		must(t, err)
		made = append(made, b)
		return b
	}
	y, v, long := buffer(4), buffer(8), buffer(1024)
	write := func(b metal.Buffer, x float32, at int64) {
		_, err := b.WriteAt(kernels.Float32Bytes(x), at)
		must(t, err)
	}
	// fillFrom is y = the value at an offset of a buffer; by is a fill of that
	// buffer's first value before, in the same command buffer, unless 0.
	fillFrom := func(b metal.Buffer, offset uint64, by, want float32) {
		t.Helper()
		c, err := q.NewCommandBuffer()
		must(t, err)
		e, err := c.NewEncoder()
		must(t, err)
		e.SetPipeline(fill)
		if by != 0 {
			e.SetBuffer(0, b, 0)
			e.SetBytes(1, kernels.Float32Bytes(by))
			must(t, e.Dispatch(metal.Size{X: 1}))
		}
		e.SetBuffer(0, y, 0)
		e.SetBuffer(1, b, offset)
		must(t, e.Dispatch(metal.Size{X: 1}))
		for _, step := range []func() error{e.End, c.Commit, c.Wait, c.Release} {
			must(t, step())
		}
		got := make([]byte, 4)
		if _, err := y.ReadAt(got, 0); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if string(got) != string(kernels.Float32Bytes(want)) {
			t.Errorf("the kernel saw % x, want %v", got, want)
		}
	}
	write(v, 1, 0) // half of it: the rest is not known
	write(v, 2, 4)
	fillFrom(v, 4, 0, 2)
	_, err = v.WriteAt(append(kernels.Float32Bytes(3), kernels.Float32Bytes(4)...), 0)
	must(t, err)
	fillFrom(v, 0, 0, 3)
	fillFrom(v, 4, 0, 4)
	write(v, 5, 4)
	fillFrom(v, 4, 0, 5)
	fillFrom(v, 0, 6, 6) // a kernel wrote it
	fillFrom(v, 0, 0, 6)
	write(v, 7, 0)
	fillFrom(v, 0, 0, 7)
	_, err = v.WriteAt(make([]byte, 8), 0)
	must(t, err)
	v.SetPurgeable(metal.Empty)
	write(v, 8, 4) // into memory made anew
	fillFrom(v, 4, 0, 8)
	write(long, 9, 512)
	fillFrom(long, 512, 10, 9)
	for _, b := range made {
		must(t, b.Release())
	}
	for _, release := range []func() error{fill.Release, q.Release, dev.Close} {
		must(t, release())
	}
}
