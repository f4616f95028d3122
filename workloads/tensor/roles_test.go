package tensor

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

// partsOf are the bytes by role; they must sum to the account.
func partsOf(t *testing.T, rt *Runtime, labels map[string]Role) (map[Role]int64, Made) {
	t.Helper()
	m := Composition(rt, labels)
	by, sum := map[Role]int64{}, int64(0)
	for _, p := range m.Parts {
		by[p.Role] += p.Bytes
		sum += p.Bytes
	}
	if s := rt.Stats(); sum != m.Bytes || m.Bytes != s.LiveBytes || m.IdleBytes != s.IdleBytes {
		t.Errorf("parts sum to %d of %d, the account has %d; idle %d, %d", sum, m.Bytes, s.LiveBytes,
			m.IdleBytes,
			s.IdleBytes)
	}
	return by, m
}

func TestLiveMemoryIsMadeOfWhatTheProgramSaysAndSumsToTheAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, rt *Runtime) {
		l, err := rt.NewLinear("hidden", 64, 4096, kernels.Activation(0), rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		const weights = 4 * 64 * 4096
		by, _ := partsOf(t, rt, nil)
		least := func(role Role, bytes int64) {
			t.Helper()
			if by[role] < bytes || by[role] > bytes+2*65536 { // pages, of two tensors at most
				t.Errorf("%s: %d bytes, want %d", role, by[role], bytes)
			}
		}
		least(Parameters, weights+4*4096)
		least(Gradients, weights+4*4096)
		if by[Optimizer] < 2*weights || by[Activations] != 0 || by[Temporaries] != 0 {
			t.Errorf("before a step: %v", by)
		}
		err = rt.Scope(func() error {
			x, err := rt.From("batch", make([]float32, 64*256), 256, 64)
			if err != nil {
				return err
			}
			if _, err = l.Forward(x); err != nil {
				return err
			}
			if _, err := rt.New("scratch", 1<<16); err != nil {
				return err
			}
			by, _ = partsOf(t, rt, nil)
			least(Activations, 4*256*4096)
			least(Inputs, 4*64*256)
			least(Temporaries, 4<<16)
			return rt.Sync()
		})
		if err != nil {
			t.Fatal(err)
		}
		if by, _ = partsOf(t, rt, nil); by[Activations]+by[Inputs]+by[Temporaries] != 0 {
			t.Errorf("after the step: %v", by)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatAGraphKeepsIsActivationsAndALeafIsAParameter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, rt *Runtime) {
		x, err := rt.From("board", make([]float32, 1<<16), 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		x.Keep().RequireGrad()
		y, err := rt.Sigmoid(x)
		if err != nil {
			t.Fatal(err)
		}
		by, _ := partsOf(t, rt, nil)
		if by[Parameters] < 4<<16 || by[Activations] < 4<<16 || by[Inputs] != 0 {
			t.Errorf("%v", by)
		}
		for _, each := range []*Tensor{y, x} {
			if err := each.Release(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestMemoryOfThePoolThatIsNoTensorsHasTheRoleOfItsLabelOrNone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, rt *Runtime) {
		if rt.Pool() == nil {
			return
		}
		var handles []pool.Handle
		for _, label := range []string{"cache", "other"} {
			h, err := rt.Pool().Get(pool.Request{Elements: 1 << 20, ElementSize: 1, Label: label})
			if err != nil {
				t.Fatal(err)
			}
			handles = append(handles, h)
		}
		by, m := partsOf(t, rt, map[string]Role{"cache": KVCache})
		if by[KVCache] != 1<<20 || by[NoTensor] != 1<<20 || m.Rounded != 0 {
			t.Errorf("%v, %+v", by, m)
		}
		for _, h := range handles {
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if _, m = partsOf(t, rt, nil); m.Bytes != 0 || m.IdleCount > 0 && m.Largest != 1<<20 {
			t.Errorf("%+v", m)
		}
	})
}

func TestThatTheDeviceHasNoMemoryIsToldBeforeAnythingIsGivenUp(t *testing.T) {
	t.Parallel()
	d, err := soft.Open(soft.Options{WorkingSet: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := pool.PolicyByName("default")
	if err != nil {
		t.Fatal(err)
	}
	var told []int64
	var rt *Runtime
	rt, err = New(Options{Device: d, Policy: policy, Refused: func(e *pool.OutOfMemoryError) {
		told = append(told, int64(e.RequestedBytes), Composition(rt, nil).Bytes)
	}})
	if err != nil {
		t.Fatal(err)
	}
	kept := must(rt.New("kept", 1<<17))(t)
	if _, err := rt.New("too much", 1<<18); !errors.Is(err, metal.ErrOutOfMemory) {
		t.Fatalf("%v", err)
	}
	if len(told) != 2 || told[0] != 1<<20 || told[1] != 1<<19 {
		t.Errorf("told %v", told)
	}
	if err := errors.Join(kept.Release(), rt.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}
