package peak_test

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// As on an H100: a model of 24 layers is moved to a device that is too small, on a machine
// so busy that the search for its parameters ended early.
func TestAModelThatIsMovedIsNoStep(t *testing.T) {
	t.Parallel()
	o := peak.OutOfMemory(recorded(t, "moved-model"), peak.Growth{})
	if o.Reason != peak.Weights {
		t.Fatalf("the reason is %s: %s", o.Reason, o.Sentence)
	}
	golden(t, "moved-model", o)
	for name, c := range map[string]struct {
		change func(*record.OOM)
		want   peak.Reason
	}{
		"in a step":                         {func(d *record.OOM) { d.Stack = d.Stack[10:] }, peak.Activations},
		"of which all parameters are known": {func(d *record.OOM) { d.Incomplete = false }, peak.Full},
		"beside activations": {func(d *record.OOM) {
			d.Categories = map[string]int64{"activations": 3 << 30, "parameters": 1 << 30}
		}, peak.Full},
		"beside a training": {func(d *record.OOM) {
			d.Categories["gradients"] = 1 << 28
			d.Categories["held by autograd or C++"] -= 1 << 28
		}, peak.Full},
	} {
		if o := peak.OutOfMemory(detail(t, recorded(t, "moved-model"), c.change), peak.Growth{}); o.Reason != c.want {
			t.Errorf("%s: the reason is %s, want %s: %s", name, o.Reason, c.want, o.Sentence)
		}
	}
}

// As on an H100: a list grew by 2.12 GiB, and the error came in the backward pass of a closure
// that the optimizer's step calls, with 80 MiB of state to be made in all.
func TestAStateThatIsSmallBesideWhatLivesIsNotWhatDidNotFit(t *testing.T) {
	t.Parallel()
	grown := peak.Growth{Sure: true, Class: "app-leak", Claim: leak.Claim, Bytes: 2272182784}
	o := peak.OutOfMemory(recorded(t, "closure"), grown)
	if o.Reason != peak.Growing || !strings.HasPrefix(o.Sentence, "it grew until it reached its limit of 3 GiB") {
		t.Errorf("%s: %s", o.Reason, o.Sentence)
	}
	o = peak.OutOfMemory(recorded(t, "closure"), peak.Growth{})
	if o.Reason == peak.OptimizerStep {
		t.Errorf("without a growth: %s", o.Sentence)
	}
	most := peak.Growth{Sure: true, Class: "app-leak", Bytes: 70 << 30}
	little := peak.Growth{Sure: true, Class: "app-leak", Bytes: 1 << 30}
	small := func(d *record.OOM) { d.Model.Optimizer.State, d.Model.Optimizer.WithState = 1<<20, 1<<20 }
	for name, c := range map[string]struct {
		change func(*record.OOM)
		growth peak.Growth
		first  bool
	}{
		"the optimizer asks":        {func(*record.OOM) {}, peak.Growth{}, true},
		"another thread asks":       {func(d *record.OOM) { d.OtherThread = true }, peak.Growth{}, false},
		"a closure's backward pass": {inside("torch/autograd/graph.py:869 backward"), peak.Growth{}, false},
		"a closure's forward pass":  {inside("torch/nn/modules/module.py:1779 _call"), peak.Growth{}, false},
		"a small state": {func(d *record.OOM) {
			small(d)
			d.Model.Optimizer.Parameters = 2 << 20
		}, peak.Growth{}, false},
		"a growth that is most of it": {func(*record.OOM) {}, most, false},
		"a growth that is little":     {func(*record.OOM) {}, little, true},
	} {
		o := peak.OutOfMemory(detail(t, recorded(t, "optimizer"), c.change), c.growth)
		if first := o.Reason == peak.OptimizerStep; first != c.first {
			t.Errorf("%s: %s: %s", name, o.Reason, o.Sentence)
		}
	}
}

// inside puts a frame below all others of the stack.
func inside(frame string) func(*record.OOM) {
	return func(d *record.OOM) { d.Stack = append([]string{"/usr/lib/python3/" + frame}, d.Stack...) }
}
