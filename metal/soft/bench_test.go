package soft_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
)

// machine is a device with a queue, and releases all at the end.
type machine struct {
	b     *testing.B
	dev   *soft.Device
	queue metal.Queue
}

func newMachine(b *testing.B) *machine {
	m := &machine{b: b, dev: open(b, soft.Options{})}
	var err error
	m.queue, err = m.dev.NewQueue(0)
	must(b, err)
	b.Cleanup(func() {
		must(b, m.queue.Release())
		must(b, m.dev.Close())
	})
	return m
}

func (m *machine) buffer(n int) metal.Buffer {
	b, err := m.dev.NewBuffer(uint64(n), "")
	must(m.b, err)
	clear(b.Contents()) // pages in
	m.b.Cleanup(func() { must(m.b, b.Release()) })
	return b
}

func (m *machine) pipeline(kernel string) metal.Pipeline {
	p, err := m.dev.NewPipeline(kernel)
	must(m.b, err)
	m.b.Cleanup(func() { must(m.b, p.Release()) })
	return p
}

// run runs one launch in a command buffer and an autorelease scope of its own.
func (m *machine) run(p metal.Pipeline, grid metal.Size, args ...any) {
	m.dev.Autorelease(func() {
		c, err := m.queue.NewCommandBuffer()
		must(m.b, err)
		e, err := c.NewEncoder()
		must(m.b, err)
		e.SetPipeline(p)
		for i, a := range args {
			switch a := a.(type) {
			case metal.Buffer:
				e.SetBuffer(i, a, 0)
			case int:
				e.SetBytes(i, kernels.Int32Bytes(int32(a)))
			}
		}
		must(m.b, e.Dispatch(grid))
		must(m.b, e.End())
		must(m.b, c.Commit())
		must(m.b, c.Wait())
		must(m.b, c.Release())
	})
}

// BenchmarkDispatchLatency is from a new command buffer to the end of its wait
// with one dispatch of one thread.
func BenchmarkDispatchLatency(b *testing.B) {
	m := newMachine(b)
	p, x := m.pipeline("relu"), m.buffer(4)
	b.ReportAllocs()
	for b.Loop() {
		m.run(p, metal.Size{X: 1}, x, x)
	}
}

// BenchmarkDispatchInABatch is one dispatch of a hundred in a command buffer.
func BenchmarkDispatchInABatch(b *testing.B) {
	m := newMachine(b)
	p, x := m.pipeline("relu"), m.buffer(4)
	b.ReportAllocs()
	var c metal.CommandBuffer
	var e metal.Encoder
	begin := func() {
		var err error
		c, err = m.queue.NewCommandBuffer()
		must(b, err)
		e, err = c.NewEncoder()
		must(b, err)
	}
	end := func() {
		for _, step := range []func() error{e.End, c.Commit, c.Wait, c.Release} {
			must(b, step())
		}
	}
	m.dev.Autorelease(func() {
		begin()
		for i := 0; b.Loop(); i++ {
			if i%100 == 99 {
				end()
				begin()
			}
			e.SetPipeline(p)
			e.SetBuffer(0, x, 0)
			e.SetBuffer(1, x, 0)
			must(b, e.Dispatch(metal.Size{X: 1}))
		}
		end()
	})
}

func BenchmarkNewBufferAndRelease(b *testing.B) {
	for _, n := range []int{4, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			dev := open(b, soft.Options{})
			b.ReportAllocs()
			for b.Loop() {
				x, err := dev.NewBuffer(uint64(n), "")
				must(b, err)
				must(b, x.Release())
			}
			must(b, dev.Close())
		})
	}
}

func BenchmarkMatmul(b *testing.B) {
	for _, n := range []int{64, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newMachine(b)
			p, x, y, z := m.pipeline("matmul"), m.buffer(4*n*n), m.buffer(4*n*n), m.buffer(4*n*n)
			for b.Loop() {
				m.run(p, metal.Size{X: n, Y: n}, x, y, z, n, n, n)
			}
			flops(b, 2*n*n*n)
		})
	}
}

