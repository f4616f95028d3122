package workloads

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// request is one request from its upload to its answer.
func (s *server) request(n int) error {
	if err := s.converse(n); err != nil {
		return err
	}
	if s.Fault == "lazy-weights" { // all are in use after a quarter of the requests
		if err := s.write(4 * weightBytes / len(s.sizes) * (n + 1)); err != nil {
			return err
		}
	}
	var uploads []pool.Handle
	outside := s.Fault == "release-outside-pool"
	err := s.rt.Scope(func() (err error) {
		if uploads, err = s.upload(); err == nil {
			err = errors.Join(s.speculate(uploads[0]), s.answer(s.sizes[n], uploads))
		}
		if outside {
			return err
		}
		return errors.Join(err, dropAll(uploads))
	})
	if outside {
		err = errors.Join(err, dropAll(uploads))
	}
	return err
}

// upload puts each input into a buffer.
func (s *server) upload() (uploads []pool.Handle, err error) {
	for len(uploads) < s.inputs {
		h, err := s.buffer(labelInput, inputBytes)
		if err != nil {
			return uploads, err
		}
		uploads = append(uploads, h)
		for at := 0; at < inputBytes; at += 4 {
			binary.LittleEndian.PutUint32(s.in[at:], math.Float32bits(s.rng.Float32()))
		}
		if _, err := h.Buffer().WriteAt(s.in[:inputBytes], 0); err != nil {
			return uploads, err
		}
	}
	return uploads, nil
}

// speculate encodes work that turns out not to be wanted, and drops it; with
// its fault it forgets to.
func (s *server) speculate(input pool.Handle) error {
	fill, err := s.kernel("fill", "fill")
	if err != nil {
		return err
	}
	c, err := s.queue.NewCommandBuffer()
	if err != nil {
		return err
	}
	err = encode(c, fill, metal.Size{X: inputBytes / 4}, func(e metal.Encoder) {
		e.SetBuffer(0, input.Buffer(), 0)
		e.SetBytes(1, kernels.Float32Bytes(0))
	})
	if s.Fault == "uncommitted" {
		return err
	}
	return errors.Join(err, c.Release())
}

// answer computes 2 x + 1 for so many values, the inputs' one after the other,
// and checks it.
func (s *server) answer(size int, uploads []pool.Handle) error {
	in, out := s.in[:4*size], s.out[:4*size]
	for at := 0; at < len(in); at += inputBytes {
		from := uploads[at/inputBytes%len(uploads)].Buffer()
		if _, err := from.ReadAt(in[at:min(at+inputBytes, len(in))], 0); err != nil {
			return err
		}
	}
	x, err := s.rt.New("request", size)
	if err != nil {
		return err
	}
	y, err := s.rt.New("answer", size)
	if err != nil {
		return err
	}
	if _, err := x.Buffer().WriteAt(in, 0); err != nil {
		return err
	}
	if err := s.launch(x, y); err != nil {
		return err
	}
	if _, err := y.Buffer().ReadAt(out, 0); err != nil {
		return err
	}
	for at := 0; at < len(in); at += 4 {
		v, got := float32At(in, at), float32At(out, at)
		if got != 2*v+1 {
			return fmt.Errorf("value %d of the answer is %g, not %g", at/4, got, 2*v+1)
		}
	}
	return nil
}

func float32At(p []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(p[at:]))
}

// launch runs y = 2 x + 1 and waits for it.
func (s *server) launch(x, y *tensor.Tensor) error {
	compiledFor := "affine"
	switch s.Fault {
	case "compile-shapes":
		compiledFor = fmt.Sprintf("affine %v", x.Shape())
	case "recompile":
		compiledFor = fmt.Sprintf("affine, %d", len(s.pipelines)) // a key that never comes again
	}
	affine, err := s.kernel("affine", compiledFor)
	if err != nil {
		return err
	}
	c, err := s.queue.NewCommandBuffer()
	if err != nil {
		return err
	}
	err = encode(c, affine, metal.Size{X: x.Len()}, func(e metal.Encoder) {
		e.SetBuffer(0, x.Buffer(), 0)
		e.SetBuffer(1, y.Buffer(), 0)
		e.SetBytes(2, kernels.Float32Bytes(2))
		e.SetBytes(3, kernels.Float32Bytes(1))
	})
	if err == nil {
		err = c.Commit()
	}
	if err == nil {
		err = c.Wait()
	}
	return errors.Join(err, c.Release())
}

// kernel is compiled once for what it is compiled for.
func (s *server) kernel(name, compiledFor string) (metal.Pipeline, error) {
	if p := s.pipelines[compiledFor]; p != nil {
		return p, nil
	}
	p, err := s.device.NewPipeline(name)
	if err == nil {
		s.pipelines[compiledFor] = p
	}
	return p, err
}

// encode adds one dispatch of a kernel.
func encode(c metal.CommandBuffer, kernel metal.Pipeline, grid metal.Size, bind func(metal.Encoder)) error {
	e, err := c.NewEncoder()
	if err != nil {
		return err
	}
	e.SetPipeline(kernel)
	bind(e)
	return errors.Join(e.Dispatch(grid), e.End())
}
