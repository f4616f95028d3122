package peak_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded reads a run of testdata. Sizes, layouts, stacks and messages were recorded
// on an H100 with PyTorch 2.11; the names of tensors' roles, what the graph keeps and other
// frameworks were added by hand.
func recorded(t *testing.T, name string) *record.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Exit   int            `json:"exit_code"`
		Events []record.Event `json:"events"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return &record.Run{Meta: record.Meta{ExitCode: &file.Exit}, Events: file.Events}
}

// detail changes the last out-of-memory of a run.
func detail(t *testing.T, run *record.Run, change func(*record.OOM)) *record.Run {
	t.Helper()
	for i := len(run.Events) - 1; i >= 0; i-- {
		if e := &run.Events[i]; e.Kind == record.KindOOM {
			d, ok := record.DetailOf[record.OOM](e)
			if !ok {
				t.Fatal("the event has no detail")
			}
			change(&d)
			e.Detail, _ = json.Marshal(d)
			return run
		}
	}
	t.Fatal("the run has no out-of-memory")
	return nil
}

var leak = peak.Growth{Sure: true, Class: "app-leak",
	Claim: "memory the program still references grows by 512 MiB a step."}

func TestEachWayToRunOutOfMemoryIsNamedWithItsNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		growth peak.Growth
		want   peak.Reason
	}{
		{"leak", leak, peak.Growing},
		{"activations", peak.Growth{}, peak.Activations},
		{"step-of-a-full-pool", peak.Growth{}, peak.Activations},
		{"growth-in-a-full-pool", leak, peak.Growing},
		{"optimizer", peak.Growth{}, peak.OptimizerStep},
		{"fragmentation", peak.Growth{}, peak.Fragmentation},
		{"other-process", peak.Growth{}, peak.OtherProcess},
		{"other-process-of-the-run", peak.Growth{}, peak.OtherProcess},
		{"other-process-unnamed", peak.Growth{}, peak.OtherProcess},
		{"other-framework", peak.Growth{}, peak.OtherPool},
		{"no-grad", peak.Growth{}, peak.NoGrad},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := peak.OutOfMemory(recorded(t, c.name), c.growth)
			if o == nil || o.Reason != c.want || !o.Died {
				t.Fatalf("got %+v, want the reason %s", o, c.want)
			}
			golden(t, c.name, o)
		})
	}
}

func TestTheStreamThatCouldHaveServedTheRequestIsAnother(t *testing.T) {
	t.Parallel()
	// As on an H100: a stream keeps pieces of 600 MiB, and the default stream asks for 500.
	run := detail(t, recorded(t, "leak"), func(o *record.OOM) {
		o.Asked = 500 << 20
		o.Pools = []record.Pool{
			{Kind: "large", Stream: 7, Segments: 3, Live: 1200 << 20, Idle: 1872 << 20, IdleCount: 6,
				Largest: 600 << 20},
			{Kind: "large", Segments: 2, Live: 1000 << 20},
		}
	})
	if o := peak.OutOfMemory(run, peak.Growth{}); o == nil || o.Reason != peak.OtherStream {
		t.Errorf("got %+v", o)
	}
}

// golden compares the sentence and the changes with testdata/NAME.golden.
func golden(t *testing.T, name string, o *peak.OOM) {
	t.Helper()
	var b strings.Builder
	b.WriteString(o.Sentence + "\n")
	for _, s := range o.Saves {
		fits := "not known"
		if s.Fits != nil {
			fits = map[bool]string{true: "yes", false: "no"}[*s.Fits]
		}
		b.WriteString("- " + s.Change + " (fits: " + fits + ")\n")
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != b.String() {
		t.Errorf("%v; got\n%swant\n%s", err, b.String(), want)
	}
}

func TestAnErrorThatTheProgramCaughtHasNoReasonAndIsCounted(t *testing.T) {
	t.Parallel()
	o := peak.OutOfMemory(recorded(t, "caught"), peak.Growth{})
	if o == nil || o.Died || o.Reason != "" || o.Sentence != "" || o.Errors != 2 || o.Caught != 2 {
		t.Errorf("got %+v, want 2 errors that were caught", o)
	}
}

func TestRefusalsOfTheProgramsOwnThatItSurvivedAreCounted(t *testing.T) {
	t.Parallel()
	refused := func(detail string) record.Event {
		return record.Event{PID: 7, Kind: record.KindEvent, Name: "allocation refused", At: "serve.py:6 take",
			Detail: []byte(detail)}
	}
	run := &record.Run{Meta: record.Meta{ExitCode: new(int)}, Events: []record.Event{
		refused(`{"asked_bytes":9,"code":2,"live_bytes":3,"own":true}`),
		refused(`{"asked_bytes":5,"code":2,"live_bytes":1,"own":true}`),
		refused(`{"asked_bytes":8,"code":2,"live_bytes":1,"own":false}`), // an allocator tries again
		refused(`{"asked_bytes":8,"code":1,"live_bytes":1,"own":true}`),  // of another code
	}}
	o := peak.OutOfMemory(run, leak)
	if o == nil || o.Died || o.Ended() || o.Errors != 2 || o.Caught != 2 || *o.AskedBytes != 5 || *o.LiveBytes != 1 ||
		o.Site != "serve.py:6 take" {
		t.Errorf("%+v", o)
	}
}

func TestAProgramThatDidNotRunOutGetsNoWordAboutIt(t *testing.T) {
	t.Parallel()
	one := 1
	for name, run := range map[string]*record.Run{
		"nil":   nil,
		"empty": {},
		"died of another exception": {Meta: record.Meta{ExitCode: &one}, Events: []record.Event{
			{Kind: record.KindDied, Name: "builtins.KeyError", Detail: []byte(`{"text":"x"}`)}}},
		"a refusal that was survived": {Meta: record.Meta{ExitCode: new(int)}, Events: []record.Event{
			{Kind: record.KindEvent, Name: "allocation refused",
				Detail: []byte(`{"asked_bytes":5,"code":2,"live_bytes":1}`)}}},
	} {
		if o := peak.OutOfMemory(run, leak); o != nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestAProgramThatDiesOfAnotherExceptionAfterCatchingDidNotRunOut(t *testing.T) {
	t.Parallel()
	run := recorded(t, "caught")
	one := 1
	run.Meta.ExitCode = &one
	run.Events = append(run.Events, record.Event{PID: 7, TMs: 1200, Kind: record.KindDied,
		Name: "builtins.KeyError", Detail: []byte(`{"text":"x"}`)})
	if o := peak.OutOfMemory(run, peak.Growth{}); o == nil || o.Died || o.Caught != 2 {
		t.Errorf("got %+v", o)
	}
}

// Twins: the same numbers without what makes the case.
func TestTheTwinWithoutTheCauseGetsAnotherReason(t *testing.T) {
	t.Parallel()
	off := false
	for name, c := range map[string]struct {
		change func(*record.OOM)
		want   peak.Reason
	}{
		"no-grad":       {func(d *record.OOM) { d.Grad = &off }, peak.Activations},
		"fragmentation": {func(d *record.OOM) { d.Pools[0].Largest = d.Asked }, peak.Held},
		"optimizer": {func(d *record.OOM) { d.Model.Optimizer.WithState = d.Model.Optimizer.Parameters },
			peak.Full},
		"other-process": {func(d *record.OOM) { d.Asked = 75 << 30 }, peak.Held},
		"other-framework": {func(d *record.OOM) {
			*d.Beside[0].Idle = 0
			*d.Beside[0].Live = 2 << 30 // less than the allocator itself, and who has the rest is not known
		}, peak.OtherProcess},
		"leak": {func(*record.OOM) {}, peak.Held}, // no growth is sure
	} {
		run := detail(t, recorded(t, name), c.change)
		if o := peak.OutOfMemory(run, peak.Growth{}); o.Reason != c.want {
			t.Errorf("%s: the twin has the reason %s, want %s: %s", name, o.Reason, c.want, o.Sentence)
		}
	}
}

func TestMessagesOfOtherFrameworksAndTheDriverTellTheSizes(t *testing.T) {
	t.Parallel()
	one := 1
	died := func(name, text string) record.Event {
		quoted, _ := json.Marshal(map[string]string{"text": text})
		return record.Event{PID: 7, Kind: record.KindDied, Name: name, Detail: quoted}
	}
	killed := &record.Run{Meta: record.Meta{Signal: "SIGKILL"}, Events: []record.Event{{Kind: record.KindEvent,
		Name: record.EventKilled}}}
	if o := peak.OutOfMemory(killed, peak.Growth{}); o == nil || o.Reason != peak.Killed || !o.Died {
		t.Errorf("killed: %+v", o)
	}
	for _, c := range []struct {
		event       record.Event
		asked, live int64
		reason      peak.Reason
	}{
		{died("cupy.cuda.memory.OutOfMemoryError", "Out of memory allocating 1,073,741,824 bytes (allocated so far: "+
			"7,516,192,768 bytes)."), 1 << 30, 7 << 30, peak.Full},
		{died("cupy.cuda.memory.OutOfMemoryError", "Out of memory allocating 1,024 bytes (allocated so far: "+
			"2,048 bytes, limit set to: 2,500 bytes)."), 1024, 2048, peak.Limit},
		{died("jaxlib._jax.XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate "+
			"17179869184 bytes."), 16 << 30, 0, peak.Full},
		{died("jaxlib._jax.XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4.00GiB."),
			4 << 30, 0, peak.Full},
		{record.Event{PID: 7, Kind: record.KindEvent, Name: "allocation refused", At: "main.cu:7 main",
			Detail: []byte(`{"asked_bytes":1024,"code":2,"live_bytes":4096}`)}, 1024, 4096, peak.Driver},
	} {
		run := &record.Run{Meta: record.Meta{ExitCode: &one}, Events: []record.Event{c.event}}
		o := peak.OutOfMemory(run, peak.Growth{})
		if o == nil || o.Reason != c.reason || o.AskedBytes == nil || *o.AskedBytes != c.asked ||
			(c.live != 0) != (o.LiveBytes != nil) || c.live != 0 && *o.LiveBytes != c.live {
			t.Errorf("%s: got %+v", c.event.Name, o)
		}
	}
}

func TestWhatAProgramSaysOfItsErrorCannotBreakTheAnswer(t *testing.T) {
	t.Parallel()
	one := 1
	for _, text := range []string{``, `null`, `[]`, `{"asked_bytes":-1}`, `{"asked_bytes":1}`,
		`{"asked_bytes":9223372036854775807,"free_bytes":-9223372036854775808,"allocated_bytes":-1,"reserved_bytes":0,
		"limit_bytes":0,"capacity_bytes":1}`,
		`{"asked_bytes":1,"free_bytes":0,"allocated_bytes":0,"reserved_bytes":0,"pools":[{}],"model":{"optimizer":{}},
		"stack":["torch/optim/x.py","",".py:"]}`} {
		run := &record.Run{Meta: record.Meta{ExitCode: &one}, Events: []record.Event{{Kind: record.KindOOM,
			Detail: []byte(text)}, {Kind: record.KindOOMOthers, Detail: []byte(text)},
			{Kind: record.KindDied, Name: "torch.OutOfMemoryError", Detail: []byte(text)}}}
		if o := peak.OutOfMemory(run, peak.Growth{}); o == nil {
			t.Errorf("%s: no answer", text)
		}
	}
}

func TestAMessageWithItsLimitsHasTheReasonThatTheyProve(t *testing.T) {
	t.Parallel()
	one := 1
	const cupy, jax = "cupy.cuda.memory.OutOfMemoryError", "jax.errors.JaxRuntimeError"
	for name, c := range map[string]struct {
		kind, text string
		death      record.Died
		growth     peak.Growth
		want       peak.Reason
		words      string
	}{
		"more than the pool may have": {cupy, "Out of memory allocating 4,096 bytes (allocated so far: 1,024 bytes, " +
			"limit set to: 2,048 bytes).", record.Died{}, peak.Growth{}, peak.Request,
			"it asked for 4 KiB at once at a.py:3 pairs, and its pool may have 2 KiB."},
		"more than JAX may have": {jax, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4096 bytes.",
			record.Died{Limit: 2048, Live: 512}, peak.Growth{}, peak.Request,
			"it asked for 4 KiB at once at a.py:3 pairs, and its pool may have 2 KiB."},
		"a growth": {jax, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16 bytes.",
			record.Died{Limit: 2048, Live: 2040}, leak, peak.Growing,
			"it grew until it was refused 16.0 B more at a.py:3 pairs: memory the program still references grows"},
		"a large request of what grows": {cupy, "Out of memory allocating 1,000 bytes (allocated so far: 1,500 bytes, " +
			"limit set to: 2,048 bytes).", record.Died{}, leak, peak.Limit, "its pool may have 2 KiB: 1.46 KiB were"},
	} {
		c.death.Text = c.text
		detail, _ := json.Marshal(c.death)
		run := &record.Run{Meta: record.Meta{ExitCode: &one}, Events: []record.Event{{PID: 7, Kind: record.KindDied,
			Name: c.kind, At: "/src/a.py:3 pairs", Detail: detail}}}
		o := peak.OutOfMemory(run, c.growth)
		if o == nil || o.Reason != c.want || !strings.HasPrefix(o.Sentence, c.words) {
			t.Errorf("%s: %+v", name, o)
		}
		if strings.Contains(o.Advice(), "set_per_process_memory_fraction") {
			t.Errorf("%s: %s", name, o.Advice())
		}
	}
}
