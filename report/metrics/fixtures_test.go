package metrics

import (
	"fmt"

	"github.com/gpumem/gpumem/report/verdict"
)

// host is a Source of 8 GPUs with 20 processes each, all accounts known.
type host struct{ gpus, processes int }

func (h host) Processes() []Process {
	var out []Process
	for g := range h.gpus {
		for p := range h.processes {
			n := int64(g*h.processes + p + 1)
			rate := &verdict.Interval{Value: float64(n), Low: float64(n) - 1, High: float64(n) + 1}
			v := &verdict.Verdict{Verdict: verdict.None, Confidence: .9}
			for _, a := range [...]verdict.Account{verdict.Live, verdict.Idle, verdict.Untracked, verdict.Host} {
				v.Accounts = append(v.Accounts, verdict.AccountRow{Account: a, PerSecond: rate})
			}
			out = append(out, Process{
				PID: 1000 + int(n), Name: "python3", Device: fmt.Sprint(g), Count: &n, Verdict: v,
				Bytes: map[verdict.Account]int64{
					verdict.Live: n << 20, verdict.Idle: n << 18, verdict.Untracked: n << 16, verdict.Host: n << 20,
				},
			})
		}
	}
	return out
}

func (host) Sampling() Sampling {
	missed, lost := uint64(1), uint64(0)
	return Sampling{Samples: 100, Missed: &missed, LostLines: &lost}
}
