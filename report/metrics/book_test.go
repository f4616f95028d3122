package metrics

import (
	"math/rand/v2"
	"strings"
	"testing"

	liveset "github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// live is a row of a process with so many live bytes on device 1.
func live(bytes int64) []record.Cell {
	return []record.Cell{
		{Column: record.ColLive, Value: bytes}, {Column: record.ColLiveCount + "@1", Value: bytes >> 20},
		{Column: record.ColLive + "@1", Value: bytes}, {Column: "used@1", Value: bytes},
	}
}

// filled is a book in which process 1 grows by a MiB a second and process 2
// stays, over n seconds, looked at all the while.
func filled(o BookOptions, n int) *Book {
	b := NewBook(o)
	b.SetMeta(record.Meta{IntervalMs: 1000, PID: 1})
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		b.Row(1, float64(i)*1000, live(int64(i)<<20+noise.Int64N(1<<18)))
		b.Row(2, float64(i)*1000, live(100<<20+noise.Int64N(1<<18)))
		b.live.Look()
	}
	return b
}

func of(t *testing.T, b *Book, pid int) Process {
	t.Helper()
	for _, p := range b.Processes() {
		if p.PID == pid {
			return p
		}
	}
	t.Fatalf("process %d is not published", pid)
	return Process{}
}

func liveRate(v *verdict.Verdict) *verdict.Interval {
	for _, a := range v.Accounts {
		if a.Account == verdict.Live {
			return a.PerSecond
		}
	}
	return nil
}

func TestALeakIsPublishedWithItsRateItsBoundsAndWhenTheDeviceIsFull(t *testing.T) {
	t.Parallel()
	const capacity, used = 8 << 30, 4 << 30 // others use of it, too
	limits := []Limit{{Name: "device memory", Column: "used",
		Device: func(n int) (int64, int64, bool) { return capacity, used, n == 1 }}}
	for _, online := range []bool{true, false} {
		b := filled(BookOptions{Online: online, Limits: limits, Complete: true}, 600)
		b.Finish()
		p := of(t, b, 1)
		v := p.Verdict
		if v == nil || v.Verdict != verdict.AppLeak || v.Confidence < .95 {
			t.Fatalf("online %v: the leak is %+v", online, v)
		}
		rate := liveRate(v)
		if rate == nil || rate.Low > 1<<20 || rate.High < 1<<20 || rate.High-rate.Low > 1<<18 {
			t.Errorf("online %v: it grows by %+v bytes a second, want 1 MiB within narrow bounds", online, rate)
		}
		if f := v.Forecast; f == nil || f.Limit != "device memory" || f.P50 < 4000 || f.P50 > 4200 ||
			f.P10 > f.P50 || f.P90 < f.P50 {
			t.Errorf("online %v: the forecast is %+v, want some 4096 s", online, f)
		}
		if p.Device != "1" || *p.Count != 599 {
			t.Errorf("online %v: %+v, want 599 buffers on device 1", online, p)
		}
		quiet := of(t, b, 2).Verdict
		if quiet == nil || quiet.Verdict != verdict.None || quiet.Forecast != nil {
			t.Fatalf("online %v: the healthy program is %+v", online, quiet)
		}
		if rate := liveRate(quiet); rate == nil || rate.Low > 0 || rate.High < 0 {
			t.Errorf("online %v: the healthy program grows by %+v, want bounds around 0", online, rate)
		}
	}
}

func TestDeviceBytesOfNobodyHaveARateToo(t *testing.T) {
	t.Parallel()
	b := NewBook(BookOptions{Complete: true})
	for i := range 300 {
		b.Row(7, float64(i)*1000, []record.Cell{{Column: record.ColGPU, Value: int64(i) << 22},
			{Column: record.ColRSS, Value: 1 << 30}})
	}
	b.Finish()
	for _, a := range of(t, b, 7).Verdict.Accounts {
		if a.Account == verdict.Untracked {
			if a.PerSecond == nil || a.PerSecond.Low > 1<<22 || a.PerSecond.High < 1<<22 {
				t.Errorf("it grows by %+v, want 4 MiB a second", a.PerSecond)
			}
			return
		}
	}
	t.Error("the growth of device bytes is not told")
}

func TestNothingIsSaidOfAProcessBeforeItWasSeenForLong(t *testing.T) {
	t.Parallel()
	for online, rows := range map[bool]int{false: liveset.FirstRows - 1, true: liveset.OnlineRows - 1} {
		b := filled(BookOptions{Online: online}, rows)
		if v := of(t, b, 1).Verdict; online && (v == nil || v.Verdict != verdict.Undecided || len(v.Accounts) > 0) ||
			!online && v != nil {
			t.Errorf("online %v, after %d rows: %+v", online, rows, v)
		}
	}
}

func TestAValueThatIsNotReadAnyMoreIsNotPublished(t *testing.T) {
	t.Parallel()
	for _, complete := range []bool{false, true} {
		b := NewBook(BookOptions{Complete: complete})
		b.SetMeta(record.Meta{IntervalMs: 100})
		b.Row(1, 0, []record.Cell{{Column: record.ColRSS, Value: 5}, {Column: record.ColGPU, Value: 6}})
		sizes := map[float64]int64{} // by time
		for _, at := range []float64{200, oldMs, oldMs + 100} {
			b.Row(1, at, []record.Cell{{Column: record.ColRSS, Value: 5}})
			for _, p := range b.Processes() {
				sizes[at] += p.size()
			}
		}
		want := map[float64]int64{200: 11, oldMs: 11, oldMs + 100: 5}
		if complete {
			want = map[float64]int64{200: 5, oldMs: 5, oldMs + 100: 5}
		}
		for at := range want {
			if sizes[at] != want[at] {
				t.Errorf("complete rows %v, after %v ms: %d bytes, want %d", complete, at, sizes[at], want[at])
			}
		}
	}
}

func TestRowsThatDidNotComeAreCounted(t *testing.T) {
	t.Parallel()
	b := NewBook(BookOptions{})
	row := func(at float64) { b.Row(1, at, live(1)) }
	row(0)
	row(100)
	if s := b.Sampling(); s.Samples != 2 || s.Missed != nil {
		t.Errorf("without an interval: %+v, want 2 and unknown", s)
	}
	b.SetMeta(record.Meta{IntervalMs: 100})
	for _, at := range []float64{200, 310, 390, 540, 900, 1000} { // one is late, and then three are missing
		row(at)
	}
	if s := b.Sampling(); s.Samples != 8 || s.Missed == nil || *s.Missed != 2 || s.LostLines != nil {
		t.Errorf("%+v, %v missed; want 8 and 2", s, *s.Missed)
	}
}

func TestDeadAndForgottenProcesses(t *testing.T) {
	t.Parallel()
	b := NewBook(BookOptions{Online: true,
		NameOf: func(int) string { return "näme" + strings.Repeat("x", 200) + "\xff" }})
	b.Row(1, 0, live(5))
	b.Dead(2, 0, []record.Cell{{Column: record.ColGPU, Value: 9}})
	b.Finish()
	if p := of(t, b, 2); !p.Dead || p.size() != 9 || p.Verdict != nil {
		t.Errorf("a dead process is %+v", p)
	}
	if p := of(t, b, 1); p.Dead || len(p.Name) > mostName || !strings.HasPrefix(p.Name, "näme") {
		t.Errorf("a live one is %+v", p)
	}
	b.Forget(2)
	b.Finish()
	if n := len(b.Processes()); n != 1 {
		t.Errorf("%d processes are published, want 1", n)
	}
	series(scrapeOf(t, b)) // labels are fit to be printed
}
