package tracer

import (
	"context"
	"fmt"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

// track takes the first row of the program and starts to sample.
func (s *attempt) track(pid int) {
	s.result.PID = pid
	s.tree = probe.NewTree(pid)
	s.tree.Stray = s.isOurs
	s.guard(func() { s.firstRow(pid) })
	s.loop(s.sampleLoop)
	s.loop(func() {
		s.sampler.AskEach(s.done, s.beat.interval, s.pids,
			func(err error) { s.warn(fmt.Sprintf("GPU bytes are missing: %v", err)) })
	})
	if s.cfg.Progress != nil {
		s.loop(s.progressLoop)
	}
	for _, watch := range s.cfg.Watch {
		s.loop(func() { s.watchLoop(pid, watch) })
	}
}

// loop does a part of the work until the sampling ends.
func (s *attempt) loop(work func()) {
	s.loops.Go(func() { s.guard(work) })
}

func (s *attempt) firstRow(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.main = pid
	f := s.follow(pid)
	start := f.ps.Identity().Start
	s.row(f, s.clock.Now(), nil)
	// An agent that was quicker than us is a second process already. In a folder that is
	// resumed, rows of others may come before.
	s.multi = len(s.procs) > 1 || s.cfg.Resume
	if err := s.out.UpdateMeta(func(m *record.Meta) { m.PID, m.PIDStart = pid, start }); err != nil {
		s.warnLocked(fmt.Sprintf("run.json lags behind: %v", err))
	}
}

// catchUp is how long agents are heard before the first row after a stop.
const catchUp = 10 * time.Millisecond

// sampleLoop is the timer.
func (s *attempt) sampleLoop() {
	timer := time.NewTimer(s.cfg.Interval)
	defer timer.Stop()
	pace, scanned := sample.NewPace(s.cfg.Interval, time.Now()), time.Time{}
	for {
		select {
		case <-s.done:
			return
		case <-timer.C:
		case <-s.beat.hurried:
		}
		now := time.Now()
		if pace.Tick(now) {
			// We were stopped: what agents said meanwhile belongs before our row.
			time.Sleep(catchUp)
		}
		s.mu.Lock()
		s.missed = pace.Missed()
		s.mu.Unlock()
		if now.Sub(scanned) >= rescan {
			scanned = now
			s.scanTree()
			s.boundLogs()
		}
		s.poll()
		s.tick()
		if s.mainGone() {
			select {
			case <-s.gone:
			default:
				close(s.gone)
			}
		}
		pace.Change(s.nextInterval(time.Since(now)))
		timer.Reset(pace.Wait(time.Now()))
	}
}

// scanTree follows new descendants.
func (s *attempt) scanTree() {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	s.mu.Lock()
	left := s.left
	s.left = nil
	s.mu.Unlock()
	for _, id := range left {
		s.tree.Forget(id) // its pid may be another's soon
	}
	for _, pid := range s.pids() {
		s.tree.Add(pid) // agents that are no descendants
	}
	pids, err := s.tree.Scan()
	if err != nil {
		s.warn(err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range pids {
		s.follow(pid)
	}
	for _, f := range s.procs {
		s.introduceAgain(f)
	}
}

func (s *attempt) mainGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.procs[s.main].ps.Alive()
}

// progressLoop shows the latest row.
func (s *attempt) progressLoop() {
	for {
		select {
		case <-s.done:
			return
		case <-s.fresh:
		}
		s.cfg.Progress(s.progress())
	}
}

func (s *attempt) progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Progress{
		Elapsed: time.Duration(s.clock.Now() - s.start), Rows: s.out.Stats().Rows, PID: s.lead.pid,
		Phase: s.phase,
		Row:   record.Row{T: s.lead.row.T, Cells: append([]record.Cell(nil), s.lead.row.Cells...)},
	}
}

// watchLoop runs a function of Config.Watch until the sampling ends.
func (s *attempt) watchLoop(pid int, watch func(context.Context, int, func(record.Event))) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	watch(ctx, pid, func(e record.Event) {
		if at, ask := s.watched(e); ask {
			listener{r: s.recording}.tellOthers(e.PID, at)
		}
	})
}

// watched writes what a function of Config.Watch tells. It reports when that was, and
// whether the drivers are to be asked who else holds memory.
func (s *attempt) watched(e record.Event) (at int64, ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = s.clock.Now()
	if e.TMs > 0 {
		at = max(min(int64(e.TMs*float64(time.Millisecond)), at), s.start)
	}
	e.TMs = s.millis(at)
	s.eventLocked(e)
	return at, e.Name == record.EventRefused && listener{r: s.recording}.asksOthers()
}
