package llama

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Sampler chooses tokens by their logits. The zero value is greedy.
type Sampler struct {
	// Temperature divides the logits; 0 takes the most likely token.
	Temperature float64
	// TopK keeps so many of the most likely tokens, 0 all.
	TopK int
	// TopP keeps the most likely tokens that together have this probability,
	// 0 and 1 all. It comes after TopK.
	TopP float64
	rng  *rand.Rand
}

// NewSampler draws with a seed: the same logits give the same tokens.
func NewSampler(temperature float64, topK int, topP float64, seed int64) *Sampler {
	return &Sampler{
		Temperature: temperature, TopK: topK, TopP: topP,
		rng: rand.New(rand.NewPCG(uint64(seed), 0x67656e6572617465)),
	}
}

// Pick chooses a token. Of equal logits the first counts as the more likely.
func (s *Sampler) Pick(logits []float32) int {
	if s.Temperature <= 0 || s.rng == nil {
		return greedy(logits)
	}
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	if s.TopK > 0 && s.TopK < len(order) {
		order = order[:s.TopK]
	}
	return s.draw(order, s.weights(order, logits))
}

// weights are the probabilities of tokens, times a number.
func (s *Sampler) weights(order []int, logits []float32) []float64 {
	w := make([]float64, len(order))
	for i, token := range order {
		w[i] = math.Exp(float64(logits[token]-logits[order[0]]) / s.Temperature)
	}
	return w
}

// draw takes one of the tokens that together have TopP of the weight.
func (s *Sampler) draw(order []int, weights []float64) int {
	all := 0.0
	for _, w := range weights {
		all += w
	}
	kept := all
	if s.TopP > 0 && s.TopP < 1 {
		kept = 0
		for i, w := range weights {
			if kept += w; kept >= s.TopP*all {
				order = order[:i+1]
				break
			}
		}
	}
	at := s.rng.Float64() * kept
	for i, token := range order {
		if at -= weights[i]; at < 0 {
			return token
		}
	}
	return order[len(order)-1]
}

func greedy(logits []float32) int {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return best
}
