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
		o.gaveUp(e)
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
			p.client.Mark(record.KindEvent, record.EventHazard, "")
		}
	}
}

func (o observer) got(e pool.Event) {
	p, event := o.p, "reuse_buffer"
	if !e.Hit {
		p.printer.Allocation(e.Before.AllocatedBytes, e.After.AllocatedBytes, sizeClass(e), e.Class.Bytes)
		event = "alloc_buffer"
		if !e.Pooled || e.Anew {
			event = "alloc_buffer_data" // of its own length, never reused
		}
	}
	p.printer.Requested(elementsOf(e), sizeClass(e), e.Class.Bytes, e.Hit)
	p.fresh.Store(!e.Hit)
	if p.printer.Modes().MemLog {
		m := p.memory()
		p.printer.Buffer(event, e.Class.Bytes, m.PoolCount, m.PoolBytes)
	}
}

// gaveUp prints what became of a buffer.
func (o observer) gaveUp(e pool.Event) {
	r := console.Release{
		BeforeBytes: e.Before.AllocatedBytes, AfterBytes: e.After.AllocatedBytes, Length: elementsOf(e),
		References: int64(e.Refs), Pooled: e.Pooled, SizeClass: sizeClass(e),
	}
	if e.Outcome != pool.Returned {
		r.Refused = e.Outcome.String()
	}
	o.p.printer.Deallocation(r)
	if !e.Pooled || !o.p.printer.Modes().BufferDebug {
		return
	}
	back := console.GiveBack{Length: r.Length, SizeClass: r.SizeClass, References: r.References,
		Outcome: console.PoolFull}
	switch e.Outcome {
	case pool.Returned:
		back.Outcome = console.Kept
	case pool.Busy:
		back.Outcome = console.PoolLocked
	case pool.Shared:
		back.Outcome = console.StillReferenced
	}
	for _, c := range o.p.rt.Pool().Classes() {
		if c.Class == e.Class {
			back.PoolSize, back.Limit = int64(c.Idle), int64(c.MaxIdle)
		}
	}
	o.p.printer.GivenBack(back)
}

// elementsOf is what was asked for in elements, as TensorLogic counts; in bytes
// where the size of one is not told.
func elementsOf(e pool.Event) uint64 { return e.RequestedBytes / max(e.ElementSize, 1) }

// sizeClass is a class in the same unit.
func sizeClass(e pool.Event) uint64 { return e.Class.Bytes / max(e.ElementSize, 1) }

// watcher turns scopes and tensors into the lines of the memory log.
type watcher struct {
	p  *program
	at map[uint64]made // by its memory
}

// made is where and how a tensor's memory was got.
type made struct {
	at     string // file:line
	pooled bool   // an idle buffer served it
}

func newWatcher(p *program) watcher { return watcher{p: p, at: map[uint64]made{}} }

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
func (w watcher) Ending(tensors int) { w.p.printer.ExitScope(w.depth(), tensors, 0) }

// Ended prints what is left after a scope.
func (w watcher) Ended() {
	s := w.p.rt.Stats()
	w.p.printer.ExitedScope(int(s.ScopeDepth), s.Refs, s.IdleCount)
}

func (w watcher) depth() int { return int(w.p.rt.Stats().ScopeDepth) }

// Made prints a new tensor.
func (w watcher) Made(t *tensor.Tensor) {
	m := made{at: caller(), pooled: w.p.device != nil && !w.p.fresh.Load()}
	w.at[t.Memory()] = m
	if !m.pooled {
		w.p.printer.AllocNonPool(w.freed(t, m))
	}
	w.p.printer.Registered("register_tensor", t.Memory(), 1, w.depth())
}

// Shared prints another reference: one that a scope owns was registered there.
func (w watcher) Shared(t *tensor.Tensor, references int) {
	if t.Scoped() {
		w.p.printer.Registered("register_tensor_acquire", t.Memory(), int64(references), w.depth())
		return
	}
	w.p.printer.Counted("tensor_acquire", t.Memory(), int64(references))
}

// Left prints that a reference is not its scope's any more.
func (w watcher) Left(t *tensor.Tensor, references int) {
	w.p.printer.Registered("unregister", t.Memory(), int64(references), w.depth())
}

// Released prints the end of a reference, and of the tensor with the last.
func (w watcher) Released(t *tensor.Tensor, outcome pool.Outcome, references int) {
	if outcome == pool.Shared {
		w.p.printer.Counted("tensor_release", t.Memory(), int64(references))
		return
	}
	w.p.printer.Counted("tensor_release", t.Memory(), 0)
	f := w.freed(t, w.at[t.Memory()])
	f.Outcome = freedAs(outcome)
	delete(w.at, t.Memory())
	w.p.printer.FreeTensor(f)
}

// freed is a tensor in the words of the log.
func (w watcher) freed(t *tensor.Tensor, m made) console.Freed {
	return console.Freed{
		Bytes: int64(t.Len() * t.ElementSize()), DType: dtype(t), Elements: int64(t.Len()), Shape: t.Shape(),
		Device: w.p.deviceName(), Context: t.Name(), Location: m.at, Pooled: m.pooled,
	}
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
		return "F16"
	}
	return "F32"
}

// deviceName is the device in the words of the TL runtime, which has cpu, cuda and
// metal; the soft device is none of these.
func (p *program) deviceName() string {
	if p.device == nil {
		return "cpu"
	}
	if driver := p.device.Info().Driver; driver != "apple" {
		return driver
	}
	return "metal"
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
		Allocations: int64(s.Misses + s.Unpooled), Classes: int64(len(pl.Classes())),
		Evictions: int64(s.Evicted.Count),
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
	p.client.Handle(agent.ActionComposition, p.made.answer)
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
			list = append(list, siteOf(s))
		}
		return detail(record.KindSites, append(list, idleSites(pl)...))
	})
}

// idleSites are the places that had the idle buffers of a pool last. At the end, when a
// program is asked, the pool has often given them back already.
func idleSites(pl *pool.Pool) []record.Site {
	var list []record.Site
	idle, emptied := pl.Idle()
	if bytesOf(emptied) > bytesOf(idle) {
		idle = emptied
	}
	for _, s := range idle {
		site := siteOf(s)
		site.Site = record.IdleSite(site.Site)
		list = append(list, site)
	}
	return list
}

func bytesOf(list []pool.Survivor) (sum uint64) {
	for _, s := range list {
		sum += s.PageBytes
	}
	return sum
}

func siteOf(s pool.Survivor) record.Site {
	return record.Site{Site: s.Site + " (" + s.Label + ")", Bytes: int64(s.PageBytes), Count: int64(s.Count)}
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
