package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// dequantGrain is how many values one piece of work decodes: a multiple of
// every block, large enough that handing it out costs nothing.
const dequantGrain = 1 << 18

func modelLoad() Workload {
	return Workload{
		Name:    "modelload",
		Summary: "loads a GGUF model as f16, reads one tensor, clears its variables and ends",
		Faults: []Fault{{
			Name: "clone-retained", Truth: "app-leak", Cause: "retained-clone",
			Summary: "a collection of layers keeps a reference to each tensor of the blocks",
		}},
		Truths: []Fault{{
			Name: "tensorlogic", Truth: "pool-growth", Cause: "pool-never-trims",
			Summary: "the pool keeps 30 buffers of each size class for ever",
		}},
		Flags: []Flag{
			{Name: "model",
				Help: "GGUF file to load (default: a sparse twin of TinyLlama 1.1B Q4_0, written first)"},
			{Name: "scale", Default: "1", Help: "divide the twin's dimensions by 1, 2, 4 or 8",
				Check: checkScale},
		},
		check: checkModelLoad,
		run:   runModelLoad,
	}
}

func checkScale(s string) error {
	for _, scale := range gguf.TwinScales() {
		if s == fmt.Sprint(scale) {
			return nil
		}
	}
	return fmt.Errorf("must be one of %v", gguf.TwinScales())
}

// checkModelLoad refuses a file that is none, or that has tensors which cannot
// be decoded.
func checkModelLoad(p *program) error {
	path := p.flag("model")
	if path == "" {
		return nil
	}
	file, err := gguf.Open(path)
	if err != nil {
		return modelRefused(path, err)
	}
	defer file.Close()
	for _, t := range file.Tensors {
		if !kernels.Format(t.Type).Known() {
			formats := strings.Trim(fmt.Sprint(kernels.Formats()), "[]")
			return modelRefused(path,
				fmt.Errorf("tensor %s has the type %v, which cannot be decoded; these work: %s",
					t.Name, t.Type, strings.ReplaceAll(formats, " ", ", ")))
		}
	}
	return nil
}

func runModelLoad(ctx context.Context, p *program) (err error) {
	path := p.flag("model")
	if path == "" {
		dir, err := os.MkdirTemp(p.TempDir, "gpumem-model-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "tinyllama-twin.gguf")
		if err := writeTwin(path, p.number("scale")); err != nil {
			return err
		}
	}
	for n := range p.Repeat {
		if n > 0 {
			p.client.Phase(record.PhaseBaseline)
		}
		if err := p.loadOnce(ctx, path); err != nil {
			return err
		}
		p.tick()
		if n < p.Repeat-1 {
			p.client.Phase(record.PhaseReleased)
		}
	}
	return nil
}

func writeTwin(path string, scale int) error {
	spec, err := gguf.Twin(scale)
	if err != nil {
		return err
	}
	return spec.WriteSparse(path)
}

// variables are what the original's script had: the model and one tensor.
type variables struct {
	model  map[string]*tensor.Tensor
	tensor *tensor.Tensor
}

// loadOnce loads the model, reads one tensor, and clears the variables.
func (p *program) loadOnce(ctx context.Context, path string) error {
	file, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	v := variables{model: map[string]*tensor.Tensor{}}
	loaded := int64(0)
	for _, t := range file.Tensors {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, v.clear())
		}
		w, err := p.loadTensor(file, t)
		if err != nil {
			return errors.Join(fmt.Errorf("load %s: %w", t.Name, err), v.clear())
		}
		v.model[t.Name] = w
		loaded += int64(2 * t.Elements)
	}
	p.did(console.Let)
	fmt.Fprintf(p.Stdout, "loaded %d tensors, %d B as f16\n", len(v.model), loaded)
	if err := p.useModel(&v, file.Tensors); err != nil {
		return errors.Join(err, v.clear())
	}
	return p.clear(&v)
}

