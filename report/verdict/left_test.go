package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheLineOfWhatProfiledStepsLeaveBehindIsTold(t *testing.T) {
	t.Parallel()
	// Live memory grows by 52 KiB a step; so much, times a factor, stays of each profiled step.
	judged := func(each int64, holders ...record.Holder) *Verdict {
		run := newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, 52*kib).
			set(record.ColStep, func(i int) float64 { return float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 700*mib + float64(i)*52*kib }).run()
		const window = `{"part":0,"parts":1,"steps":3,"boundaries":[10,20,30],"frames":["/srv/app/train.py:7 forward"],
			"stacks":[[0]],"live":[[0,%[1]d,-1],[1000000,%[1]d,-1],[2000000,%[1]d,-1]],
			"events":[[0,%[1]d,1,0],[1000000,%[1]d,11,0],[2000000,%[1]d,21,0]]}`
		run.Events = append(run.Events, record.Event{TMs: 5000, Kind: record.KindWindow,
			Detail: fmt.Appendf(nil, window, each)},
			record.Event{TMs: 20000, Kind: record.KindHolders, Holders: holders})
		return Judge(run, Options{})
	}
	const told = "; what stays of a step is allocated at app/train.py:7 in forward"
	v := judged(52 * kib)
	if v.Verdict != AppLeak || !strings.Contains(v.Answer, told) ||
		!strings.HasSuffix(v.Next, "the memory that is allocated at app/train.py:7 in forward") {
		t.Errorf("%s: %q, then %q", v.Verdict, v.Answer, v.Next)
	}
	for _, each := range []int64{20 * kib, 140 * kib} {
		if v := judged(each); strings.Contains(v.Answer, "stays of a step") {
			t.Errorf("%d bytes of each step, where 53,248 grow: %q", each, v.Answer)
		}
	}
	v = judged(52*kib, record.Holder{Path: "list train.kept", Bytes: 20 * mib, Count: 400,
		Filled: "/srv/app/train.py:9 step"})
	if strings.Contains(v.Answer, "stays of a step") || !strings.Contains(v.Answer, "filled at app/train.py:9") {
		t.Errorf("beside a holder with a line: %q", v.Answer)
	}
	v = judged(52*kib, record.Holder{Path: "list train.kept", Bytes: 20 * mib, Count: 400,
		Filled: "/srv/app/train.py:5 __init__"})
	if !strings.Contains(v.Answer, "filled at app/train.py:5 in __init__") || !strings.Contains(v.Answer, told) {
		t.Errorf("beside a holder with the line that makes it: %q", v.Answer)
	}
}
