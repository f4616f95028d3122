package workloads

import (
	"encoding/json"

	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// labelledRoles are what a workload takes of the pool itself, by label; a parameter of a
// command has the command's name there and is of no tensor.
func labelledRoles() map[string]tensor.Role {
	return map[string]tensor.Role{
		labelWeights: tensor.Parameters, labelCache: tensor.KVCache, labelInput: tensor.Inputs,
	}
}

// composer tells the tracer what a program's live memory is made of.
type composer struct {
	p        *program
	most     int64 // live bytes whose composition was told last
	refusals int64 // allocations that the device refused
}

// detail is what live memory is made of, in the form of a mark.
func (c *composer) detail(moment string) json.RawMessage {
	p := c.p
	m := tensor.Composition(p.rt, labelledRoles())
	made := record.Composition{Moment: moment, Categories: categoriesOf(m)}
	if p.device != nil {
		made.Rounded = &m.Rounded
		made.Pools = []record.Pool{{Kind: "buffers", Segments: m.IdleCount, Live: m.Bytes, Idle: m.IdleBytes,
			IdleCount: m.IdleCount, Largest: m.Largest, Whole: m.IdleBytes}}
	}
	text, err := json.Marshal(made)
	if err != nil {
		return nil
	}
	return text
}

// refused tells that the device has no memory for what was asked, before the error
// is seen. The pool has given its idle buffers back by then.
func (c *composer) refused(refused *pool.OutOfMemoryError) {
	p := c.p
	c.refusals++
	m := tensor.Composition(p.rt, labelledRoles())
	limit := int64(refused.LimitBytes)
	free := max(limit-m.Bytes-m.IdleBytes, 0)
	reserved := m.Bytes + m.IdleBytes
	text, err := json.Marshal(record.OOM{Framework: "metal", Count: c.refusals,
		Asked: int64(refused.RequestedBytes), Limit: &limit, Capacity: &limit, Free: &free,
		Allocated: &m.Bytes, Reserved: &reserved,
		Categories: categoriesOf(m), Site: caller()})
	if err == nil {
		p.client.MarkDetail(record.KindOOM, "metal", "", text)
	}
}

func categoriesOf(m tensor.Made) map[string]int64 {
	by := map[string]int64{}
	for _, part := range m.Parts {
		by[string(part.Role)] = part.Bytes
	}
	return by
}

// answer answers whoever asks what live memory is made of now.
func (c *composer) answer() agent.Done {
	c.p.client.MarkDetail(record.KindComposition, c.p.workload.Name, "", c.detail(""))
	return agent.Done{}
}

// mostMore is the part by which live memory must exceed what was told last.
const mostMore = .1

// look tells what live memory is made of when there is clearly more than ever.
func (c *composer) look() {
	p := c.p
	if p.client == nil {
		return
	}
	if live := p.rt.Stats().LiveBytes; float64(live) > (1+mostMore)*float64(c.most) {
		c.most = live
		p.client.MarkDetail(record.KindComposition, p.workload.Name, "", c.detail(record.MomentMost))
	}
}