// clear gives the two variables up and says what became of their memory, in
// the lengths that were asked for: pages are in the samples.
func (p *program) clear(v *variables) error {
	p.stats()
	p.printer.CleanupBefore(p.allocated(), 2)
	held := p.poolBytes()
	if err := v.clear(); err != nil {
		return err
	}
	p.printer.CleanupAfter(p.allocated())
	p.did(console.Expr)
	s := p.rt.Stats()
	kept := p.poolBytes()
	fmt.Fprintf(p.Stdout,
		"after clearing 2 variables: %d B freed, %d buffers and %d B kept by the pool, %d buffers still "+
			"referenced\n",
		held.live+held.idle-kept.live-kept.idle, s.IdleCount, kept.idle, s.LiveCount)
	return nil
}

// poolBytes are what the pool asked the device for.
func (p *program) poolBytes() (b struct{ live, idle int64 }) {
	if pl := p.rt.Pool(); pl != nil {
		s := pl.Stats()
		b.live, b.idle = int64(s.Live.Bytes+s.Pending.Bytes), int64(s.Idle.Bytes)
		return b
	}
	b.live = p.rt.Stats().LiveBytes
	return b
}

// useModel reads one tensor as the script did, and plants the retained clone.
func (p *program) useModel(v *variables, tensors []gguf.Tensor) error {
	first, ok := v.model["token_embd.weight"]
	if !ok {
		first = v.model[tensors[0].Name]
	}
	var err error
	if v.tensor, err = first.Share(); err != nil { // get_tensor shares, it does not copy
		return err
	}
	v.tensor.Keep()
	p.did(console.Let)
	if p.Fault != "clone-retained" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v.model)) {
		layer, err := v.model[name].Share() // build_layer_collection: shared, and never cleared
		if err != nil {
			return err
		}
		layer.Keep()
	}
	return nil
}

// clear releases what the variables hold.
func (v *variables) clear() error {
	var failed error
	if v.tensor != nil {
		failed = v.tensor.Release()
	}
	for _, t := range v.model {
		failed = errors.Join(failed, t.Release())
	}
	*v = variables{}
	return failed
}

// loadTensor makes one tensor of f16 and decodes the file's values into it.
func (p *program) loadTensor(file *gguf.File, t gguf.Tensor) (*tensor.Tensor, error) {
	format := kernels.Format(t.Type)
	if !format.Known() {
		return nil, fmt.Errorf("type %v cannot be decoded", t.Type)
	}
	w, err := p.rt.NewHalf(t.Name, t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := decodeInto(w.Keep().As(tensor.Parameters), file.Data(t), format); err != nil {
		return nil, errors.Join(err, w.Release())
	}
	return w, nil
}

// decodeInto decodes straight into the tensor's memory, or by way of the
// host's where the host cannot address it.
func decodeInto(w *tensor.Tensor, src io.ReaderAt, format kernels.Format) error {
	memory := w.Contents()
	if memory == nil {
		values := make([]uint16, w.Len())
		if err := dequantise(values, src, format); err != nil {
			return err
		}
		return w.SetHalf(values)
	}
	values, err := kernels.AsF16(memory)
	if err != nil {
		return err
	}
	return dequantise(values, src, format)
}

// dequantise decodes in pieces, on all cores.
func dequantise(dst []uint16, src io.ReaderAt, format kernels.Format) error {
	pieces := (len(dst) + dequantGrain - 1) / dequantGrain
	next := make(chan int, pieces)
	for i := range pieces {
		next <- i
	}
	close(next)
	workers := min(pieces, runtime.GOMAXPROCS(0))
	failed := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			buf := make([]byte, dequantGrain/format.BlockValues()*format.BlockBytes())
			for i := range next {
				if err := dequantPiece(dst, src, format, i, buf); err != nil {
					failed[w] = err
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

func dequantPiece(dst []uint16, src io.ReaderAt, format kernels.Format, piece int, buf []byte) error {
	lo := piece * dequantGrain
	hi := min(lo+dequantGrain, len(dst))
	values := format.BlockValues()
	blocks := (hi - lo + values - 1) / values
	buf = buf[:blocks*format.BlockBytes()]
	offset := int64(lo / values * format.BlockBytes())
	if n, err := src.ReadAt(buf, offset); n < len(buf) {
		return fmt.Errorf("read %d B at %d of the tensor: %w", len(buf), offset, err)
	}
	return kernels.DequantF16(dst[lo:hi], buf, format)
}
