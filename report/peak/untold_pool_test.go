package peak_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// jaxRun is a JAX program that ended with an error at 17.4 s, when so much of its pool of
// 2.99 GiB was live, all of it arrays that Python held; refused are the driver's refusals.
func jaxRun(text string, live int64, refused float64) *record.Run {
	one := 1
	died, _ := json.Marshal(record.Died{Text: text, Limit: 3206545408, Live: live})
	made, _ := json.Marshal(record.Composition{Categories: map[string]int64{"other arrays of Python": live}})
	return &record.Run{Meta: record.Meta{ExitCode: &one},
		Samples: record.NewSamples([]string{record.ColTime, record.ColDriverFailed}, [][]float64{{17387}, {refused}}),
		Events: []record.Event{
			{TMs: 17387, PID: 7, Kind: record.KindComposition, Name: "jax", Detail: made},
			{TMs: 17390, PID: 7, Kind: record.KindDied, Name: "jax.errors.JaxRuntimeError",
				At: "/home/ada/train.py:254 jaxstep", Detail: died},
		}}
}

// Messages of JAX 0.10, shortened.
const (
	notTuned = "NOT_FOUND: Failed to get configs for: 3 out of 6 instructions.\nEXECUTION FAILED: " +
		"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 797.25MiB with allocator GPU_0_bfc on device 0."
	notRun = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16.00MiB with allocator GPU_0_bfc " +
		"on device 0. [executable_name='jit__lambda']"
)

func TestAPoolThatIsFreeOnceTheProgramFailedWasTakenByTheStep(t *testing.T) {
	t.Parallel()
	o := peak.OutOfMemory(jaxRun(notTuned, 50331648, 0), peak.Growth{})
	const want = "the step's peak is too high: it asked for 797 MiB more at train.py:254 jaxstep, and its pool may " +
		"have 2.99 GiB. Once it had failed, 48.0 MiB of that were allocated: the rest was taken, or cut into " +
		"pieces that are too small, by what was run or compiled there."
	if o.Reason != peak.Activations || o.Sentence != want || !strings.Contains(o.Advice(), "jax.checkpoint") {
		t.Errorf("%s: %s\n%s", o.Reason, o.Sentence, o.Advice())
	}
	for name, run := range map[string]*record.Run{
		"the driver refused": jaxRun(notTuned, 50331648, 1), // others may have filled the device
		"nobody counted":     jaxRun(notTuned, 50331648, record.Unknown()),
		"much is live":       jaxRun(notTuned, 1<<30, 0),
	} {
		if o := peak.OutOfMemory(run, peak.Growth{}); o.Reason != peak.Full {
			t.Errorf("%s: %s: %s", name, o.Reason, o.Sentence)
		}
	}
}

func TestAPoolThatIsFullOfArraysIsHeldByWhomALookSaw(t *testing.T) {
	t.Parallel()
	run := jaxRun(notRun, 3204448256, 0)
	list := record.Holder{Path: "list jaxhistory() local kept", Bytes: 1157627904, Count: 69, Length: 191}
	gone := list
	gone.Gone = true
	run.Events = append(run.Events,
		record.Event{TMs: 10019, PID: 7, Kind: record.KindHolders,
			Holders: []record.Holder{{Host: true, Bytes: 9}, list}},
		record.Event{TMs: 17400, PID: 7, Kind: record.KindHolders, Holders: []record.Holder{gone}})
	o := peak.OutOfMemory(run, peak.Growth{})
	const want = "2.98 GiB of 2.98 GiB allocated are arrays that Python holds, of them 1.08 GiB at least by list " +
		"jaxhistory() local kept; it asked for 16.0 MiB more at train.py:254 jaxstep, and its pool may have 2.99 GiB."
	if o.Reason != peak.Held || o.Sentence != want || len(o.Saves) != 1 || !*o.Saves[0].Fits ||
		!strings.HasPrefix(o.Advice(), "let go of what list jaxhistory() local kept keeps") {
		t.Errorf("%s: %s\n%s %+v", o.Reason, o.Sentence, o.Advice(), o.Saves)
	}
	if o := peak.OutOfMemory(run, leak); o.Reason != peak.Growing {
		t.Errorf("a growth that is sure: %s", o.Sentence)
	}
	run.Events[0].PID = 8 // of another process
	if o := peak.OutOfMemory(run, peak.Growth{}); o.Reason != peak.Full {
		t.Errorf("nobody told of arrays: %s", o.Sentence)
	}
}
