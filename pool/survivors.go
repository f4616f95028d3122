package pool

import (
	"cmp"
	"slices"
)

// Survivor is what one allocation site holds: buffers that are live now, or that lie
// idle since it gave them back.
type Survivor struct {
	// Site is "file:line func"; empty when sites are not recorded.
	Site     string
	File     string
	Line     int
	Function string
	// Label is what the site calls its buffers; sites with several labels
	// have one Survivor each.
	Label     string
	Count     uint64
	Refs      uint64
	Bytes     uint64 // lengths of the buffers
	PageBytes uint64
	// RequestedBytes is what the program asked for.
	RequestedBytes uint64
}

// Survivors lists the live buffers by site and label, the most bytes first.
func (p *Pool) Survivors() []Survivor { return bySite(p, isLive) }

// Idle lists the idle buffers by the site and the label that had them last, the most
// bytes first: those of now, and those that the pool gave back when it was purged or came
// to rest with most of them, within a quarter. These are known where sites are recorded.
func (p *Pool) Idle() (now, emptied []Survivor) {
	now = bySite(p, isIdle)
	p.mu.Lock()
	defer p.mu.Unlock()
	return now, slices.Clone(p.emptied)
}

// noteIdle keeps what is idle before it is given back, where that is clearly more than
// ever: some programs come to rest after each step. Only a pool that records sites pays
// for it.
func noteIdle(p *Pool) {
	if p.sites == nil {
		return
	}
	shards := p.shards.lockAll()
	bytes := sum(shards).Idle.PageBytes
	unlockAll(shards)
	p.mu.Lock()
	isMore := bytes > p.mostEmptied+p.mostEmptied/4
	p.mu.Unlock()
	if !isMore {
		return
	}
	idle := bySite(p, isIdle)
	p.mu.Lock()
	p.emptied, p.mostEmptied = idle, bytes
	p.mu.Unlock()
}

// bySite lists the buffers in one state.
func bySite(p *Pool, state where) []Survivor {
	type key struct {
		at    *site
		label string
	}
	found := make(map[key]*Survivor)
	shards := p.shards.lockAll()
	for i := range shards {
		all := &shards[i].all
		for l := all.next; l != all; l = l.next {
			s := l.s
			if s.state != state {
				continue
			}
			k := key{s.site, s.label}
			v := found[k]
			if v == nil {
				v = &Survivor{Label: s.label}
				found[k] = v
			}
			v.Count++
			v.Refs += uint64(s.refs)
			v.Bytes += s.bytes
			v.PageBytes += s.pages
			v.RequestedBytes += s.requested
		}
	}
	unlockAll(shards)
	list := make([]Survivor, 0, len(found))
	for k, v := range found {
		if k.at != nil {
			v.Site, v.File, v.Line, v.Function = k.at.String(), k.at.file, k.at.line, k.at.function
		}
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b Survivor) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Site, b.Site), cmp.Compare(a.Label, b.Label))
	})
	return list
}
