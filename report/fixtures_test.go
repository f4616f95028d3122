package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func ptr[T any](v T) *T { return &v }

const mib = 1 << 20

// noise is a small repeatable jitter in [-1, 1).
func noise(i int) float64 {
	x := uint64(i)*0x9e3779b97f4a7c15 + 0x1234567
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 32
	return float64(x%2000)/1000 - 1
}

// leakRun is a training loop of n samples at 20 Hz on a device of its own
// memory, whose live tensors grow by 4 MiB a step after a warm-up of 6 s.
func leakRun(n int) *record.Run {
	names := []string{record.ColTime, record.ColStep, record.ColRSS, record.ColRSSAnon, record.ColRSSFile,
		record.ColGPU, record.ColLive, record.ColIdle, record.ColLiveCount, "gpumem_extra"}
	cols := make([][]float64, len(names))
	for i := range n {
		t := float64(i) * 50
		step := math.Floor(t / 500)
		warm := 1 - math.Exp(-t/2000)
		live := 85*mib + 4*mib*step
		idle := 24*mib + 6*mib*math.Abs(noise(i))
		anon := 300*mib + 220*mib*warm + mib*noise(i+n)
		file := 236 * mib * warm
		row := []float64{t, step, math.Round(anon + file), math.Round(anon), math.Round(file),
			math.Round(live + idle + 553*mib*warm), live, math.Round(idle), 120 + 3*step, math.NaN()}
		for c, x := range row {
			cols[c] = append(cols[c], x)
		}
	}
	start := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	return &record.Run{
		Path: "gpumem-train-20261120T093000Z",
		Meta: record.Meta{
			Schema: 1, Command: []string{"python3", "train.py", "--epochs", "60", "--name", "it's"},
			Host: "lab-07", OS: "Linux 6.8.0 x86_64", Driver: "NVIDIA 580.65.06",
			Device: "cuda:0 NVIDIA H200", UnifiedMemory: ptr(false),
			CapacityBytes: map[string]int64{"device memory": 139 << 30, "host memory": 128 << 30},
			Versions:      map[string]string{"gpumem": "0.1.0", "torch": "2.11.0"},
			Env:           map[string]string{"CUDA_VISIBLE_DEVICES": "0"},
			Flags:         map[string]string{"interval": "50ms", "purge": "true"},
			Start:         start, End: ptr(start.Add(time.Duration(n) * 50 * time.Millisecond)),
			IntervalMs: 50, PID: 4242, ExitCode: ptr(0),
			Sampling: &record.Sampling{Rows: int64(n), Missed: 3, CPUSeconds: 0.21, RSSBytes: 19 * mib},
		},
		Samples: record.NewSamples(names, cols),
		Events: []record.Event{
			{TMs: 6000, Kind: record.KindPhase, Name: "train"},
			{TMs: float64(n) * 40, Kind: record.KindPhase, Name: "evaluate"},
			{TMs: float64(n) * 49, Kind: record.KindReceipt, Receipt: &record.Receipt{Action: "purge",
				ClaimedBytes: ptr(int64(24 * mib)), ReturnedBytes: ptr(int64(22 * mib)), Account: "idle"}},
		},
		Warnings: []record.Warning{{File: "samples.csv", Line: 77, Column: "rss_bytes",
			Text: `bad cell "n/a", taken as unknown`}},
	}
}

