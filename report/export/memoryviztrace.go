package export

import "slices"

// vizWriter writes the parts of a snapshot.
type vizWriter struct {
	*pickler
	stacks map[string]uint32
}

// frames writes a stack of one frame, once for each site.
func (p *vizWriter) frames(site string) {
	p.text("frames")
	if i, ok := p.stacks[site]; ok {
		p.recall(i)
		return
	}
	at := placeOf(site)
	p.list(1, func(int) {
		p.dict(func() {
			p.text("name")
			p.text(at.Name)
			p.text("filename")
			p.text(at.File)
			p.pair("line", at.Line)
		})
	})
	p.stacks[site] = p.memoize()
}

// segment writes the state at the end: blocks by site, then what is idle.
func (p *vizWriter) segment(d *vizDevice) {
	end := d.last()
	pieces := d.pieces(d.course(nil))
	p.dict(func() {
		p.pair("device", int64(d.index))
		p.pair("address", d.base())
		p.pair("total_size", end.reserved)
		p.pair("allocated_size", end.live)
		p.pair("active_size", end.live)
		p.pair("requested_size", end.live)
		p.pair("stream", 0)
		p.text("segment_type")
		p.text("large")
		p.text("segment_pool_id")
		p.integer(0)
		p.integer(0)
		p.op(opTuple2)
		p.text("is_expandable")
		p.boolean(true)
		p.frames(netChange)
		p.text("blocks")
		idle := end.reserved - end.live
		p.list(len(pieces)+int(min(idle, 1)), func(i int) {
			if i == len(pieces) {
				p.block(d.base()+end.live, idle, "inactive", "")
				return
			}
			p.block(pieces[i].address, pieces[i].size, "active_allocated", pieces[i].site)
		})
	})
}

func (p *vizWriter) block(address, size int64, state, site string) {
	p.dict(func() {
		p.pair("address", address)
		p.pair("size", size)
		p.pair("requested_size", size)
		p.text("state")
		p.text(state)
		if site != "" {
			p.frames(site)
		}
	})
}

// piece is a block at the end of the trace.
type piece struct {
	address, size int64
	site          string
}

// pieces are the blocks that are live at the end, with the site each falls to.
func (d *vizDevice) pieces(live []vizBlock) []piece {
	out := make([]piece, 0, len(live))
	cuts := d.cuts()
	for _, b := range live {
		i, found := slices.BinarySearch(cuts, b.address)
		if found {
			i++ // a cut is where the next site begins
		}
		site := unnamedSite
		if i < len(d.sites) {
			site = d.sites[i].Site
		}
		out = append(out, piece{b.address, b.size, site})
	}
	return out
}

type vizBlock struct{ address, size int64 }

// vizEvent is one event of a trace.
type vizEvent struct {
	action string
	vizBlock
	micros int64
}

// course tells to emit, if any, how the device came to its last state, and
// returns the blocks that are then live. Live memory is a stack from the
// segment's start on; blocks end at the cuts between sites.
func (d *vizDevice) course(emit func(vizEvent)) []vizBlock {
	var live []vizBlock
	var before vizState
	cuts := d.cuts()
	tell := func(action string, b vizBlock, micros int64) {
		if emit != nil && b.size > 0 {
			emit(vizEvent{action, b, micros})
		}
	}
	for _, s := range d.states {
		if s.reserved > before.reserved {
			tell("segment_map", vizBlock{d.base() + before.reserved, s.reserved - before.reserved}, s.micros)
		}
		top := d.base() + before.live
		for floor := d.base() + s.live; top > floor; {
			b := live[len(live)-1]
			live = live[:len(live)-1]
			tell("free_requested", b, s.micros)
			tell("free_completed", b, s.micros)
			top = b.address
		}
		for floor := d.base() + s.live; top < floor; {
			end := floor
			if i, _ := slices.BinarySearch(cuts, top+1); i < len(cuts) {
				end = min(end, cuts[i])
			}
			b := vizBlock{top, end - top}
			live = append(live, b)
			tell("alloc", b, s.micros)
			top = end
		}
		if s.reserved < before.reserved {
			tell("segment_unmap", vizBlock{d.base() + s.reserved, before.reserved - s.reserved}, s.micros)
		}
		before = s
	}
	return live
}

// trace writes the events of a device.
func (p *vizWriter) trace(d *vizDevice) {
	var events []vizEvent
	d.course(func(e vizEvent) { events = append(events, e) })
	p.list(len(events), func(i int) {
		e := events[i]
		p.dict(func() {
			p.text("action")
			p.text(e.action)
			p.pair("addr", e.address)
			p.pair("size", e.size)
			p.pair("stream", 0)
			if e.micros > 0 {
				p.pair("time_us", e.micros)
			}
			p.frames(netChange)
		})
	})
}
