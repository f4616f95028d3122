package workloads

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gpumem/gpumem/workloads/llama"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// sites are the places of the Arc plan at which the original took weights out of
// its model, beside the two of the weight cache. Each is a function of its own,
// so that the clone audit counts it by its line. A nil *sites takes nothing.
type sites struct {
	rt     *tensor.Runtime
	model  *llama.Model
	copies bool // as the plan says it was: each place copies
	layers []*tensor.Tensor
}

// audited is a place of the plan, and the function here that stands for it.
type audited struct{ name, original, function string }

func auditedPlaces() []audited {
	return []audited{
		{"get_tensor", "builtin_model.rs 229, 236", ".getTensor"},
		{"build_layer_collection", "model/mod.rs 102", ".buildLayers"},
		{"get_property", "model/mod.rs 130, 134", ".getProperty"},
		{"weight cache, get", "gguf_weight_cache.rs 137", "WeightCache).get"},
		{"weight cache, put", "gguf_weight_cache.rs 247", "WeightCache).put"},
		{"llama", "llama.rs 172-195", ".llama"},
	}
}

// begin is what a script does before it generates: it reads a tensor and has the
// blocks' tensors collected.
func (s *sites) begin() error {
	weights := s.model.Weights()
	if err := s.rt.Scope(func() error { return s.getTensor(weights[len(weights)-1]) }); err != nil {
		return err
	}
	for _, w := range weights {
		if strings.HasPrefix(w.Name(), "blk.") {
			if err := s.buildLayers(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// token takes the weights of each block, as a forward pass does: those of one
// block at a time.
func (s *sites) token() error {
	if s == nil {
		return nil
	}
	for first, at := 0, 0; at < len(s.layers); first = at {
		block := blockOf(s.layers[first])
		err := s.rt.Scope(func() error {
			if err := s.getProperty(s.layers[first]); err != nil {
				return err
			}
			for at = first; at < len(s.layers) && blockOf(s.layers[at]) == block; at++ {
				if err := s.llama(s.layers[at]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// blockOf is the number of a tensor's block, as text.
func blockOf(t *tensor.Tensor) string {
	_, after, _ := strings.Cut(t.Name(), ".")
	number, _, _ := strings.Cut(after, ".")
	return number
}

func (s *sites) getTensor(w *tensor.Tensor) (err error) {
	if s.copies {
		_, err = w.Copied()
		return err
	}
	_, err = w.Share()
	return err
}

func (s *sites) buildLayers(w *tensor.Tensor) (err error) {
	var layer *tensor.Tensor
	if s.copies {
		layer, err = w.Copied()
	} else {
		layer, err = w.Share()
	}
	if err != nil {
		return err
	}
	s.layers = append(s.layers, layer.KeepIn("map generate.layers"))
	return nil
}

func (s *sites) getProperty(w *tensor.Tensor) (err error) {
	if s.copies {
		_, err = w.Copied()
		return err
	}
	_, err = w.Share()
	return err
}

func (s *sites) llama(w *tensor.Tensor) (err error) {
	if s.copies {
		_, err = w.Copied()
		return err
	}
	_, err = w.Share()
	return err
}

// release gives the collection up.
func (s *sites) release() (failed error) {
	if s == nil {
		return nil
	}
	for _, t := range s.layers {
		failed = errors.Join(failed, t.Release())
	}
	s.layers = nil
	return failed
}

// increments are the references that each place added, by its function, and the
// line where it did.
func increments(audit []tensor.CloneSite) (counts []int64, lines []string) {
	for _, place := range auditedPlaces() {
		count, line := int64(0), "–"
		for _, c := range audit {
			if at, function, _ := strings.Cut(c.Site, " "); strings.HasSuffix(function, place.function) {
				count += c.Increments
				line = fmt.Sprintf("%s/%s", filepath.Base(filepath.Dir(at)), filepath.Base(at))
			}
		}
		counts, lines = append(counts, count), append(lines, line)
	}
	return counts, lines
}
