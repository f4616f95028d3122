package peak

import (
	"cmp"
	"slices"
)

// Step is one allocation or free of a recording, for Tune: Bytes is what was asked
// for, 0 for a free of the block with the same ID.
type Step struct {
	ID    int64
	Bytes int64
}

// Policy is how a pool serves requests and what it keeps.
type Policy struct {
	Name string
	// Setting is what a PyTorch program sets PYTORCH_CUDA_ALLOC_CONF to for it; empty
	// for the default, and for pools of other programs.
	Setting string
	// Make makes an empty pool of the policy.
	Make func() Pool
}

// Pool is a simulated pool. It hands out numbers of blocks; nothing is allocated.
type Pool interface {
	// Get serves a request and reports whether idle memory did. The handle is
	// what Put takes.
	Get(bytes int64) (handle int64, hit bool)
	Put(handle int64)
	// Held are the bytes that the pool has of the driver, live and idle.
	Held() int64
	// Idle are the bytes and the buffers or blocks that are idle.
	Idle() (bytes, count int64)
}

// Outcome is what a policy would have done with a recording.
type Outcome struct {
	Policy  string `json:"policy"`
	Setting string `json:"setting,omitempty"`
	// PeakBytes is the most that the pool had of the driver; KeptBytes and KeptCount
	// is what was idle at the end.
	PeakBytes int64 `json:"peak_bytes"`
	KeptBytes int64 `json:"kept_bytes"`
	KeptCount int64 `json:"kept_count"`
	Hits      int64 `json:"hits"`
	Misses    int64 `json:"misses"` // requests that went to the driver
	// SavedBytes is by how much PeakBytes is below that of the first policy.
	SavedBytes int64 `json:"saved_bytes"`
}

// Tune replays a recording through policies, the first of which is the one to compare
// with. The order of the outcomes is that of the policies.
func Tune(steps []Step, policies []Policy) []Outcome {
	var out []Outcome
	for _, p := range policies {
		out = append(out, play(steps, p))
		out[len(out)-1].SavedBytes = out[0].PeakBytes - out[len(out)-1].PeakBytes
	}
	return out
}

func play(steps []Step, p Policy) Outcome {
	pool, o, live := p.Make(), Outcome{Policy: p.Name, Setting: p.Setting}, map[int64]int64{}
	for _, s := range steps {
		if s.Bytes <= 0 {
			if handle, ok := live[s.ID]; ok {
				pool.Put(handle)
				delete(live, s.ID)
			}
			continue
		}
		handle, hit := pool.Get(s.Bytes)
		live[s.ID] = handle
		if hit {
			o.Hits++
		} else {
			o.Misses++
		}
		o.PeakBytes = max(o.PeakBytes, pool.Held())
	}
	o.KeptBytes, o.KeptCount = pool.Idle()
	return o
}

// Recommend is the outcome with the lowest peak of those that a setting brings about;
// among those within a hundredth of it the one with the fewest misses, and the
// earliest of equal ones. It reports false of none, and where the first policy is as
// good as any.
func Recommend(all []Outcome) (Outcome, bool) {
	if len(all) == 0 {
		return Outcome{}, false
	}
	outcomes := slices.Clone(all[:1])
	for _, o := range all[1:] {
		if o.Setting != "" {
			outcomes = append(outcomes, o)
		}
	}
	least := slices.MinFunc(outcomes, func(a, b Outcome) int { return cmp.Compare(a.PeakBytes, b.PeakBytes) })
	best := least
	for _, o := range outcomes {
		if o.PeakBytes <= least.PeakBytes+least.PeakBytes/100 && o.Misses < best.Misses {
			best = o
		}
	}
	first := outcomes[0]
	if first.PeakBytes <= best.PeakBytes+best.PeakBytes/100 {
		return first, false
	}
	return best, true
}

// Recording is the window's allocations, after those that lived before it, for Tune; nil of a
// peak that was read back from a file.
func (p *Peak) Recording() []Step {
	if p == nil || p.replay == nil {
		return nil
	}
	return p.replay.steps()
}

func (r *replay) steps() []Step {
	n := len(r.Events)
	births, deaths := make([]int, n), make([]int, n)
	for i := range births {
		births[i], deaths[i] = -1, -1
	}
	var out []Step
	before := []int{}
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.birth < 0 {
			before = append(before, i)
		} else {
			births[b.birth] = i
		}
		if b.death < n {
			deaths[b.death] = i
		}
	}
	slices.SortFunc(before, func(i, j int) int { return cmp.Compare(r.blocks[i].at, r.blocks[j].at) })
	for _, i := range before {
		out = append(out, Step{int64(i), r.blocks[i].size})
	}
	for i, e := range r.Events {
		if k := births[i]; k >= 0 {
			out = append(out, Step{int64(k), max(e[1], 1)})
		}
		if k := deaths[i]; k >= 0 {
			out = append(out, Step{ID: int64(k)})
		}
	}
	return out
}
