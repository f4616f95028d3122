package tensor

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

func TestHalfValuesAreWrittenAsTheyAre(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		h := must(rt.NewHalf("h", 2, 2))(t)
		want := []uint16{0x3c00, 0xc000, 0, 0x7bff}
		if err := h.SetHalf(want); err != nil {
			t.Fatal(err)
		}
		if got := must(kernels.AsF16(h.Contents()))(t); !slices.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		full := must(rt.New("f", 4))(t)
		for _, err := range []error{h.SetHalf(want[:3]), full.SetHalf(want)} {
			if !errors.Is(err, ErrShape) {
				t.Errorf("got %v, want %v", err, ErrShape)
			}
		}
		if err := errors.Join(h.Release(), full.Release()); err != nil {
			t.Fatal(err)
		}
	})
}

// opening counts the autorelease scopes that a runtime opens.
type opening struct {
	*soft.Device
	opened int
}

func (s *opening) Autorelease(f func()) {
	s.opened++
	s.Device.Autorelease(f)
}

func TestAScopeOpensAnAutoreleaseScopeUnlessTheFaultIsPlanted(t *testing.T) {
	t.Parallel()
	for planted, want := range map[bool]int{false: 3, true: 0} {
		d, err := soft.Open(soft.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &opening{Device: d}
		policy, err := pool.PolicyByName("default")
		if err != nil {
			t.Fatal(err)
		}
		rt, err := New(Options{Device: s, Policy: policy, NoAutorelease: planted})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := rt.Scope(func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if s.opened != want {
			t.Errorf("planted %v: %d autorelease scopes, want %d", planted, s.opened, want)
		}
		if err := errors.Join(rt.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}
}
