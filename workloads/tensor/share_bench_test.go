package tensor_test

import (
	"testing"

	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// BenchmarkAHandleIsSharedAndGivenUp is what the Arc plan has at about 5 ns.
func BenchmarkAHandleIsSharedAndGivenUp(b *testing.B) {
	device, err := soft.Open(soft.Options{})
	if err != nil {
		b.Fatal(err)
	}
	policy, err := pool.PolicyByName("default")
	if err != nil {
		b.Fatal(err)
	}
	rt, err := tensor.New(tensor.Options{Device: device, Policy: policy})
	if err != nil {
		b.Fatal(err)
	}
	t, err := rt.New("shared", 64, 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := t.Share()
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Release(); err != nil {
			b.Fatal(err)
		}
	}
}
