package series

import (
	"reflect"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// TestWhatAnErrorsReportKeepsIsToldUnderItsOwnPath: a program that an error ended leaves
// its functions' variables to sys.last_traceback.
func TestWhatAnErrorsReportKeepsIsToldUnderItsOwnPath(t *testing.T) {
	t.Parallel()
	got := withoutTraceback([]record.Holder{
		{Path: "list sys.last_traceback → leak() local kept", Bytes: 9, Count: 3},
		{Path: "list leak() local kept", Gone: true, Bytes: 8, Count: 2, Filled: "train.py:30 leak"},
		{Path: "sys.last_traceback → step() local loss", Bytes: 4, Count: 1},
		{Path: "list main() local other", Gone: true, Bytes: 2, Count: 1},
	})
	want := []record.Holder{
		{Path: "list leak() local kept", Bytes: 9, Count: 3, Filled: "train.py:30 leak"},
		{Path: "sys.last_traceback → step() local loss", Bytes: 4, Count: 1},
		{Path: "list main() local other", Gone: true, Bytes: 2, Count: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
