package workloads

import (
	"encoding/json"
	"fmt"
	"os"
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
			References: int64(e.Refs), Pooled: e.Pooled, SizeClass: e.Class.Bytes,
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
			fmt.Fprintf(p.Stderr, "%s: hazard: reuse before completion: %s handed out while %d command buffers still read it as %s\n",
				p.workload.Name, e.Hazard.Label, e.Hazard.Uses, e.Hazard.PreviousLabel)
			p.client.Mark(record.KindEvent, "hazard: reuse before completion", "")
		}
	}
}

func (o observer) got(e pool.Event) {
	s := o.p.rt.Stats()
	if e.Hit {
		o.p.printer.Buffer("reuse_buffer", e.Class.Bytes, s.LiveCount+s.IdleCount, s.LiveBytes+s.IdleBytes)
		return
	}
	o.p.printer.Allocation(e.Before.AllocatedBytes, e.After.AllocatedBytes, e.Class.Bytes, e.RequestedBytes)
	o.p.printer.Buffer("alloc_buffer", e.Class.Bytes, s.LiveCount+s.IdleCount, s.LiveBytes+s.IdleBytes)
}

// watcher turns scopes and tensors into the lines of the memory log.
type watcher struct{ p *program }

// Scoped prints the begin or the end of a scope.
func (w watcher) Scoped(entered bool, depth, tensors int) {
	if entered {
		w.p.printer.EnterScope(depth)
		return
	}
	w.p.printer.ExitScope(tensors, 0)
}

// Tensor prints an event of one tensor.
func (w watcher) Tensor(event string, t *tensor.Tensor, references int) {
	w.p.printer.Tensor(event, t.ID(), int64(references))
}

// memory is the program's memory as the statement trace shows it.
func (p *program) memory() console.Memory {
	s := p.rt.Stats()
	return console.Memory{
		RSSBytes: ownRSS(), PoolBytes: s.LiveBytes + s.IdleBytes, PoolCount: s.LiveCount + s.IdleCount,
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
		Buffers: int64(s.Idle.Count), Bytes: int64(s.Idle.Bytes), Reuses: int64(s.Hits), Allocations: int64(s.Misses + s.Unpooled),
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
		return detail("holders", list)
	})
	pl := p.rt.Pool()
	if pl == nil {
		return
	}
	p.client.Handle(agent.ActionPurge, func() agent.Done {
		r := pl.Purge()
		claimed, count := int64(r.PageBytes), int64(r.Buffers)
		return agent.Done{ClaimedBytes: &claimed, Count: &count}
	})
	p.client.Handle(agent.ActionSites, func() agent.Done {
		var list []record.Site
		for _, s := range pl.Survivors() {
			list = append(list, record.Site{Site: s.Site + " (" + s.Label + ")", Bytes: int64(s.PageBytes), Count: int64(s.Count)})
		}
		return detail("sites", list)
	})
}

// detail is an answer with a list; an answer that cannot be written says so.
func detail(key string, list any) agent.Done {
	text, err := json.Marshal(map[string]any{key: list})
	if err != nil {
		return agent.Done{Error: err.Error()}
	}
	return agent.Done{Detail: text}
}