// leakVerdict is what the engine would say of leakRun(1200).
func leakVerdict() *verdict.Verdict {
	return &verdict.Verdict{
		Schema: 1, Verdict: verdict.AppLeak, Tier: verdict.Confirmed, Confidence: 0.98,
		Answer: "Live memory grows by 4.00 MiB a step (8.00 MiB/s) and explains 99 % of the growth: the program " +
			"still references it.",
		Next: "detach the loss before it is kept",
		Summary: "Live memory grows by 4.00 MiB a step (8.00 MiB/s) and explains 99 % of the growth: the program " +
			"still references it.",
		Window: verdict.Window{FromMs: 0, ToMs: 59950, WarmupMs: 6000, Samples: 1200, Steps: 119},
		Accounts: []verdict.AccountRow{
			{Account: verdict.Live, Shape: trend.Growing, ChangeBytes: ptr(int64(402653184)), Count: ptr(int64(321)),
				Share: ptr(0.9885),
				Bytes: ptr(int64(428 * mib)), BytesLow: ptr(int64(426 * mib)), BytesHigh: ptr(int64(430 * mib)),
				PerSecond: &verdict.Interval{Value: 8 * mib, Low: 7.97 * mib, High: 8.03 * mib},
				PerStep:   &verdict.Interval{Value: 4 * mib, Low: 3.99 * mib, High: 4.01 * mib}},
			{Account: verdict.Idle, Shape: trend.Bounded, ChangeBytes: ptr(int64(1189085)), Share: ptr(0.0),
				Bytes: ptr(int64(-49152)), BytesLow: ptr(int64(-278000)), BytesHigh: ptr(int64(181000)),
				PerSecond: &verdict.Interval{Value: -910, Low: -5200, High: 3380},
				PerStep:   &verdict.Interval{Value: -459, Low: -2600, High: 1690}, DetectablePerSecond: ptr(7200.0)},
			{Account: verdict.Untracked, Shape: trend.Plateau, ChangeBytes: ptr(int64(2618996)), Share: ptr(0.0035),
				Bytes: ptr(int64(1.5 * mib)), BytesLow: ptr(int64(-52430)), BytesHigh: ptr(int64(3250585)),
				PerSecond: &verdict.Interval{Value: 29000, Low: -1000, High: 59000}, DetectablePerSecond: ptr(51000.0)},
			{Account: verdict.Host, Shape: trend.Plateau, ChangeBytes: ptr(int64(841637)), Bytes: ptr(int64(3.5 * mib)),
				Share: ptr(0.008), DetectablePerSecond: ptr(90000.0)},
		},
		Measured: &verdict.Measured{FromMs: ptr(10800.0), ToMs: ptr(58800.0), Bytes: 407302902,
			FootprintBytes: ptr(int64(841637)), DeviceBytes: ptr(int64(406461265))},
		DrivenBy: &verdict.DrivenBy{Per: "step", Interval: verdict.Interval{Value: 4 * mib, Low: 3.99 * mib,
			High: 4.01 * mib}},
		Causes: []verdict.Cause{{ID: "uncut-autograd-graph", Confidence: 0.9,
			Evidence: []string{"live tensors grow by 3.00 a step, refs by 3.00 a step",
				"the oldest survivors were allocated in step 1 at train.py:41"},
			Next: "detach the loss before you add it up: total += loss.detach()"}},
		Sites: []verdict.SiteRow{
			{Site: "train.py:41 step", Bytes: 428 * mib, Count: 107, GrowthBytes: 428 * mib},
			{Site: "model.py:17 Linear.__init__", Bytes: 85 * mib, Count: 120},
		},
		Holders: []verdict.HolderRow{{Path: "__main__.history[…]", Bytes: 428 * mib, Count: 107}},
		Experiments: []verdict.Experiment{{Action: "purge", ClaimedBytes: ptr(int64(24 * mib)),
			ReturnedBytes: ptr(int64(22 * mib)), Account: "idle"}},
		Forecast: &verdict.Forecast{Limit: "device memory", CapacityBytes: 139 << 30, P10: 17400, P50: 17650,
			P90: 17900},
		Missing:  []string{"host_heap_bytes: no agent"},
		Warnings: []string{"3 samples came too late"},
	}
}

// retentionVerdict rests on what was left between two marks.
func retentionVerdict() *verdict.Verdict {
	return &verdict.Verdict{
		Schema: 1, Verdict: verdict.PoolGrowth, Tier: verdict.Confirmed, Confidence: 0.97,
		Answer: "122 buffers, 1180.12 MiB, were left in the pool after the program gave everything up: kept by pool " +
			"policy, not by references.",
		Summary: "122 buffers, 1180.12 MiB, were left in the pool after the program gave everything up: kept by pool " +
			"policy, not by references.",
		Window: verdict.Window{FromMs: 0, ToMs: 4000, Samples: 5},
		Accounts: []verdict.AccountRow{
			{Account: verdict.Live, Shape: trend.Step, LeftoverBytes: ptr(int64(0)), LeftoverCount: ptr(int64(0))},
			{Account: verdict.Idle, Shape: trend.Step, LeftoverBytes: ptr(int64(1237442560)),
				LeftoverCount: ptr(int64(122))},
			{Account: verdict.Untracked, Shape: trend.ShapeUndecided},
		},
		Experiments: []verdict.Experiment{{Action: "purge", ClaimedBytes: ptr(int64(1237442560)),
			ReturnedBytes: ptr(int64(1237442560)), Count: ptr(int64(122)), Account: "idle"}},
	}
}

