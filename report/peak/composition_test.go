package peak_test

import (
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestOfTwoFrameworksTheCompositionOfTheLargerOneIsTold(t *testing.T) {
	t.Parallel()
	told := func(ms float64, name, categories string) record.Event {
		return record.Event{TMs: ms, PID: 7, Kind: record.KindComposition, Name: name,
			Detail: []byte(`{"categories":{` + categories + `}}`)}
	}
	run := &record.Run{Events: []record.Event{told(1, "torch", `"parameters":900`), told(2, "torch", `"parameters":500`),
		told(3, "cupy", `"other arrays of Python":30`)}}
	if c := peak.Of(run, peak.Growth{}).Composition; c == nil || c.Bytes != 500 || c.AtMs != 2 {
		t.Errorf("%+v", c)
	}
}
