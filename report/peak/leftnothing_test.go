package peak_test

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestAProgramThatOthersLeaveNothingIsToldWhoHoldsTheDevice(t *testing.T) {
	t.Parallel()
	one := 1
	const last = "the last thing it wrote was: CUDA error: out of memory"
	const held = "holds 105 GiB of the device's 140 GiB; the last thing this program wrote was: CUDA error: out of memory"
	for name, c := range map[string]struct {
		others, words string
		reason        peak.Reason
	}{
		"one": {`{"pid":650,"name":"python3","bytes":112742891520}`, "process 650 (python3) " + held,
			peak.OtherProcess},
		"two": {`{"pid":8,"bytes":56371445760},{"pid":9,"bytes":56371445760}`, "other processes hold 105 GiB of",
			peak.OtherProcess},
		"a little": {`{"pid":650,"name":"python3","bytes":1127428915}`, last, peak.Full},
		"itself":   {`{"pid":7,"name":"python3","bytes":112742891520}`, last, peak.Full},
		"nobody":   {``, last, peak.Full},
		"on another": {`{"pid":8,"bytes":1024},{"pid":9,"device":1,"bytes":112742891520}`, "process 9 " + held,
			peak.OtherProcess},
	} {
		run := &record.Run{Meta: record.Meta{ExitCode: &one,
			CapacityBytes: map[string]int64{record.LimitDevice: 140 << 30}}, Events: []record.Event{
			{TMs: 5, PID: 7, Kind: record.KindDied, Name: "torch.AcceleratorError",
				Detail: []byte(`{"text":"CUDA error: out of memory"}`)},
			{TMs: 5, PID: 7, Kind: record.KindOOMOthers, Detail: []byte(`{"processes":[` + c.others + `]}`)}}}
		o := peak.OutOfMemory(run, peak.Growth{})
		if o == nil || o.Reason != c.reason || !strings.HasPrefix(o.Sentence, c.words) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