func BenchmarkLinearForward(b *testing.B) {
	for _, c := range []struct{ batch, outs, ins int }{{128, 128, 1}, {128, 512, 512}} {
		b.Run(fmt.Sprintf("%dx%dx%d", c.batch, c.outs, c.ins), func(b *testing.B) {
			m := newMachine(b)
			p := m.pipeline("linear_fwd")
			x, w := m.buffer(4*c.batch*c.ins), m.buffer(4*c.outs*c.ins)
			bias, y := m.buffer(4*c.outs), m.buffer(4*c.batch*c.outs)
			for b.Loop() {
				m.run(p, metal.Size{X: c.outs, Y: c.batch}, x, w, bias, y, c.batch, c.outs,
					c.ins, int(kernels.ActReLU))
			}
			flops(b, 2*c.batch*c.outs*c.ins)
		})
	}
}

func flops(b *testing.B, each int) {
	b.ReportMetric(float64(each)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkDequantise decodes random blocks to f16 and copies the same number
// of bytes with the same workers, in turn: "x-copy" is the time over that of
// the copy. Each is the best of all turns, since other programs only slow a
// turn down. All memory is resident.
func BenchmarkDequantise(b *testing.B) {
	const values = 4 << 20
	for _, f := range []kernels.Format{kernels.Q4_0, kernels.Q8_0, kernels.Q6_K, kernels.HalfFloat,
		kernels.Float} {
		b.Run(f.String(), func(b *testing.B) {
			m := newMachine(b)
			p := m.pipeline("dequant_" + strings.ToLower(f.String()) + "_f16")
			blocks, out, other := m.buffer(values/f.BlockValues()*f.BlockBytes()), m.buffer(2*values),
				m.buffer(2*values)
			random(blocks.Contents(), f)
			plain := m.pipeline("copy_inplace")
			decode, copied := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				m.run(p, metal.Size{X: values}, blocks, out)
				middle := time.Now()
				m.run(plain, metal.Size{X: values / 2}, out, other)
				decode = min(decode, middle.Sub(start))
				copied = min(copied, time.Since(middle))
			}
			b.ReportMetric(2*values/decode.Seconds()/1e9, "GB/s")
			b.ReportMetric(2*values/copied.Seconds()/1e9, "copy-GB/s")
			b.ReportMetric(decode.Seconds()/copied.Seconds(), "x-copy")
		})
	}
}

// BenchmarkLoad is what loading a model does: decode Q4_0 to f16 into a buffer
// that is new each time, beside a plain copy of as many bytes into one.
func BenchmarkLoad(b *testing.B) {
	const values, f = 8 << 20, kernels.Q4_0
	m := newMachine(b)
	blocks, halves := m.buffer(values/f.BlockValues()*f.BlockBytes()), m.buffer(2*values)
	random(blocks.Contents(), f)
	decode, plain := m.pipeline("dequant_q4_0_f16"), m.pipeline("copy_inplace")
	fresh := func(p metal.Pipeline, grid int, from metal.Buffer) time.Duration {
		start := time.Now()
		out, err := m.dev.NewBuffer(2*values, "")
		must(b, err)
		m.run(p, metal.Size{X: grid}, from, out)
		must(b, out.Release())
		return time.Since(start)
	}
	loaded, copied := time.Hour, time.Hour
	for b.Loop() {
		loaded = min(loaded, fresh(decode, values, blocks))
		copied = min(copied, fresh(plain, values/2, halves))
	}
	b.ReportMetric(2*values/loaded.Seconds()/1e9, "GB/s")
	b.ReportMetric(2*values/copied.Seconds()/1e9, "copy-GB/s")
	b.ReportMetric(loaded.Seconds()/copied.Seconds(), "x-copy")
}

// random fills p with blocks as models have them: every scale differs and is a
// normal number around 0.01.
func random(p []byte, f kernels.Format) {
	rng := rand.New(rand.NewPCG(1, 2))
	scale := map[kernels.Format]int{kernels.Q6_K: 208}[f] // else it comes first
	for size := f.BlockBytes(); len(p) >= size; p = p[size:] {
		for i := range p[:size] {
			p[i] = byte(rng.Uint32())
		}
		v := float32(0.005 + 0.01*rng.Float64())
		if f == kernels.Float {
			binary.LittleEndian.PutUint32(p, math.Float32bits(v))
			continue
		}
		binary.LittleEndian.PutUint16(p[scale:], kernels.F32ToF16(v))
	}
}
