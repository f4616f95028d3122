package gguf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestAMappedFileReadsAsAnOpenedOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model.gguf")
	spec := Spec{Tensors: []Tensor{{Name: "a", Type: F32, Dims: []uint64{1 << 16}}}}
	var b bytes.Buffer
	want := bytes.Repeat([]byte{1, 2, 3, 4}, 1<<16)
	if err := spec.Write(&b, func(Tensor) ([]byte, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := file.Data(file.Tensors[0]).ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("error %v, or other bytes", err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Data(file.Tensors[0]).ReadAt(got, 0); err == nil {
		t.Error("what was cut off is read without an error")
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Map(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file, no error")
	}
}

func TestArraysComeBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	words, scores, kinds := []string{"a", "", "ü"}, []float32{-1, 0.5}, []int32{3, -1}
	entries := []Entry{{"words", words}, {"scores", scores}, {"kinds", kinds}, {"none", []string{}}}
	spec := Spec{Metadata: entries}
	var b bytes.Buffer
	if err := spec.Write(&b, nil); err != nil {
		t.Fatal(err)
	}
	f, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	w, err1 := f.Strings("words")
	s, err2 := f.Floats("scores")
	k, err3 := f.Ints("kinds")
	n, err4 := f.Strings("none")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(w, words) || !reflect.DeepEqual(s, scores) || !reflect.DeepEqual(k, kinds) || len(n) > 0 {
		t.Errorf("got %q, %v, %v, %q", w, s, k, n)
	}
	if _, err := f.Floats("words"); !errors.Is(err, ErrFormat) {
		t.Errorf("words as numbers: %v", err)
	}
	if _, err := f.Ints("absent"); !errors.Is(err, ErrFormat) {
		t.Errorf("an absent key: %v", err)
	}
}
