package live

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// FirstRows and FirstMs, in ms, come before the engine's first look: a program that
// sets itself up looks like one that leaks. OnlineRows come before it where the
// Monitor has the last word.
const (
	FirstRows  = 40
	FirstMs    = 2000
	OnlineRows = alarmRows
)

const (
	// alarmRows come before the Monitor's first look, and settledRows before its
	// second: its silence then says that nothing surely grows.
	alarmRows   = 120
	settledRows = 150
	// lookGrowth is how much longer a process must have been watched for another
	// look.
	lookGrowth = 1.25
	// chosenEvery is between two looks at the chosen process at least, lookEvery
	// between two rounds of looks, mostRest at most.
	chosenEvery = time.Second
	lookEvery   = 250 * time.Millisecond
	mostRest    = 10 * time.Second
)

// pendingRow is a row on its way to the Monitor, or the end of a round.
type pendingRow struct {
	pid   int
	tMs   float64
	cells []record.Cell
	round bool
}

// watched reports whether the Monitor hears of the rows.
func (s *Set) watched() bool {
	return s.o.Judges == Online || s.o.Judges == Alarms || s.o.Judges == Few && s.many
}

// Judge looks at the processes until ctx is done, and rests in between so that it
// takes no more than its share of a core.
func (s *Set) Judge(ctx context.Context) {
	for {
		began := time.Now()
		s.Look()
		rest := max(lookEvery, time.Duration(s.o.Share)*time.Since(began))
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(rest, mostRest)):
		}
	}
}

// Look gives the Monitor what came and has the engine judge what is due.
func (s *Set) Look() {
	s.watch()
	for _, p := range s.due() {
		s.judge(p, false)
	}
}

// Finish judges the processes by all their rows, once Judge has returned.
func (s *Set) Finish() {
	s.watch()
	s.o.Lock.Lock()
	var list []*Process
	for p := range s.All() {
		if p.Count > p.judgedAt && !p.Dead {
			list = append(list, p)
		}
	}
	s.o.Lock.Unlock()
	for _, p := range list {
		s.judge(p, true)
	}
}

// watch gives the Monitor what came and takes its alarms.
func (s *Set) watch() {
	s.o.Lock.Lock()
	if !s.watched() {
		s.o.Lock.Unlock()
		return
	}
	pending, gone, monitor := s.pending, s.gone, s.monitor
	s.pending, s.gone = nil, nil
	s.o.Lock.Unlock()
	for _, r := range pending {
		if r.round {
			monitor.Look()
			continue
		}
		monitor.Add(r.pid, r.tMs, r.cells...)
	}
	for _, pid := range gone {
		monitor.Forget(pid)
	}
	raised := map[int]*verdict.Verdict{}
	for _, a := range monitor.Look() {
		raised[a.PID] = a.Verdict
	}
	s.o.Lock.Lock()
	defer s.o.Lock.Unlock()
	chosen := s.chosen()
	for p := range s.All() {
		p.Alarm = raised[p.PID]
		if s.o.Judges == Few && p != chosen {
			p.alarmed()
		}
	}
}

// alarmed has the Monitor's alarm stand for the verdict.
func (p *Process) alarmed() {
	p.Judged.Watched = p.Count >= alarmRows
	switch v := p.Alarm; {
	case v == nil:
		p.Judged.Verdict, p.Judged.Same = nil, 0
	case v != p.Judged.Verdict:
		p.Judged.Take(v, p.LastMs, true)
	}
}

func (s *Set) chosen() *Process {
	if s.o.Chosen == nil {
		return nil
	}
	return s.o.Chosen()
}

// due are the processes that the engine is to look at: the chosen one first, then
// those that it looked at least.
func (s *Set) due() (list []*Process) {
	s.o.Lock.Lock()
	defer s.o.Lock.Unlock()
	if s.o.Judges == Alarms {
		return nil
	}
	chosen := s.chosen()
	if s.o.Judges != Few || !s.many {
		for p := range s.All() {
			if p != chosen && !p.Dead && p.Count > p.judgedAt && s.ripe(p) && p.LastMs >= p.nextMs {
				list = append(list, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *Process) int {
		return cmp.Compare(a.Judged.Looks, b.Judged.Looks)
	})
	if s.o.Most > 0 {
		list = list[:min(len(list), s.o.Most)]
	}
	if chosen != nil && chosen.Count > chosen.judgedAt && (s.ended || s.chosenDue(chosen)) {
		list = slices.Insert(list, 0, chosen)
	}
	return list
}

func (s *Set) chosenDue(p *Process) bool { return s.ripe(p) && s.o.Now().UnixNano() >= p.nextLook }

// ripe reports whether a process was seen for long enough for a first look.
func (s *Set) ripe(p *Process) bool {
	if s.o.Judges == Online {
		return p.Count >= OnlineRows
	}
	return p.Count >= FirstRows && p.LastMs-p.FirstMs >= FirstMs
}

// judge has the engine look at one process; final is the last look. Only the copying holds the lock.
func (s *Set) judge(p *Process, final bool) {
	s.o.Lock.Lock()
	run, at, n := s.Run(p), p.LastMs, p.Count
	s.o.Lock.Unlock()
	began := s.o.Now()
	v := verdict.Judge(run, s.o.Judging)
	if s.o.Amend != nil {
		s.o.Amend(run.Samples, v)
	}
	s.o.Lock.Lock()
	defer s.o.Lock.Unlock()
	now := s.o.Now()
	cost := now.Sub(began)
	p.judgedAt = n
	p.nextLook = now.Add(max(chosenEvery, time.Duration(s.o.Share)*cost)).UnixNano()
	p.nextMs = p.FirstMs + (at-p.FirstMs)*lookGrowth
	p.Judged.Take(v, at, final)
	p.Judged.Watched = false
	if s.o.Judged != nil {
		s.o.Judged(cost)
	}
}

// Run is what is kept of a process, as the engine wants it. The caller owns it.
func (s *Set) Run(p *Process) *record.Run {
	return &record.Run{Meta: s.meta, Samples: p.rows.Samples(), Events: s.log.of(p.PID)}
}

// Verdict is the last word on a process, nil when there is none yet. For Online that
// is the Monitor's alarm, or that it raises none, which has no probability; the
// growth of the accounts is the engine's. The caller must not change it.
func (s *Set) Verdict(p *Process) *verdict.Verdict {
	switch {
	case p.Dead:
		return nil
	case s.o.Judges == Each || s.o.Judges == Few:
		return p.Judged.Verdict
	case s.o.Judges == Alarms:
		return p.Alarm
	}
	v := verdict.Verdict{Schema: 1, Verdict: verdict.None}
	switch {
	case p.Alarm != nil:
		v = *p.Alarm
	case p.Count < settledRows:
		v.Verdict = verdict.Undecided
	}
	if judged := p.Judged.Verdict; judged != nil {
		v.Accounts = judged.Accounts
		if p.Alarm != nil {
			v.Forecast = judged.Forecast
		}
	}
	return &v
}
