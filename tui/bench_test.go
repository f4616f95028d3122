package tui

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// BenchmarkFrame is what a frame costs the source and the screen, by the size
// of the terminal.
func BenchmarkFrame(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			m := leakModel(b, Appearance{Colors: TrueColors}, size[0], size[1])
			f := m.o.Source.(*Feed)
			for b.Loop() {
				f.mu.Lock()
				m.frame = f.frame(f.last)
				f.mu.Unlock()
				m.View()
			}
		})
	}
}

// BenchmarkRow is what a row of an instrumented program costs the screen.
func BenchmarkRow(b *testing.B) {
	f := NewFeed(FeedOptions{})
	cells := leakRow(5)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		f.Row(1, float64(i), cells)
		i++
	}
}

// manyProcesses is a watch of n processes after so many rows of each.
func manyProcesses(n, rows int) *Feed {
	f := NewFeed(FeedOptions{State: Watching})
	for i := range rows {
		for pid := 1; pid <= n; pid++ {
			f.Row(pid, float64(i)*1000, []record.Cell{{Column: record.ColRSS, Value: int64(pid+i) << 20},
				{Column: record.ColFootprint, Value: int64(pid+i) << 20}})
		}
	}
	return f
}

// BenchmarkSecondOf500 is a second of watching 500 processes: a row of each
// and five frames, drawn.
func BenchmarkSecondOf500(b *testing.B) {
	f := manyProcesses(500, 300)
	m := New(b.Context(), Options{Source: f, Looks: Appearance{Colors: TrueColors}, Processes: true})
	m.resize(120, 40)
	cells := []record.Cell{{Column: record.ColRSS, Value: 1 << 20}, {Column: record.ColFootprint, Value: 1 << 20}}
	at := 300e3
	for b.Loop() {
		at += 1000
		for pid := 1; pid <= 500; pid++ {
			f.Row(pid, at, cells)
		}
		b.StopTimer()
		f.live.Look()
		b.StartTimer()
		for range 5 {
			f.mu.Lock()
			m.frame = f.frame(time.Now())
			f.mu.Unlock()
			m.View()
		}
	}
}

// BenchmarkDayOf500 is the memory that a day of watching 500 processes, a row a
// second, leads to: all of it after one hour, after three, and at the end.
func BenchmarkDayOf500(b *testing.B) {
	for b.Loop() {
		clock := newFixedClock()
		f := NewFeed(FeedOptions{State: Watching, Now: clock.Now})
		cells := []record.Cell{{Column: record.ColRSS}, {Column: record.ColRSSAnon}, {Column: record.ColFootprint},
			{Column: record.ColGPU}}
		for second := range 24 * 3600 {
			for pid := 1; pid <= 500; pid++ {
				for c := range cells {
					cells[c].Value = int64(pid+second%97+c) << 20
				}
				f.Row(pid, float64(second)*1000, cells)
			}
			clock.now = clock.now.Add(time.Second)
			if second%10 == 0 {
				f.live.Look()
			}
			switch hours := second / 3600; {
			case second%3600 == 3599 && (hours == 0 || hours == 2 || hours == 23):
				b.ReportMetric(float64(heapInUse())/mib, fmt.Sprintf("MiB-after-%dh", hours+1))
			}
		}
		runtime.KeepAlive(f)
	}
}

// heapInUse is what is reachable now, in bytes.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkKeyOverAMillionSamples is the time from a key to the picture that
// it leads to, with a million samples loaded, judging beside it.
func BenchmarkKeyOverAMillionSamples(b *testing.B) {
	f := NewFeed(FeedOptions{})
	cells := leakRow(5)
	for i := range 1_000_000 {
		f.Row(1, float64(i)*50, cells)
	}
	go f.Judge(b.Context())
	m := New(b.Context(), Options{Source: f, Looks: Appearance{Colors: TrueColors}})
	m.resize(120, 40)
	take := func() {
		fr, err := f.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		m.waiting = false
		m.take(frameMsg{frame: fr})
		m.View()
	}
	take()
	worst := time.Duration(0)
	for b.Loop() {
		began := time.Now()
		m.Update(keyOf("+"))
		take()
		worst = max(worst, time.Since(began))
		m.Update(keyOf("0"))
		take()
	}
	b.ReportMetric(float64(worst)/1e6, "worst-ms")
}
