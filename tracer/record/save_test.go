package record

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestASavedRunReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	run := &Run{
		Path: "snapshot.pickle",
		Meta: Meta{Schema: 1, Versions: map[string]string{"recording": "torch-snapshot"},
			Flags: map[string]string{"steps-per-line": "3"}},
		Samples:  NewSamples([]string{ColLive, "odd, name"}, [][]float64{{1, 2, unknown}, {unknown, 4, 5}}), // no times
		Events:   []Event{{Kind: KindPhase, Name: PhaseBaseline}, {TMs: 12, Kind: KindPhase, Name: PhaseReleased}},
		Warnings: []Warning{{File: "snapshot.pickle", Line: 7, Text: "cut"}},
	}
	dir := filepath.Join(t.TempDir(), "deep", "run")
	if err := Save(dir, run, CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]Event{{Kind: KindWarning, Text: "snapshot.pickle:7: cut"}}, run.Events...)
	if !reflect.DeepEqual(got.Meta, run.Meta) || !reflect.DeepEqual(got.Events, want) {
		t.Errorf("meta %+v, events %+v", got.Meta, got.Events)
	}
	if text := read(t, dir, FileSamples); text != ColLive+",\"odd, name\"\n1,\n2,4\n,5\n" {
		t.Errorf("%q", text)
	}
	if len(got.Warnings) > 0 { // also not of times, which the run never had
		t.Errorf("warnings %v", got.Warnings)
	}
}

func TestSavingReplacesARunOnlyByForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := &Run{Samples: NewSamples([]string{ColTime}, [][]float64{{1}})}
	if err := os.WriteFile(filepath.Join(dir, FileVerdict), []byte("of another run"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Save(dir, run, CreateOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("%v, want ErrExists", err)
	}
	if err := Save(dir, run, CreateOptions{Force: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileVerdict)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the verdict of the other run is still there: %v", err)
	}
}

func TestARunWithoutSamplesCanBeSaved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	if err := Save(dir, &Run{}, CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if run, err := Open(dir); err != nil || run.Samples.Len() != 0 {
		t.Errorf("%+v, %v", run, err)
	}
}
