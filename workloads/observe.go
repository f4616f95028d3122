package workloads

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// observer turns the pool's events into the lines of the investigations.
type observer struct{ p *program }

// Observe prints one event.
func (o observer) Observe(e pool.Event) {
	p := o.p
	switch e.Kind {
	case pool.EventGet:
		o.got(e)
	case pool.EventRelease, pool.EventSettle:
		if e.Kind == pool.EventRelease && e.Outcome == pool.Pending {
			return // its outcome comes when the device is done with it
		}
		r := console.Release{
			BeforeBytes: e.Before.AllocatedBytes, AfterBytes: e.After.AllocatedBytes, Length: e.Class.Bytes,
			References: int64(e.Refs), Pooled: e.Pooled, SizeClass: sizeClass(e.Class),
		}
		if e.Outcome != pool.Returned {
			r.Refused = e.Outcome.String()
		}
		p.printer.Deallocation(r)
	case pool.EventPurge:
		if e.Receipt.Action == pool.ActionPurge {
			p.printer.Purged(int64(e.Receipt.Buffers), int64(e.Receipt.Bytes))
		}
	case pool.EventHazard:
		if p.hazards.Add(1) == 1 { // the first says it; the count comes at the end
			fmt.Fprintf(p.Stderr,
				"%s: hazard: reuse before completion: %s handed out while %d command buffers still read it "+
					"as %s\n",
				p.workload.Name, e.Hazard.Label, e.Hazard.Uses, e.Hazard.PreviousLabel)
			p.client.Mark(record.KindEvent, "hazard: reuse before completion", "")
		}
	}
}

func (o observer) got(e pool.Event) {
	modes, event := o.p.printer.Modes(), "reuse_buffer"
	if !e.Hit {
		o.p.printer.Allocation(e.Before.AllocatedBytes, e.After.AllocatedBytes, sizeClass(e.Class),
			e.RequestedBytes)
		event = "alloc_buffer"
	}
	if modes.MemLog {
		m := o.p.memory()
		o.p.printer.Buffer(event, e.Class.Bytes, m.PoolCount, m.PoolBytes)
	}
}

// sizeClass is a class in the unit of its policy: elements where it counts
// them, as TensorLogic's lines did, else bytes.
func sizeClass(c pool.Class) uint64 {
	if c.Elements > 0 {
		return c.Elements
	}
	return c.Bytes
}

// watcher turns scopes and tensors into the lines of the memory log.
type watcher struct {
	p  *program
	at map[uint64]string // where the tensor of that id was made or shared
}

func newWatcher(p *program) watcher { return watcher{p: p, at: map[uint64]string{}} }

// tensorPackage is passed over in the search for the line that made a tensor.
const tensorPackage = "/workloads/tensor."

