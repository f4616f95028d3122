package record

import (
	"encoding/json"
	"testing"
)

func TestAHolderIsReadWithItsFactsApartFromItsPath(t *testing.T) {
	t.Parallel()
	gone := Holder{Path: "list train.history", Gone: true, Bytes: 7, Count: 2}
	graph := Holder{Path: "train() local total", Graph: "Add outputs", Bytes: 7, Count: 2}
	both := Holder{Path: "train() local total", Graph: "Add outputs", Gone: true, Bytes: 7, Count: 2}
	for text, want := range map[string]Holder{
		`{"path":"list train.history","gone":true,"bytes":7,"count":2}`:                                       gone,
		`{"path":"list train.history (gone at the end)","bytes":7,"count":2}`:                                 gone,
		`{"path":"train() local total","graph":"Add outputs","bytes":7,"count":2}`:                            graph,
		`{"path":"train() local total: autograd graph of Add outputs","bytes":7,"count":2}`:                   graph,
		`{"path":"train() local total","gone":true,"graph":"Add outputs","bytes":7,"count":2}`:                both,
		`{"path":"train() local total: autograd graph of Add outputs (gone at the end)","bytes":7,"count":2}`: both,
		`{"path":"a: autograd graph of ","bytes":7,"count":2}`:                                                {Path: "a: autograd graph of ", Bytes: 7, Count: 2},
		`{"path":"a","bytes":7,"count":2,"since":3}`:                                                          {Path: "a", Bytes: 7, Count: 2},
	} {
		var got Holder
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		// What is written is read as the same.
		written, err := json.Marshal(got)
		var again Holder
		if err != nil || json.Unmarshal(written, &again) != nil || again != want {
			t.Errorf("%s was written as %s, %v", text, written, err)
		}
	}
	if got := both.String(); got != "train() local total: autograd graph of Add outputs (gone at the end)" {
		t.Errorf("for people: %q", got)
	}
	if got := both.Kept(); got != "train() local total: autograd graph of Add outputs" {
		t.Errorf("for people: %q", got)
	}
}

func TestObjectsOfAClassAreNoContainer(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"Node objects below train.index.root": true, "Node objects": true,
		"list train.objects": false, "Node objects: a reference cycle": true, "train.objects below": false,
		"objects": false, "Tensor (8, 8): a reference cycle or native code": false, "": false,
	} {
		if got := (&Holder{Path: path}).OfClass(); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestAHolderThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	if err := json.Unmarshal([]byte(`{"path":7}`), &Holder{}); err == nil {
		t.Error("a path that is a number was read")
	}
}
