package llama_test

import (
	"testing"

	"github.com/gpumem/gpumem/workloads/llama"
	"github.com/gpumem/gpumem/workloads/tensor"
)

func TestAWeightCacheGivesUpWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	for _, host := range []bool{true, false} {
		for _, copies := range []bool{false, true} {
			rt := runtime(t, host)
			c := llama.NewWeightCache(3 * 4 * 100)
			c.Copies = copies
			decoded := 0
			get := func(name string, values int) {
				t.Helper()
				err := rt.Scope(func() error {
					w, err := c.Get(name, func() (*tensor.Tensor, error) {
						decoded++
						return rt.From(name, make([]float32, values), values)
					})
					if err == nil && w.Len() != values {
						t.Errorf("%s has %d values", name, w.Len())
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"a", "b", "c", "a", "d", "a", "b"} { // d evicts b, b then c
				get(name, 100)
			}
			get("larger than all", 301)
			want := llama.WeightCacheStats{
				Hits: 2, Misses: 6, Evictions: 2, TooLarge: 1, Entries: 3, Bytes: 1200, Peak: 1200,
			}
			if got := c.Stats(); got != want || decoded != 6 {
				t.Errorf("host %v, copies %v: %+v after %d decoded, want %+v", host, copies, got, decoded, want)
			}
			if n := rt.LiveTensors(); n != 3 {
				t.Errorf("host %v, copies %v: %d tensors are alive, 3 are kept", host, copies, n)
			}
			if err := c.Release(); err != nil || rt.LiveTensors() != 0 || c.Stats().Bytes != 0 {
				t.Errorf("host %v, copies %v: %v, %d tensors are left", host, copies, err, rt.LiveTensors())
			}
		}
	}
}