// caller is file:line of the innermost call that is neither of this file nor
// of package tensor.
func caller() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !strings.Contains(frame.Function, tensorPackage) {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// Entered prints the begin of a scope.
func (w watcher) Entered(depth int) { w.p.printer.EnterScope(depth) }

// Ending prints what a scope is about to give up.
func (w watcher) Ending(tensors int) { w.p.printer.ExitScope(tensors, 0) }

// Ended prints what is left after a scope.
func (w watcher) Ended() {
	s := w.p.rt.Stats()
	w.p.printer.ExitedScope(s.Refs, s.IdleCount)
}

// Made prints a new tensor.
func (w watcher) Made(t *tensor.Tensor) {
	w.at[t.ID()] = caller()
	w.p.printer.Tensor("register_tensor", t.ID(), 1)
}

// Shared prints another reference.
func (w watcher) Shared(t *tensor.Tensor, references int) {
	w.at[t.ID()] = caller()
	w.p.printer.Tensor("tensor_acquire", t.ID(), int64(references))
}

// Released prints the end of a reference, and of the tensor with the last.
func (w watcher) Released(t *tensor.Tensor, outcome pool.Outcome, references int) {
	at := w.at[t.ID()]
	delete(w.at, t.ID())
	if outcome == pool.Shared {
		w.p.printer.Tensor("tensor_release", t.ID(), int64(references))
		return
	}
	w.p.printer.Tensor("unregister", t.ID(), 0)
	w.p.printer.FreeTensor(console.Freed{
		Outcome: freedAs(outcome), Bytes: int64(t.Len() * t.ElementSize()), DType: dtype(t),
		Elements: int64(t.Len()),
		Shape:    t.Shape(), Device: w.p.deviceName(), Context: t.Name(), Location: at,
		Pooled: outcome == pool.Returned,
	})
}

// freedAs is an outcome in the words of the memory log. A buffer that the
// device still uses has no outcome yet, for which the log had no word.
func freedAs(o pool.Outcome) string {
	switch o {
	case pool.Returned:
		return "pooled"
	case pool.Pending:
		return "pending"
	}
	return "freed"
}

func dtype(t *tensor.Tensor) string {
	if t.ElementSize() == 2 {
		return "f16"
	}
	return "f32"
}

func (p *program) deviceName() string {
	if p.device == nil {
		return "host"
	}
	return p.device.Info().Driver
}

// memory is the program's memory as the statement trace shows it: the pool's
// bytes are the lengths of its buffers, not their pages.
func (p *program) memory() console.Memory {
	s, held := p.rt.Stats(), p.poolBytes()
	return console.Memory{
		RSSBytes: ownRSS(), PoolBytes: held.live + held.idle, PoolCount: s.LiveCount + s.IdleCount,
		Idle: s.IdleCount, References: s.Refs, ScopeDepth: s.ScopeDepth,
	}
}

// ownRSS is the process's resident size, -1 where it cannot be read so.
func ownRSS() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return -1
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return -1
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return -1
	}
	return pages * int64(os.Getpagesize())
}

func (p *program) poolStats() console.PoolStats {
	pl := p.rt.Pool()
	if pl == nil {
		return console.PoolStats{}
	}
	s := pl.Stats()
	return console.PoolStats{
		Buffers: int64(s.Idle.Count), Bytes: int64(s.Idle.Bytes), Reuses: int64(s.Hits),
		Allocations: int64(s.Misses + s.Unpooled),
	}
}

// handle offers the actions a device program can do; collect and trim are the
// client's own.
func (p *program) handle() {
	p.client.Handle(agent.ActionHolders, func() agent.Done {
		var list []record.Holder
		for _, h := range p.rt.Holders() {
			list = append(list, record.Holder{Path: h.Path, Bytes: h.Bytes, Count: h.Count})
		}
		return detail(record.KindHolders, list)
	})
	pl := p.rt.Pool()
	if pl == nil {
		return
	}
	p.client.Handle(agent.ActionPurge, func() agent.Done {
		classes := classesDetail(pl.Classes()) // as they are before they are emptied
		r := pl.Purge()
		claimed, count := int64(r.PageBytes), int64(r.Buffers)
		return agent.Done{ClaimedBytes: &claimed, Count: &count, Detail: classes}
	})
	p.client.Handle(agent.ActionSites, func() agent.Done {
		var list []record.Site
		for _, s := range pl.Survivors() {
			list = append(list, record.Site{Site: s.Site + " (" + s.Label + ")", Bytes: int64(s.PageBytes),
				Count: int64(s.Count)})
		}
		return detail(record.KindSites, list)
	})
}

// classesDetail lists a pool's size classes in the form that a report reads.
func classesDetail(list []pool.ClassStats) json.RawMessage {
	type class struct {
		Class   string `json:"class"`
		Bytes   uint64 `json:"bytes"`
		Live    uint64 `json:"live"`
		Idle    uint64 `json:"idle"`
		MaxIdle int    `json:"max_idle"` // −1 is no limit
		Hits    uint64 `json:"hits"`
		Misses  uint64 `json:"misses"`
	}
	out := make([]class, len(list))
	for i, c := range list {
		out[i] = class{c.Class.String(), c.Class.Bytes, c.Live, c.Idle, c.MaxIdle, c.Hits, c.Misses}
	}
	return detail("classes", out).Detail
}

// detail is an answer with a list; an answer that cannot be written says so.
func detail(key string, list any) agent.Done {
	text, err := json.Marshal(map[string]any{key: list})
	if err != nil {
		return agent.Done{Error: err.Error()}
	}
	return agent.Done{Detail: text}
}
