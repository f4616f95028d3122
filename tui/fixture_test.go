package tui

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixedClock is a clock that a test turns.
type fixedClock struct{ now time.Time }

func newFixedClock() *fixedClock {
	return &fixedClock{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
}

func (c *fixedClock) Now() time.Time { return c.now }

func pointer[T any](x T) *T { return &x }

const mib = 1 << 20

// leakRow is row i, every 50 ms, of a program whose host memory leaks while
// its pool breathes; every hundredth row has a peak of one sample.
func leakRow(i int) []record.Cell {
	liveBytes := int64(40+i%20) * mib
	if i%100 == 77 {
		liveBytes += 200 * mib
	}
	idleBytes := int64(100)*mib - int64(i%20)*mib
	gpu := liveBytes + idleBytes + 12*mib
	return []record.Cell{
		{Column: record.ColStep, Value: int64(i) * 3},
		{Column: record.ColFootprint, Value: gpu + 30*mib + int64(i)*mib/2},
		{Column: record.ColRSS, Value: gpu + 28*mib + int64(i)*mib/2}, {Column: record.ColHostHeap, Value: 21 * mib},
		{Column: record.ColGPU, Value: gpu}, {Column: record.ColLive, Value: liveBytes},
		{Column: record.ColIdle, Value: idleBytes},
		{Column: record.ColLiveCount, Value: 40 + int64(i%20)}, {Column: record.ColIdleCount, Value: 25},
		{Column: record.ColPoolHits, Value: int64(i) * 60}, {Column: record.ColPoolMisses, Value: 100 + int64(i)},
		{Column: record.ColAllocs, Value: 100 + int64(i)},
		{Column: record.ColFrees, Value: int64(i)}, {Column: record.ColRefs, Value: 64},
		{Column: record.ColShapes, Value: 6}, {Column: record.ColPipelines, Value: 16},
		{Column: record.ColCommands, Value: int64(i) * 620},
		{Column: record.ColCommandBuffers, Value: int64(i) * 10}, {Column: record.ColInFlight, Value: 2},
	}
}

// leakVerdict is one that has every part; made by hand, so that a better
// engine changes no picture.
func leakVerdict() *verdict.Verdict {
	row := func(a verdict.Account, shape trend.Shape, bytes int64, second float64) verdict.AccountRow {
		return verdict.AccountRow{
			Account: a, Shape: shape, Bytes: &bytes, PerSecond: &verdict.Interval{Value: second, Low: second * .98,
				High: second * 1.02},
			PerStep: &verdict.Interval{Value: second / 60, Low: second / 61, High: second / 59},
		}
	}
	return &verdict.Verdict{
		Schema: 1, Verdict: verdict.DriverGrowth, Tier: verdict.Confirmed, Confidence: .9892,
		Summary: "driver-growth (confirmed, 99 %): host memory grows by 299.00 MiB, 51.20 KiB a command buffer while " +
			"the program's heap does not; cause: missing autorelease pool.",
		Claim: "host memory grows by 299.00 MiB, 51.20 KiB a command buffer while the program's heap does not; " +
			"cause: missing autorelease pool.",
		Window: verdict.Window{FromMs: 50, ToMs: 29950, Samples: 598, Steps: 1797},
		Accounts: []verdict.AccountRow{
			row(verdict.Live, trend.Bounded, 0, 310), row(verdict.Idle, trend.Flat, 0, -12),
			row(verdict.Untracked, trend.Flat, 0, 0), row(verdict.Host, trend.Growing, 299*mib, 10*mib),
		},
		DrivenBy: &verdict.DrivenBy{Per: "command_buffer",
			Interval: verdict.Interval{Value: 52428, Low: 52400, High: 52460}},
		Causes: []verdict.Cause{{
			ID: "missing-autorelease-pool", Confidence: .89,
			Evidence: []string{"host memory grows by 826 B a launch over 371,380 of them",
				"live memory and command buffers in flight do not grow", "the program's heap stays as it is"},
			Next: "put an autorelease pool around each iteration that submits work and run again: the growth must stop",
		}},
		Experiments: []verdict.Experiment{{Action: "purge", ClaimedBytes: pointer(int64(80 * mib)),
			ReturnedBytes: pointer(int64(79 * mib)), Account: "idle"}},
		Forecast:    &verdict.Forecast{Limit: "host memory", CapacityBytes: 24 << 30, P10: 2301, P50: 2340, P90: 2390},
		MoreMinutes: pointer(1.5), RestsOn: verdict.ByTrend,
		Missing: []string{"host_heap_bytes: no agent"}, Warnings: []string{"2 rows had no time"},
	}
}

// leakEvents are the events of the fixed run.
func leakEvents() []record.Event {
	return []record.Event{
		{TMs: 52, Kind: record.KindPhase, Name: "baseline"},
		{TMs: 60, Kind: record.KindStep, Step: 1},
		{TMs: 4100, Kind: record.KindScope, Name: "epoch", At: "train.py:12:1"},
		{TMs: 8000, Kind: record.KindWarning, Text: "GPU bytes are missing: nvml: \x1b[31mtimeout\x1b[0m"},
		{TMs: 15000, Kind: record.KindReceipt, Name: "purge", Receipt: &record.Receipt{
			Action: "purge", ClaimedBytes: pointer(int64(80 * mib)), ReturnedBytes: pointer(int64(79 * mib)),
			GPUBytes: pointer(int64(80 * mib)), Count: pointer(int64(12)), Account: "idle"}},
		{TMs: 20000, Kind: record.KindEvent, Name: "mark 1"},
		{TMs: 25000, Kind: record.KindSites, Sites: []record.Site{
			{Site: "workloads/nqueens.go:141 (*board).epoch", Bytes: 52 * mib, Count: 1200, GrowthBytes: 40 * mib},
			{Site: "workloads/tensor/autograd.go:88 (*Tensor).Backward, a name that is too long for most of all " +
				"screens there are", Bytes: 3 * mib, Count: 18},
		}},
		{TMs: 25000, Kind: record.KindHolders,
			Holders: []record.Holder{{Path: "model.layers[3].weight", Bytes: 40 * mib, Count: 2},
				{Path: "優化器.état", Bytes: mib, Count: 1}}},
		{TMs: 28000, Kind: record.KindComposition,
			Detail: json.RawMessage(`{"device":0,"categories":{"parameters":20971520,"activations":29360128,"optimizer_state":8388608,"unnamed":0}}`)},
		{TMs: 29000, Kind: record.KindPhase, Name: "released"},
	}
}

// leakFeed is the fixed run: a main process, one with a wide name and one with
// combining characters and an attack on the terminal.
func leakFeed(unified bool) (*Feed, *fixedClock) {
	clock := newFixedClock()
	f := NewFeed(FeedOptions{
		Name: "nqueens --fault no-autorelease-pool", Path: "gpumem-nqueens-20261120T120000Z", Now: clock.Now,
		Usage:  func() Usage { return Usage{CPU: time.Second, RSS: 23 * mib} },
		Missed: func() (int64, int64) { return 3, 0 },
	})
	f.SetMeta(record.Meta{
		PID: 4711, Device: "Apple M3 Max", UnifiedMemory: &unified, Command: []string{"gpumem", "run", "nqueens"},
		CapacityBytes: map[string]int64{"host memory": 24 << 30},
	})
	for i := range 600 {
		t := float64(i) * 50
		f.Row(4711, t, leakRow(i))
		if i%20 == 0 {
			f.Row(4712, t, []record.Cell{{Column: record.ColRSS, Value: 9 * mib},
				{Column: record.ColFootprint, Value: 10 * mib}})
			f.Row(4713, t, []record.Cell{{Column: record.ColRSS, Value: int64(5+i/100) * mib}})
			clock.now = clock.now.Add(time.Second)
			f.mu.Lock()
			f.frame(clock.now) // rates need frames
			f.mu.Unlock()
		}
		if i == 400 {
			f.Mark("mark 1")
		}
	}
	f.Name(4711, "nqueens")
	f.Name(4712, "訓練プロセス-データ読み込み")
	f.Name(4713, "e\u0301te\u0301 \x1b]0;pwned\a\x1b[2J\u202e👩‍💻")
	f.Gone(4713)
	for _, e := range leakEvents() {
		f.Event(e)
	}
	for i := range 12 {
		f.Output(i%5 == 4, fmt.Sprintf("solution %d: columns [0 4 7 5 2 6 1 3]\twith a tab and \x1b[2J an attack", i))
	}
	p := f.of(4711)
	p.Judged.Take(&verdict.Verdict{Verdict: verdict.Undecided}, 4000, false)
	for range 5 {
		p.Judged.Take(leakVerdict(), 29000, true)
	}
	f.of(4712).Judged.Watched = true
	f.lookCost = 12 * time.Millisecond
	return f, clock
}

// leakFrame is a frame of the fixed run.
func leakFrame(t testing.TB, unified bool, v View) *Frame {
	t.Helper()
	f, clock := leakFeed(unified)
	f.Look(v)
	f.mu.Lock()
	defer f.mu.Unlock()
	fr := f.frame(clock.now)
	fr.Number, fr.Skipped = 150, 2
	return fr
}

// leakModel is a model that shows the fixed run.
func leakModel(t testing.TB, looks Appearance, w, h int) *Model {
	t.Helper()
	clock := newFixedClock()
	f, feedClock := leakFeed(true)
	m := New(context.Background(), Options{Source: f, Looks: looks, Now: clock.Now, Control: Control{
		End: func() {}, Leave: func() {},
		Actions:    func() []string { return []string{"collect", "purge", "trim", "sites", "holders"} },
		Experiment: func(string) (*record.Receipt, error) { return nil, nil },
	}})
	m.resize(w, h)
	f.mu.Lock()
	fr := f.frame(feedClock.now)
	f.mu.Unlock()
	fr.Number, fr.Skipped = 150, 2
	m.take(frameMsg{frame: fr})
	return m
}

// writeRun writes a run folder of n rows with the project's own writer.
func writeRun(t testing.TB, dir string, n int, end bool) {
	t.Helper()
	w, err := record.Create(dir, record.Meta{PID: 4711, Start: time.Now(), Command: []string{"made"},
		UnifiedMemory: pointer(true)}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Sample(record.Row{T: time.Duration(i) * 50 * time.Millisecond, Cells: leakRow(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range leakEvents() {
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		now := time.Now()
		if err := w.UpdateMeta(func(m *record.Meta) { m.End, m.ExitCode = &now, pointer(0) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// waitFor takes frames until one is as wanted.
func waitFor(t *testing.T, s Source, what string, want func(*Frame) bool) *Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var last *Frame
	for {
		f, err := s.Next(ctx)
		if err != nil {
			text := []byte("no frame")
			if last != nil {
				last.Chart.Columns, last.Start, last.Now, last.Marked = nil, values{}, values{}, values{}
				text, _ = json.Marshal(struct {
					State State
					Rows  int64
					At    string
					Play  *Playback
					Fault string
				}{last.State, last.Rows, fmt.Sprint(last.ElapsedMs), last.Play, last.Health.Fault})
			}
			t.Fatalf("no frame with %s within 20 s; the last was %s", what, text)
		}
		if last = f; want(f) {
			return f
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }
