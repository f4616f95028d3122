package tracer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// actionBound is how long one action may take.
	actionBound = 30 * time.Second
	// heardFirst and heardEvery are when a program at its end is told that we are
	// still at it. The first is late enough that one for which nothing is to be
	// done gets its release alone.
	heardFirst = 100 * time.Millisecond
	heardEvery = 500 * time.Millisecond
	// listBound is how long listing the survivors may take: the program waits.
	listBound = 10 * time.Second
	// goneBound is how long after a failed write the end of a connection may be noticed.
	goneBound = 100 * time.Millisecond
	// settlePoll, settleBytes and settleCalm: the footprint rests when it moved
	// by less than settleBytes for settleCalm polls in a row.
	settlePoll  = 20 * time.Millisecond
	settleBytes = 64 << 10
	settleCalm  = 3
	// settleBound is how long to wait for rest at most.
	settleBound = time.Second
	// settleGPU is how long a driver may take to tell what a process gave back:
	// NVML was seen 110 ms late (H200, driver 580).
	settleGPU = 400 * time.Millisecond
)

// conclude makes the experiments on a program that holds at its end, asks for
// its survivors, and releases it.
func (r *recording) conclude(c *connected, f *followed) {
	over := make(chan struct{})
	defer close(over)
	go sayHeard(c, over)
	if r.cfg.Purge {
		r.experiments(c, f)
	}
	if r.cfg.Exiting != nil {
		r.cfg.Exiting(f.pid)
	}
	for _, action := range [...]string{agent.ActionSites, agent.ActionHolders} {
		if !r.offers(c, action) {
			continue
		}
		if done, ok := r.ask(c, action, listBound); ok {
			r.survivors(f, action, done)
		}
	}
	if _, err := c.conn.Do(agent.ActionContinue); err != nil && !isOver(c.gone) {
		r.warn(err.Error())
	}
}

// sayHeard tells a program at its end, until over, that its tracer lives. An error
// needs no word: the request that follows has it, too.
func sayHeard(c *connected, over <-chan struct{}) {
	timer := time.NewTimer(heardFirst)
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-c.gone:
			return
		case <-timer.C:
			if c.conn.Heard() != nil {
				return
			}
			timer.Reset(heardEvery)
		}
	}
}

func (r *recording) offers(c *connected, action string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.offersAction(action)
}

func isOver(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// experiments measures what each action gives back.
func (r *recording) experiments(c *connected, f *followed) {
	if r.offers(c, agent.ActionSync) {
		r.ask(c, agent.ActionSync, actionBound)
	}
	before, _ := r.settle(c, f)
	for _, action := range [...]string{agent.ActionCollect, agent.ActionPurge, agent.ActionTrim} {
		if !r.offers(c, action) {
			continue
		}
		done, ok := r.ask(c, action, actionBound)
		if !ok {
			return
		}
		after, _ := r.settle(c, f)
		r.receipt(f, action, done, before, after)
		before = after
	}
}

// ask has the agent do an action and waits for its answer. It reports false
// when none came.
func (r *recording) ask(c *connected, action string, bound time.Duration) (agent.Done, bool) {
	c.turn.Lock() // the answers of one are not the other's to skip
	defer c.turn.Unlock()
	id, err := c.conn.Do(action)
	if err != nil {
		select {
		case <-c.gone: // its program has just ended
		case <-time.After(goneBound):
			r.warn(err.Error())
		}
		return agent.Done{}, false
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		select {
		case done := <-c.dones:
			if done.ID != id {
				continue // an answer that came too late
			}
			if done.Error != "" && !lists(action) {
				r.warn(fmt.Sprintf("the program could not %s: %s", action, clip(done.Error)))
			}
			return done, true
		case <-c.gone:
			return agent.Done{}, false
		case <-timer.C:
			r.warn(fmt.Sprintf("the program did not answer %s within %v", action, bound))
			return agent.Done{}, false
		}
	}
}

// lists reports an action that only tells something: an agent that has nothing
// to tell says why, and that is no fault of the run.
func lists(action string) bool {
	return action == agent.ActionSites || action == agent.ActionHolders || action == agent.ActionComposition
}

// clip bounds a program's text in a warning.
func clip(text string) string { return clipTo(text, 200) }

// state is what an experiment compares.
type state struct{ footprint, gpu int64 }

// least is what was held at least, of two states; what is unknown in one stays so.
func (s state) least(other state) state {
	return state{footprint: min(s.footprint, other.footprint), gpu: min(s.gpu, other.gpu)}
}

// settle waits until the footprint rests, and at least until the timer and the
// GPU sources have looked again, and returns what then is held, and the least that
// was held meanwhile.
func (r *recording) settle(c *connected, f *followed) (last, least state) {
	start := time.Now()
	atLeast := 2 * r.cfg.Interval
	last, calm := r.look(f), 0
	least = last
	if last.gpu != probe.Unknown {
		atLeast = max(atLeast, settleGPU)
	}
	for time.Since(start) < max(settleBound, atLeast) {
		if calm >= settleCalm && time.Since(start) >= atLeast {
			break
		}
		select {
		case <-c.gone:
			return last, least
		case <-time.After(settlePoll):
		}
		now := r.look(f)
		if d := now.footprint - last.footprint; -settleBytes < d && d < settleBytes {
			calm++
		} else {
			calm = 0
		}
		last, least = now, least.least(now)
	}
	return last, least
}

// look reads what a process holds now.
func (r *recording) look(f *followed) state {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread(f.ps.Look(true))
	s := state{footprint: f.ps.Memory().Footprint, gpu: f.gpu}
	if s.footprint == probe.Unknown {
		s.footprint = f.ps.Memory().RSS
	}
	return s
}

// receipt writes the outcome of an action and returns it.
func (r *recording) receipt(f *followed, action string, done agent.Done, before,
	after state) *record.Receipt {
	account := accountOf(action)
	receipt := &record.Receipt{Action: action, ClaimedBytes: done.ClaimedBytes, Count: done.Count,
		Account: account, CollectorOff: done.CollectorOff}
	receipt.ReturnedBytes = difference(before.footprint, after.footprint)
	receipt.GPUBytes = difference(before.gpu, after.gpu)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.eventLocked(record.Event{
		TMs: r.millis(r.clock.Now()), PID: f.pid, Kind: record.KindReceipt, Name: action,
		Text: clip(done.Error), Receipt: receipt, Detail: clipDetail(done.Detail, maxReceipt),
	})
	return receipt
}

// accountOf is the account that an action gives memory of back.
func accountOf(action string) record.Account {
	switch action {
	case agent.ActionCollect:
		return record.AccountLive
	case agent.ActionPurge:
		return record.AccountIdle
	case agent.ActionTrim:
		return record.AccountHost
	}
	return ""
}

// difference is before − after, or nil when either is not known.
func difference(before, after int64) *int64 {
	if before == probe.Unknown || after == probe.Unknown {
		return nil
	}
	d := before - after
	return &d
}

// survivors writes the answer to sites or holders.
func (r *recording) survivors(f *followed, action string, done agent.Done) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listLocked(f, action, done.Detail, r.clock.Now())
}

// listLocked writes the survivors that an agent told at a time, asked for or of
// its own accord; the action's name is the event's kind. The lock is held.
func (r *recording) listLocked(f *followed, kind string, told json.RawMessage, at int64) {
	if !r.lists.take(r.clock.Now(), eventFrame+len(told)) {
		return
	}
	var detail struct {
		Sites   []record.Site   `json:"sites"`
		Holders []record.Holder `json:"holders"`
		Host    []record.Site   `json:"host_sites"`
		Blocks  []record.Site   `json:"block_sites"`
		record.SiteWindow
	}
	if len(told) > 0 {
		if err := json.Unmarshal(told, &detail); err != nil {
			r.warnLocked(fmt.Sprintf("the program's %s cannot be read: %v", kind, err))
			return
		}
	}
	e := record.Event{TMs: r.millis(at), PID: f.pid, Kind: kind}
	switch kind {
	case record.KindHolders:
		e.Holders = detail.Holders
	case record.KindHostSites:
		e.Sites = detail.Host
		e.Detail, _ = json.Marshal(detail.SiteWindow) // of one number that was read
	case record.KindBlockSites:
		e.Sites = detail.Blocks
		e.Detail, _ = json.Marshal(detail.SiteWindow)
	default:
		e.Sites = detail.Sites
	}
	r.eventLocked(e)
}