func retentionRun() *record.Run {
	return &record.Run{
		Meta: record.Meta{Schema: 1, Workload: "modelload", Device: "soft", UnifiedMemory: ptr(true),
			Command: []string{"gpumem", "run", "modelload", "--policy=tensorlogic"},
			Flags:   map[string]string{"purge": "true", "leftover": "2MiB"}},
		Samples: record.NewSamples([]string{record.ColTime, record.ColRSS, record.ColLive, record.ColIdle}, [][]float64{
			{0, 1000, 2000, 3000, 4000},
			{40 * mib, 900 * mib, 2140 * mib, 1222 * mib, 1222 * mib},
			{0, 900 * mib, 2200096768, 0, 0},
			{0, 0, 0, 1237442560, 1237442560},
		}),
		Events: []record.Event{{TMs: 0, Kind: record.KindPhase, Name: record.PhaseBaseline},
			{TMs: 3000, Kind: record.KindPhase, Name: record.PhaseReleased},
			{TMs: 3500, Kind: record.KindEvent, Name: "pool", Detail: []byte(`{"classes":[` +
				`{"class":"16777216 x 2 B","bytes":33554432,"live":0,"idle":30,"max_idle":30,"hits":3,"misses":36},` +
				`{"class":"4 B int","bytes":4,"idle":92,"max_idle":-1}]}`)}},
	}
}

// undecidedVerdict knows almost nothing, so that nothing may be shown for it.
func undecidedVerdict() *verdict.Verdict {
	return &verdict.Verdict{Schema: 1, Verdict: verdict.Undecided, Tier: verdict.TierUndecided,
		Answer:  "3 samples do not settle whose memory grows.",
		Summary: "3 samples do not settle whose memory grows.", MoreMinutes: ptr(4.0),
		Accounts: []verdict.AccountRow{{Account: verdict.Host, Shape: trend.ShapeUndecided}}}
}

// hostile is every string trick at once.
const hostile = "<script>alert(1)</script>\"'`|&\x1b[31m\x00\u202e\u2028</style>--><img src=x onerror=alert(2)>${7*7}{{.}}@all #1 \xff"

// hostileRun and hostileVerdict put hostile, and a string of 10 MB, wherever
// a string can stand.
func hostileRun() *record.Run {
	big := hostile + strings.Repeat("A<b>", 10*mib/4)
	r := leakRun(200)
	r.Path = hostile
	r.Meta.Command = []string{hostile, big}
	r.Meta.Workload, r.Meta.Host, r.Meta.OS, r.Meta.Driver, r.Meta.Device, r.Meta.Signal = hostile, hostile,
		hostile, hostile, big, hostile
	r.Meta.Versions = map[string]string{hostile: hostile}
	r.Meta.Env = map[string]string{hostile: big}
	r.Meta.Flags = map[string]string{hostile: hostile}
	r.Meta.CapacityBytes = map[string]int64{hostile: 1}
	r.Events = append(r.Events, record.Event{TMs: 100, Kind: record.KindPhase, Name: big},
		record.Event{TMs: 200, Kind: record.KindReceipt, Receipt: &record.Receipt{Action: hostile}},
		record.Event{TMs: math.Inf(1), Kind: hostile, Name: hostile})
	r.Warnings = append(r.Warnings, record.Warning{File: hostile, Column: hostile, Text: big})
	return r
}

func hostileVerdict() *verdict.Verdict {
	big := hostile + strings.Repeat("B&c;", 10*mib/4)
	v := leakVerdict()
	v.Verdict, v.Tier, v.Summary = hostile, hostile, big
	v.Accounts[0].Account, v.Accounts[0].Shape = hostile, hostile
	v.DrivenBy.Per = hostile
	v.Causes = []verdict.Cause{{ID: hostile, Evidence: []string{hostile, big}, Next: hostile}}
	v.Sites = nil
	for range 5000 {
		v.Sites = append(v.Sites, verdict.SiteRow{Site: hostile + strings.Repeat("|", 300), Bytes: 1, Count: 1})
	}
	v.Sites[0].Site = big
	v.Holders = []verdict.HolderRow{{Path: hostile}}
	v.Experiments = []verdict.Experiment{{Action: hostile, Account: hostile}}
	v.Forecast.Limit = hostile
	v.Missing, v.Warnings = []string{hostile, big}, []string{hostile, big}
	return v
}

func render(t testing.TB, f Format, run *record.Run, v *verdict.Verdict, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, f, run, v, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
