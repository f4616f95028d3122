package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// ranOut is a run of package peak's testdata.
func ranOut(t *testing.T, name string) *record.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("peak", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Exit   int            `json:"exit_code"`
		Events []record.Event `json:"events"`
	}
	data = bytes.ReplaceAll(data, []byte("train.py"), []byte("project_x.py"))
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return &record.Run{Meta: record.Meta{ExitCode: &file.Exit}, Events: file.Events}
}

func TestARedactedRunStillTellsWhyMemoryRanOutAndNotWhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"optimizer", "no-grad", "fragmentation", "other-process",
		"other-framework"} {
		run := ranOut(t, name)
		want := verdict.Judge(run, verdict.Options{}).OOM
		got := verdict.Judge(report.NewRedactor([]byte("salt")).Run(run), verdict.Options{}).OOM
		if got == nil || got.Reason != want.Reason || len(got.Composition) != len(want.Composition) ||
			got.Composition[0] != want.Composition[0] {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
			continue
		}
		if text, _ := json.Marshal(got); strings.Contains(string(text), "project") {
			t.Errorf("%s: the program's file is in %s", name, text)
		}
	}
}

func TestTheSectionOnMemoryThatRanOutHasReasonChangesAndComposition(t *testing.T) {
	t.Parallel()
	run := ranOut(t, "optimizer")
	v := verdict.Judge(run, verdict.Options{})
	var b strings.Builder
	if err := report.Write(&b, report.Text, run, v, report.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"out of memory: the state of Adam does not fit",
		"Out of memory\n  What would have changed it", "An optimizer without state saves 56.0 GiB: " +
			"the request would have fit.", "optimizer state  22.0 GiB", "asked for"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	healthy := &record.Run{Meta: record.Meta{ExitCode: new(int)}}
	if err := report.Write(&b, report.Text, healthy, verdict.Judge(healthy, verdict.Options{}),
		report.Options{}); err !=
		nil || strings.Contains(b.String(), "ut of memory") {
		t.Errorf("%v: a run that did not run out: %s", err, b.String())
	}
}

func TestARedactedWindowKeepsItsModulesByOtherNames(t *testing.T) {
	t.Parallel()
	code := 0
	run := &record.Run{Meta: record.Meta{ExitCode: &code}, Samples: &record.Samples{}, Events: []record.Event{
		{TMs: 5, PID: 7, Kind: record.KindWindow, Detail: []byte(`{"part":0,"parts":1,"steps":1,"roles":["parameters"],
			"boundaries":[9],"live":[[0,1024,0]],"events":[[2,512,2,0],[2,-512,5,-1]],"stacks":[[0]],"age_us":9,
			"frames":["/src/secret.py:11 hush"],"modules":["secretnet.mlp"],"owners":[[0,0,1073741824]],"scan_us":3,
			"snapshot_us":4,"calls_off":"torch.compile"}`)},
		{TMs: 6, PID: 7, Kind: record.KindComposition, Name: "mlx", Detail: []byte(`{"categories":
			{"other arrays of Python":4,"held by the framework alone":5,
			"arrays that share memory or are not computed yet":1,"parameters":9},
			"modules":[{"module":"secretnet.mlp","category":"parameters","bytes":9}]}`)},
	}}
	want := verdict.Judge(run, verdict.Options{})
	got := verdict.Judge(report.NewRedactor([]byte("salt")).Run(run), verdict.Options{})
	if got.Peak == nil || len(got.Peak.Modules) != 1 || got.Peak.Modules[0].Bytes != 1024 ||
		got.Peak.NoModules != "torch.compile" || got.Peak.Cost.ScanMs == nil || got.Peak.BeganMs != want.Peak.BeganMs {
		t.Fatalf("%+v", got.Peak)
	}
	for i, c := range want.Composition.Categories {
		if got.Composition.Categories[i] != c {
			t.Errorf("%+v, want %+v", got.Composition.Categories[i], c)
		}
	}
	if text, _ := json.Marshal(got); strings.Contains(string(text), "secret") || len(got.Composition.Modules) != 1 ||
		got.Composition.Modules[0].Category != "parameters" {
		t.Errorf("%s", text)
	}
}

func TestARedactedErrorKeepsTheBytesOfModulesAndHidesTheirNames(t *testing.T) {
	t.Parallel()
	run := ranOut(t, "optimizer")
	for i := range run.Events {
		e := &run.Events[i]
		if d, ok := record.DetailOf[record.OOM](e); ok && e.Kind == record.KindOOM {
			d.Module = "acme_secret.h.0"
			d.Modules = []record.OwnedBytes{{Module: "acme_secret.h.0", Category: "parameters",
				Bytes: 7 << 30}}
			e.Detail, _ = json.Marshal(d)
		}
	}
	if o := verdict.Judge(run, verdict.Options{}).OOM; len(o.Modules) != 1 || o.Modules[0].Bytes != 7<<30 ||
		!strings.Contains(o.Sentence, "(module acme_secret.h.0)") {
		t.Errorf("%s, %+v", o.Sentence, o.Modules)
	}
	got := verdict.Judge(report.NewRedactor([]byte("salt")).Run(run), verdict.Options{}).OOM
	if text, _ := json.Marshal(got); strings.Contains(string(text), "secret") || len(got.Modules) != 1 ||
		got.Modules[0].Bytes != 7<<30 || got.Modules[0].Category != "parameters" {
		t.Errorf("%+v in %s", got.Modules, text)
	}
}
