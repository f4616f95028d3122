package export

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// exportedOf is a run in a format, of a part of its window.
func exportedOf(t testing.TB, format Format, run *record.Run, of Of) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, run, verdict.Judge(run, verdict.Options{}),
		Options{Version: "1.2.3", Of: of}); err != nil {
		t.Fatalf("%s of %s: %v", format, run.Path, err)
	}
	return b.Bytes()
}

func TestFoldedStacksAreOfThePeakOrOfTheWindow(t *testing.T) {
	t.Parallel()
	for of, want := range map[Of]string{
		"":       "parameters;allocated before the window 1024\ntemporaries;/src/train.py:11 step 512\n",
		OfPeak:   "parameters;allocated before the window 1024\ntemporaries;/src/train.py:11 step 512\n",
		OfWindow: "temporaries;/src/train.py:11 step 512\n",
	} {
		if got := string(exportedOf(t, Folded, leak(), of)); got != want {
			t.Errorf("%q: got %q, want %q", of, got, want)
		}
	}
}

// readSpeedscope reads a file with no key that the format does not know.
func readSpeedscope(t *testing.T, text []byte) (f speedscopeFile) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestASpeedscopeFileKeepsToItsFormat checks the rules of
// https://www.speedscope.app/file-format-schema.json and those that the comments of
// its specification add.
func TestASpeedscopeFileKeepsToItsFormat(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]*record.Run{"leak": leak(), "hostile": hostile()} {
		f := readSpeedscope(t, exportedOf(t, Speedscope, run, ""))
		if f.Schema != "https://www.speedscope.app/file-format-schema.json" || f.Name == "" || len(f.Profiles) != 2 ||
			f.Exporter != "gpumem@1.2.3" {
			t.Errorf("%s: %+v", name, f)
		}
		for _, frame := range f.Shared.Frames {
			if frame.Name == "" || frame.Line < 0 {
				t.Errorf("%s: frame %+v", name, frame)
			}
		}
		for _, p := range f.Profiles {
			sum := int64(0)
			if p.Type != "sampled" || p.Unit != "bytes" || p.Name == "" || len(p.Samples) != len(p.Weights) {
				t.Errorf("%s: %+v", name, p)
			}
			for i, stack := range p.Samples {
				sum += p.Weights[i]
				for _, k := range stack {
					if k < 0 || k >= len(f.Shared.Frames) {
						t.Errorf("%s: frame %d of %d", name, k, len(f.Shared.Frames))
					}
				}
			}
			if p.Start != 0 || p.End != sum || sum == 0 {
				t.Errorf("%s: %s ends at %d, the weights sum to %d", name, p.Name, p.End, sum)
			}
		}
	}
	if f := readSpeedscope(t, exportedOf(t, Speedscope, leak(), OfWindow)); f.Active != 1 ||
		f.Profiles[1].End != 512 || f.Profiles[0].End != 1536 {
		t.Errorf("%+v", f)
	}
}

func TestAProfileHasTheCategoriesOfThePeakAsLabels(t *testing.T) {
	t.Parallel()
	p, err := profile.ParseData(exportedOf(t, PProf, leak(), OfPeak))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	var types []string
	for _, s := range p.SampleType {
		types = append(types, s.Type)
	}
	if got := strings.Join(types, " "); p.DefaultSampleType != "peak_space" ||
		got != "inuse_objects inuse_space peak_objects peak_space alloc_objects alloc_space" {
		t.Errorf("%s, by default %s", got, p.DefaultSampleType)
	}
	sums, by := make([]int64, len(types)), map[string]int64{} // of peak_space
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sums[i] += v
		}
		for _, category := range s.Label["category"] {
			by[category] += s.Value[3]
		}
	}
	if sums[1] != 240*mib || sums[3] != 1536 || sums[5] != 512 || by["parameters"] != 1024 || by["temporaries"] != 512 {
		t.Errorf("sums %v, by category %v", sums, by)
	}
	for of, want := range map[Of]string{"": "inuse_space", OfWindow: "alloc_space"} {
		if p, err := profile.ParseData(exportedOf(t, PProf, leak(), of)); err != nil || p.DefaultSampleType != want {
			t.Errorf("%q: by default %s, want %s", of, p.DefaultSampleType, want)
		}
	}
}

func TestGoToolPprofShowsTheCategoriesAsTags(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	file := filepath.Join(t.TempDir(), "peak.pb.gz")
	if err := os.WriteFile(file, exportedOf(t, PProf, leak(), OfPeak), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool(t, "go", "https://go.dev"), "tool", "pprof", "-tags", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "category: Total 1.50kB") ||
		!strings.Contains(string(out), "parameters") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestATraceHasOneCounterTrackACategoryOfTheWindow(t *testing.T) {
	t.Parallel()
	var trace struct {
		TraceEvents []traceEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(exportedOf(t, Perfetto, leak(), ""), &trace); err != nil {
		t.Fatal(err)
	}
	most, last, peaks := map[string]float64{}, map[string]float64{}, 0
	for _, e := range trace.TraceEvents {
		if name, ok := strings.CutPrefix(e.Name, "in the window: "); ok && e.Phase == "C" && e.PID == 100 {
			most[name], last[name] = max(most[name], e.Args["live"].(float64)), e.Args["live"].(float64)
			if *e.TS < 9_499_000 || *e.TS > 9_501_000 { // the window was told at 9.5 s
				t.Errorf("%s at %v", name, *e.TS)
			}
		}
		if e.Name == "peak of the window" && e.Args["live"].(float64) == 1536 {
			peaks++
		}
	}
	if len(most) != 2 || most["parameters"] != 1024 || most["temporaries"] != 512 || last["parameters"] != 0 ||
		peaks != 1 {
		t.Errorf("most %v, last %v, %d peaks", most, last, peaks)
	}
}

func TestFormatsOfTheWindowAreRefusedWithoutOne(t *testing.T) {
	t.Parallel()
	run := healthy()
	v := verdict.Judge(run, verdict.Options{})
	for _, c := range []struct {
		format Format
		of     Of
	}{{Folded, ""}, {Speedscope, ""}, {PProf, OfPeak}} {
		err := Write(&bytes.Buffer{}, c.format, run, v, Options{Of: c.of})
		if err == nil || !strings.Contains(err.Error(),
			"has no profiled window; record one with gpumem run --profile") {
			t.Errorf("%s: %v", c.format, err)
		}
	}
}

func TestTheModuleOfAModelIsALabelAndAFrame(t *testing.T) {
	t.Parallel()
	run := leak()
	run.Events[len(run.Events)-1].Detail = []byte(`{"part":0,"parts":1,"steps":1,"roles":["parameters"],
		"boundaries":[9],"live":[[0,1024,0]],"events":[[2,512,2,0],[2,-512,5,-1]],"stacks":[[0,1]],
		"frames":["/src/train.py:11 forward","/lib/torch/nn/modules/module.py:9 _call_impl"],"modules":["net","net.mlp"],"owners":[[0,1,1073741824]],
		"calls":[[1,0,0],[8,-1,0]]}`)
	p, err := profile.ParseData(exportedOf(t, PProf, run, OfPeak))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int64{}
	for _, s := range p.Sample {
		for _, module := range s.Label["module"] {
			by[module] += s.Value[3]
		}
	}
	if len(by) != 2 || by["net.mlp"] != 1024 || by["net"] != 512 {
		t.Errorf("by module %v", by)
	}
	const want = "parameters;module net.mlp;allocated before the window 1024\n"
	if got := string(exportedOf(t, Folded, run, "")); !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
}
