package llama_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
)

// BenchmarkGenerate writes tokens on the soft device, of a twin whose work is
// its products, beside plain loops in Go over the same weights on one core:
// tokens a second of both, and how many times as many the device writes. The
// tokens are the same.
func BenchmarkGenerate(b *testing.B) {
	c := llama.Tiny()
	c.Blocks, c.Width, c.Hidden, c.Heads, c.Shared, c.Vocab = 4, 512, 1536, 8, 4, 4096
	const count = 16
	for _, f := range []kernels.Format{kernels.Float, kernels.Q4_0, kernels.Q4_K} {
		b.Run(f.String(), func(b *testing.B) {
			path, prompt := twin(b, c, f), []int{1, 2, 3, 4}
			m := load(b, runtime(b, false), path, 40)
			loops := loadPlain(b, path, c)
			var device, plain time.Duration
			for b.Loop() {
				start := time.Now()
				_, got := generate(b, m, [][]int{prompt}, count)
				device += time.Since(start)
				start = time.Now()
				want := loops.generate(prompt, count)
				plain += time.Since(start)
				if !slices.Equal(got, want) {
					b.Fatalf("tokens %v, plain loops %v", got, want)
				}
			}
			written := float64(b.N * count)
			b.ReportMetric(written/device.Seconds(), "tokens/s")
			b.ReportMetric(written/plain.Seconds(), "plain-tokens/s")
			b.ReportMetric(plain.Seconds()/device.Seconds(), "device/plain")
		})
	}
}

// plain is a model in plain loops: each weight decoded, one token after the
// other, one core.
type plain struct {
	llama.Config
	w            map[string][]float32
	keys, values [][]float32 // of each block, one row after the other
}

func loadPlain(t testing.TB, path string, c llama.Config) *plain {
	t.Helper()
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m := &plain{Config: c, w: map[string][]float32{}}
	for _, tensor := range file.Tensors {
		packed := make([]byte, tensor.Bytes)
		if _, err := file.Data(tensor).ReadAt(packed, 0); err != nil {
			t.Fatal(err)
		}
		values := make([]float32, tensor.Elements)
		if err := kernels.DequantF32(values, packed, kernels.Format(tensor.Type)); err != nil {
			t.Fatal(err)
		}
		m.w[tensor.Name] = values
	}
	return m
}

func (m *plain) generate(prompt []int, count int) (chosen []int) {
	m.keys, m.values = make([][]float32, m.Blocks), make([][]float32, m.Blocks)
	var logits []float32
	for _, token := range prompt {
		logits = m.forward(token)
	}
	var greedy llama.Sampler
	for range count {
		chosen = append(chosen, greedy.Pick(logits))
		logits = m.forward(chosen[len(chosen)-1])
	}
	return chosen
}

func (m *plain) forward(token int) []float32 {
	x := slices.Clone(m.w["token_embd.weight"][token*m.Width : (token+1)*m.Width])
	for b := range m.Blocks {
		at := func(name string) []float32 { return m.w["blk."+string(rune('0'+b))+"."+name+".weight"] }
		h := m.norm(x, at("attn_norm"))
		q, k := times(at("attn_q"), h), times(at("attn_k"), h)
		position := len(m.keys[b]) / m.CacheWidth()
		m.turn(q, position)
		m.turn(k, position)
		m.keys[b] = append(m.keys[b], k...)
		m.values[b] = append(m.values[b], times(at("attn_v"), h)...)
		addTo(x, times(at("attn_output"), m.attend(q, m.keys[b], m.values[b])))
		h = m.norm(x, at("ffn_norm"))
		gate, up := times(at("ffn_gate"), h), times(at("ffn_up"), h)
		for i, v := range gate {
			gate[i] = v / (1 + float32(math.Exp(-float64(v)))) * up[i]
		}
		addTo(x, times(at("ffn_down"), gate))
	}
	return times(m.w["output.weight"], m.norm(x, m.w["output_norm.weight"]))
}

func (m *plain) norm(x, w []float32) []float32 {
	var sum float32
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / float32(math.Sqrt(float64(sum/float32(len(x))+m.Epsilon)))
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = v * scale * w[i]
	}
	return y
}

// times is a matrix times a vector.
func times(w, x []float32) []float32 {
	y := make([]float32, len(w)/len(x))
	for r := range y {
		var sum float32
		for i, v := range w[r*len(x) : (r+1)*len(x)] {
			sum += v * x[i]
		}
		y[r] = sum
	}
	return y
}

func addTo(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

func (m *plain) turn(x []float32, position int) {
	for i := 0; i < len(x); i += 2 {
		pair := float64(i % m.HeadSize())
		sine, cosine := math.Sincos(float64(position) * math.Pow(m.RopeBase, -pair/float64(m.HeadSize())))
		a, b := x[i], x[i+1]
		x[i] = a*float32(cosine) - b*float32(sine)
		x[i+1] = a*float32(sine) + b*float32(cosine)
	}
}

func (m *plain) attend(q, keys, values []float32) []float32 {
	size, group := m.HeadSize(), m.Heads/m.Shared
	y := make([]float32, len(q))
	for h := range m.Heads {
		var weights []float64
		sum, scale := 0.0, 1/math.Sqrt(float64(size))
		for p := h / group * size; p < len(keys); p += m.CacheWidth() {
			var dot float32
			for i := range size {
				dot += q[h*size+i] * keys[p+i]
			}
			weights = append(weights, math.Exp(float64(dot)*scale))
			sum += weights[len(weights)-1]
		}
		for n, w := range weights {
			for i := range size {
				y[h*size+i] += float32(w/sum) * values[n*m.CacheWidth()+h/group*size+i]
			}
		}
	}
	return y
}
