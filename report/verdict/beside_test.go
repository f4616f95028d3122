package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// Of what a program compiles for each of its arrays the host often has more than the device. The arrays
// are the answer all the same, up to a fifth of the host's growth, and the host is told beside them.
func TestTheHostThatGrowsBesideArraysIsToldWithThem(t *testing.T) {
	t.Parallel()
	judged := func(host float64) *Verdict {
		p := newProgram(900).healthy()
		live := func(i int) float64 { return 60*mib + 256*kib*float64(i) }
		return p.set(record.ColLive, live).
			set(record.ColLiveCount, func(i int) float64 { return 100 + float64(i) }).
			set(record.ColRSS, func(i int) float64 { return 900*mib + host*float64(i) }).
			set(record.ColGPU, func(i int) float64 { return 600*mib + live(i) }).judge()
	}
	const beside = "and host memory grows by"
	if v := judged(768 * kib); v.Verdict != AppLeak || !strings.Contains(v.Answer, beside) {
		t.Errorf("three times as much: %s", v.Answer)
	}
	if v := judged(16 * kib); v.Verdict != AppLeak || strings.Contains(v.Answer, beside) {
		t.Errorf("far less: %s", v.Answer)
	}
	if v := judged(2 * mib); v.Verdict == AppLeak {
		t.Errorf("eight times as much: %s", v.Answer)
	}
}
