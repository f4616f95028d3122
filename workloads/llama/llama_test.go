package llama_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// small is a shape whose rows are whole blocks of every format.
func small() llama.Config {
	c := llama.Tiny()
	c.Width, c.Hidden, c.Vocab, c.Context = 256, 512, 300, 64
	return c
}

// twin is a file with a model of that shape.
func twin(t testing.TB, c llama.Config, f kernels.Format) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "twin.gguf")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := llama.WriteTwin(w, c, f, 7); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// runtime is one on the soft device, or with none on the host.
func runtime(t testing.TB, onHost bool) *tensor.Runtime {
	t.Helper()
	o := tensor.Options{}
	if !onHost {
		var device metal.Device
		device, err := soft.Open(soft.Options{})
		if err != nil {
			t.Fatal(err)
		}
		policy, err := pool.PolicyByName("default")
		if err != nil {
			t.Fatal(err)
		}
		o.Device, o.Policy = device, policy
		t.Cleanup(func() {
			if err := device.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	rt, err := tensor.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// load opens a file on a runtime.
func load(t testing.TB, rt *tensor.Runtime, path string, context int) *llama.Model {
	t.Helper()
	file, err := gguf.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	m, err := llama.Load(rt, file, context, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Release(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// generate is the logits after the prompt, read in pieces, and so many greedy
// tokens.
func generate(t testing.TB, m *llama.Model, pieces [][]int, count int) (first []float32, chosen []int) {
	t.Helper()
	cache, err := m.NewCache(32)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Release()
	var logits []float32
	forward := func(tokens []int) {
		row, err := m.Forward(tokens, cache)
		if err != nil {
			t.Fatal(err)
		}
		if logits, err = row.Values(); err != nil {
			t.Fatal(err)
		}
		if err := row.Release(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pieces {
		forward(p)
	}
	first = logits
	var greedy llama.Sampler
	for range count {
		chosen = append(chosen, greedy.Pick(logits))
		forward(chosen[len(chosen)-1:])
	}
	return first, chosen
}

// said is what the reference computes.
type said struct {
	Logits []float64
	Tokens []int
}

// reference runs the script, which needs Python with numpy.
func reference(t *testing.T, path string, tokens []int, count int) said {
	t.Helper()
	python := "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		python = "python3"
		if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
			t.Skip("no python3 here has numpy; Debian: apt-get install python3-numpy")
		}
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(tokens), " ", ","), "[]")
	out, err := exec.Command(python, "testdata/reference.py", path, list, fmt.Sprint(count)).Output()
	if err != nil {
		var exit *exec.ExitError
		if e, ok := err.(*exec.ExitError); ok {
			exit = e
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var s said
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// within wants logits that differ by less than a thousandth of the largest.
func within(t *testing.T, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d logits, want %d", len(got), len(want))
	}
	largest, worst := 0.0, 0.0
	for i, w := range want {
		largest = max(largest, math.Abs(w))
		worst = max(worst, math.Abs(float64(got[i])-w))
	}
	if !(worst <= 1e-3*largest) || largest < 0.1 {
		t.Errorf("logits differ by up to %g, of %g", worst, largest)
	}
}

// TestEachFormatComputesWhatTheReferenceDoes compares with a program that
// shares nothing with this one: another language, in float64, without a cache.
func TestEachFormatComputesWhatTheReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, f := range kernels.Formats() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			path, prompt := twin(t, small(), f), []int{1, 250, 3, 17, 299, 0, 42}
			want := reference(t, path, prompt, 8)
			for _, onHost := range []bool{false, true} {
				m := load(t, runtime(t, onHost), path, 40)
				got, tokens := generate(t, m, [][]int{prompt}, 8)
				within(t, got, want.Logits)
				if !slices.Equal(tokens, want.Tokens) {
					t.Errorf("on the host %v: tokens %v, want %v", onHost, tokens, want.Tokens)
				}
			}
		})
	}
}

func TestAPromptReadInPiecesGivesTheSameTokens(t *testing.T) {
	t.Parallel()
	path := twin(t, llama.Tiny(), kernels.Q8_0)
	m := load(t, runtime(t, false), path, 64)
	whole, a := generate(t, m, [][]int{{5, 6, 7, 8, 9}}, 6)
	parts, b := generate(t, m, [][]int{{5}, {6, 7}, {8, 9}}, 6)
	if !slices.Equal(a, b) {
		t.Errorf("tokens %v and %v", a, b)
	}
	for i := range whole {
		if math.Abs(float64(whole[i]-parts[i])) > 1e-4 {
			t.Fatalf("logit %d is %g and %g", i, whole[i], parts[i])
		}
	}
}
