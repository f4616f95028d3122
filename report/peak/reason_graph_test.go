package peak_test

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// inGraph is the recorded program without no_grad after a change of what its graph keeps.
func inGraph(t *testing.T, change func(*record.OOM)) *peak.OOM {
	t.Helper()
	return peak.OutOfMemory(detail(t, recorded(t, "no-grad"), change), peak.Growth{})
}

func TestOnePassThatLacksItsBackwardPassIsNoForwardPassWithoutNoGrad(t *testing.T) {
	t.Parallel()
	training, evaluating := true, false
	one, two := int64(1), int64(2)
	for name, c := range map[string]struct {
		change func(*record.OOM)
		want   peak.Reason
	}{
		"the first pass of a training": {func(d *record.OOM) {
			d.Graph = &record.Graph{Passes: 1, Joined: 1, Bytes: 14 << 30, Training: &training}
		}, peak.Activations},
		"a pair of texts": {func(d *record.OOM) {
			d.Graph = &record.Graph{Passes: 2, Joined: 1, Bytes: 14 << 30, Earlier: 7 << 30, Training: &training}
		}, peak.Activations},
		"nobody told of the graph": {func(d *record.OOM) { d.Graph = nil }, peak.Activations},
		"one pass in eval mode": {func(d *record.OOM) {
			d.Graph = &record.Graph{Passes: 1, Joined: 1, Bytes: 14 << 30, Training: &evaluating}
		}, peak.NoGrad},
		"an attack on the input": {func(d *record.OOM) {
			d.Graph = &record.Graph{Passes: 1, Joined: 1, Bytes: 14 << 30, Training: &evaluating, Inputs: true}
		}, peak.Activations},
		"many results":                    {func(*record.OOM) {}, peak.NoGrad},
		"many results of next to nothing": {func(d *record.OOM) { d.Graph.Earlier = 1 << 20 }, peak.Activations},
		"many results of a training":      {func(d *record.OOM) { d.Model.Optimizers = &one }, peak.Activations},
		"an evaluation in a training": {func(d *record.OOM) {
			d.Model.Optimizers, d.Graph.Training = &two, &evaluating
		}, peak.NoGrad},
		"one pass of a training in eval mode": {func(d *record.OOM) {
			d.Model.Optimizers, d.Graph.Training, d.Graph.Passes = &two, &evaluating, 1
		}, peak.Activations},
		"a sum of losses": {func(d *record.OOM) { d.Graph.Joined = 14 }, peak.Growing},
		"a sum of losses, to train on": {func(d *record.OOM) {
			d.Graph.Joined, d.Model.Optimizers = 14, &one
		}, peak.Activations},
		"a sum of losses in eval mode": {func(d *record.OOM) {
			d.Graph.Joined, d.Graph.Training = 14, &evaluating
		}, peak.NoGrad},
	} {
		if o := inGraph(t, c.change); o.Reason != c.want {
			t.Errorf("%s: the reason is %s, want %s: %s", name, o.Reason, c.want, o.Sentence)
		}
	}
}

// inGrowth is a recorded growth of which the verdict is sure.
func inGrowth(t *testing.T) *peak.OOM {
	t.Helper()
	return peak.OutOfMemory(recorded(t, "leak"), leak)
}

func TestASumOfLossesIsNamedWithTheLineThatAddsToIt(t *testing.T) {
	t.Parallel()
	o := inGraph(t, func(d *record.OOM) {
		d.Graph.Joined = 14
		d.Graph.Holder = &record.Holder{Path: "history() local total",
			Filled: "/home/ada/train.py:12 history", Count: 1}
	})
	const want = "it grew until it reached its limit of 15.8 GiB: history() local total (train.py:12 " +
		"history) keeps the autograd graphs of 14 forward passes, with 11.5 GiB of their activations at least; it " +
		"asked for 16.0 MiB at train.py:24 forward. Without the graphs behind it (total += loss.detach()) at least " +
		"10.7 GiB less are live: the request would have fit."
	if o.Sentence != want {
		t.Errorf("got  %s\nwant %s", o.Sentence, want)
	}
	if o.PutsOff() || !inGrowth(t).PutsOff() {
		t.Error("a growth without a cure is put off by other changes, and this one has a cure")
	}
	change := "add numbers in place of graphs (total += loss.detach(), or loss.item());"
	if next := o.Advice(); !strings.HasPrefix(next, change) {
		t.Errorf("advice: %s", next)
	}
}

func TestATrainingThatKeepsSeveralPassesIsToldWhoKeepsThem(t *testing.T) {
	t.Parallel()
	one := int64(1)
	o := inGraph(t, func(d *record.OOM) { d.Model.Optimizers, d.Graph.Joined = &one, 14 })
	if o.Reason != peak.Activations || !strings.HasPrefix(o.Sentence, "the graphs of 14 forward passes are kept at "+
		"once, because list train.outputs (train.py:87 <module>) holds their results:") ||
		!strings.HasPrefix(o.Advice(), "call backward() for each forward pass") {
		t.Errorf("%s: %s\n%s", o.Reason, o.Sentence, o.Advice())
	}
}
