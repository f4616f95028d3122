package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/gpumem/gpumem/metrics"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// servedPrograms are the programs of an allocation server as metrics: sampled at a
// fixed rate, so that verdicts do not depend on who scrapes how often.
type servedPrograms struct {
	server *ttmetal.Server
	every  time.Duration

	mu      sync.Mutex
	list    []metrics.Process
	samples uint64
	missed  uint64

	// for the goroutine of run only
	monitor *verdict.Monitor
	seen    map[int]int // samples by pid
	start   time.Time
}

// servedEvery is the default time between samples; a sample of a million
// buffers takes about 20 ms.
const servedEvery = time.Second

func newServed(s *ttmetal.Server, every time.Duration) *servedPrograms {
	return &servedPrograms{server: s, every: every, monitor: verdict.NewMonitor(verdict.Options{}), seen: map[int]int{}, start: time.Now()}
}

// run samples until ctx ends.
func (s *servedPrograms) run(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	last := time.Now()
	for {
		s.sample(time.Now())
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if late := now.Sub(last) / s.every; late > 1 {
				s.mu.Lock()
				s.missed += uint64(late - 1)
				s.mu.Unlock()
			}
			last = now
		}
	}
}

// sample takes one sample of every program on the books.
func (s *servedPrograms) sample(now time.Time) {
	holdings := s.server.Books().Holdings()
	type sum struct{ bytes, count int64 }
	totals := map[int]sum{}
	for _, h := range holdings {
		t := totals[int(h.PID)]
		totals[int(h.PID)] = sum{t.bytes + h.Bytes, t.count + h.Count}
	}
	ms := float64(now.Sub(s.start)) / float64(time.Millisecond)
	for pid, t := range totals {
		s.seen[pid]++
		s.monitor.Add(pid, ms, record.Cell{Column: record.ColLive, Value: t.bytes},
			record.Cell{Column: record.ColIdle, Value: 0}, record.Cell{Column: record.ColLiveCount, Value: t.count})
	}
	for pid := range s.seen {
		if _, here := totals[pid]; !here {
			delete(s.seen, pid)
			s.monitor.Forget(pid)
		}
	}
	verdicts := map[int]*verdict.Verdict{}
	for _, a := range s.monitor.Look() {
		verdicts[a.PID] = a.Verdict
	}
	list := make([]metrics.Process, 0, len(holdings))
	for _, h := range holdings {
		pid := int(h.PID)
		count := h.Count
		v := verdicts[pid]
		if v == nil {
			v = s.quiet(pid)
		}
		list = append(list, metrics.Process{
			PID: pid, Device: strconv.Itoa(int(h.Device)), Count: &count, Verdict: v,
			Bytes: map[verdict.Account]int64{verdict.Live: h.Bytes},
			Dead:  h.Owner > 0 && ttmetal.System{}.Gone(h.Owner),
		})
	}
	s.mu.Lock()
	s.list = list
	s.samples++
	s.mu.Unlock()
}

// settled is how many samples the monitor wants before its first look.
const settled = 120

// quiet is the verdict on a program that the monitor does not accuse: its
// probability is not known, the monitor only bounds false alarms.
func (s *servedPrograms) quiet(pid int) *verdict.Verdict {
	if s.seen[pid] < settled {
		return &verdict.Verdict{Schema: 1, Verdict: verdict.Undecided}
	}
	return &verdict.Verdict{Schema: 1, Verdict: verdict.None}
}

// Processes implements metrics.Source.
func (s *servedPrograms) Processes() []metrics.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Sampling implements metrics.Source.
func (s *servedPrograms) Sampling() metrics.Sampling {
	s.mu.Lock()
	defer s.mu.Unlock()
	return metrics.Sampling{Samples: s.samples, Missed: s.missed, LostLines: s.server.Counts().Lost}
}
