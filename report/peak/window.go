package peak

import (
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// Categories that only a replay can tell apart.
const (
	activations = "activations"
	temporaries = "temporaries"
)

// Peak is the field peak of verdict.json: the moment of a profiled window at which
// most was live. Times are milliseconds since the window's beginning.
type Peak struct {
	AtMs     float64 `json:"at_ms"`
	BeganMs  float64 `json:"began_ms"` // of the window, since the run's start
	Bytes    int64   `json:"bytes"`
	PID      int     `json:"pid,omitempty"`
	Device   int     `json:"device"`
	FromStep int64   `json:"from_step"`
	Steps    int64   `json:"steps"`
	// Allocator is the most that the allocator counted in the program's life until
	// the window's end, from which Bytes may differ when an earlier step took more.
	Allocator *int64 `json:"allocator_bytes,omitempty"`
	// Unexplained is the allocator's count at the end of the window less that of
	// the replay: 0 when nothing was missed.
	Unexplained *int64 `json:"unexplained_bytes,omitempty"`
	// Categories sum to Bytes.
	Categories []Category `json:"categories"`
	Sites      []Site     `json:"sites,omitempty"`
	Timeline   []Moment   `json:"timeline,omitempty"`
	// Left are the lines of what LeftSteps steps left behind: allocated before the last step
	// of the window, and alive at its end. LeftBytes are those of all lines.
	Left      []Site `json:"left,omitempty"`
	LeftSteps int64  `json:"left_steps,omitempty"`
	LeftBytes int64  `json:"left_bytes,omitempty"`
	// Modules are what modules of the model had at the peak; the rest of Bytes has no
	// module. NoModules is why activations have none; empty where they have.
	Modules   []Owned `json:"modules,omitempty"`
	NoModules string  `json:"no_modules,omitempty"`
	Cost      Cost    `json:"cost"`

	replay *replay
	every  []Site // Sites before it was cut
}

// maxSites bounds Peak.Sites.
const maxSites = 50

// EverySite are the lines of all that lived at the peak, largest first; those of Sites
// for a peak that was read back from a file.
func (p *Peak) EverySite() []Site {
	if p.every == nil {
		return p.Sites
	}
	return p.every
}

// Site is a line and what it had allocated of what lived at the peak.
type Site struct {
	Site     string `json:"site"`
	Category string `json:"category"`
	Bytes    int64  `json:"bytes"`
	Count    int64  `json:"count"`
}

// Moment is what lived at one moment, by category in the order of Peak.Categories;
// those that the peak does not have are summed at the end.
type Moment struct {
	Ms    float64 `json:"ms"`
	Bytes []int64 `json:"bytes"`
}

// Cost is what the window took of the program's time.
type Cost struct {
	SwitchMs float64 `json:"switch_ms"` // on, taken and off, on the program's thread
	// Of these, the search for tensors, and the allocator's own list of its events.
	ScanMs     *float64 `json:"scan_ms,omitempty"`
	SnapshotMs *float64 `json:"snapshot_ms,omitempty"`
	PackMs     float64  `json:"pack_ms"` // beside the program
	StepsMs    float64  `json:"steps_ms"`
	UsualMs    *float64 `json:"usual_ms,omitempty"` // what as many steps took before
}

// maxMoments bounds the timeline.
const maxMoments = 240

// ofWindow replays the run's window; nil without one that is whole. why says what
// kept one from being replayed, empty without any.
func ofWindow(run *record.Run) (p *Peak, why string) {
	if run == nil {
		return nil, ""
	}
	w, pid, told := windowOf(run)
	switch {
	case w == nil && pid != 0:
		return nil, "the window of profiled steps is not whole: parts of it were not recorded"
	case w == nil:
		return nil, ""
	case w.Overflowed:
		return nil, "the window of profiled steps had more allocations than are kept; fewer steps would do " +
			"(--profile=steps:1)"
	}
	r := newReplay(w)
	if len(r.blocks) == 0 {
		return nil, ""
	}
	p = r.peak()
	p.PID, p.BeganMs = pid, told-float64(w.StepsMicros)/1000
	if w.AgeMicros != nil {
		p.BeganMs = told - float64(*w.AgeMicros)/1000
	}
	p.BeganMs = max(p.BeganMs, 0)
	return p, ""
}

// windowOf puts the parts of a window together, of the process with most events, and
// says when its head was told, in ms since the run's start.
func windowOf(run *record.Run) (w *record.Window, pid int, toldMs float64) {
	parts, seen, told := map[int]map[int]record.Window{}, 0, map[int]float64{}
	for i := range run.Events {
		e := &run.Events[i]
		if e.Kind != record.KindWindow {
			continue
		}
		seen = max(e.PID, 1)
		if d, ok := record.DetailOf[record.Window](e); ok && d.Parts > 0 {
			if parts[e.PID] == nil {
				parts[e.PID] = map[int]record.Window{}
			}
			parts[e.PID][d.Part] = d
			if d.Part == 0 {
				told[e.PID] = e.TMs
			}
		}
	}
	var best *record.Window
	for id, of := range parts {
		head, ok := of[0]
		if !ok || len(of) != head.Parts {
			continue
		}
		for i := 1; i < head.Parts; i++ {
			more, ok := of[i]
			if !ok {
				return nil, seen, 0
			}
			head.Frames = append(head.Frames, more.Frames...)
			head.Stacks = append(head.Stacks, more.Stacks...)
			head.Live = append(head.Live, more.Live...)
			head.Segments = append(head.Segments, more.Segments...)
			head.Events = append(head.Events, more.Events...)
			head.Modules = append(head.Modules, more.Modules...)
			head.Owners = append(head.Owners, more.Owners...)
			head.Calls = append(head.Calls, more.Calls...)
		}
		if best == nil || len(head.Events) > len(best.Events) ||
			len(head.Events) == len(best.Events) && id < pid {
			best, pid = &head, id
		}
	}
	if best == nil {
		return nil, seen, 0
	}
	return best, pid, told[pid]
}

// lived is a block and its life in the window, in positions of events.
type lived struct {
	size         int64
	stack        int64 // -1 of one that was there before
	at           int64 // address
	birth, death int   // -1: before; number of events: it lives on
	exact        bool  // size is the block's, not what was asked for
	role         string
	module       int // position in Modules, -1 without one
}

// replay is a window with the life of each block.
type replay struct {
	*record.Window
	blocks   []lived
	backward map[int]int // by step: the first allocation without a frame of Python's
	top      int         // position of the event at which most lives
	most     int64
	end      int64 // live bytes at the end
	sites    map[int64]string
}

func newReplay(w *record.Window) *replay {
	r := &replay{Window: w, backward: map[int]int{}, top: -1, sites: map[int64]string{}}
	r.live()
	r.fit()
	r.findTop()
	for i := range r.blocks {
		r.blocks[i].role = r.roleOf(&r.blocks[i])
	}
	r.findModules()
	return r
}

// live makes the blocks: those at the end, and back from there.
func (r *replay) live() {
	now := map[int64]int{} // position in blocks by address
	n := len(r.Events)
	for _, b := range r.Live {
		now[b[0]] = len(r.blocks)
		r.blocks = append(r.blocks, lived{size: b[1], stack: -1, at: b[0], birth: -1, death: n, exact: true,
			role: r.roleName(b[2])})
	}
	for i := n - 1; i >= 0; i-- {
		e := r.Events[i]
		at, bytes := e[0], e[1]
		if bytes < 0 {
			now[at] = len(r.blocks)
			r.blocks = append(r.blocks, lived{size: rounded(-bytes), stack: -1, at: at, birth: -1, death: i,
				role: r.roleName(e[3])})
			continue
		}
		if k, ok := now[at]; ok {
			r.blocks[k].birth, r.blocks[k].stack = i, e[3]
			delete(now, at)
		}
		if step := r.step(i); r.isNative(e[3]) {
			r.backward[step] = i // the earliest stays: the walk is backward
		}
	}
}

func (r *replay) roleName(i int64) string {
	if i < 0 || i >= int64(len(r.Roles)) {
		return unseen
	}
	return r.Roles[i]
}

// step is the number of the step in which an event lies.
func (r *replay) step(i int) int {
	at := r.Events[i][2]
	k, _ := slices.BinarySearch(r.Boundaries, at)
	return k
}

// isNative reports a stack without a frame of Python's.
func (r *replay) isNative(stack int64) bool {
	return stack < 0 || stack >= int64(len(r.Stacks)) || len(r.Stacks[stack]) == 0
}

// findTop finds the event after which most lives.
func (r *replay) findTop() {
	changes := make([]int64, len(r.Events))
	now := int64(0)
	for _, b := range r.blocks {
		if b.birth < 0 {
			now += b.size
		} else {
			changes[b.birth] += b.size
		}
		if b.death < len(changes) {
			changes[b.death] -= b.size
		}
	}
	r.most = now
	for i, c := range changes {
		if now += c; now > r.most {
			r.most, r.top = now, i
		}
	}
	r.end = now
}

// roleOf is what a block is. One that lives at the end, or was there before, is what
// its tensors said. One that came and went within a step is an activation when it
// was made before the step's backward pass and freed in it, else a temporary. What
// outlives the end of its step was made by the backward pass: a gradient.
func (r *replay) roleOf(b *lived) string {
	if b.birth < 0 || b.death >= len(r.Events) {
		return b.role
	}
	step := r.step(b.birth)
	if r.step(b.death) > step {
		if r.isNative(b.stack) {
			return gradients
		}
		return tensors
	}
	begun, ok := r.backward[step]
	if ok && b.birth < begun && b.death > begun {
		return activations
	}
	return temporaries
}

// isAt reports whether a block lives after an event.
func (b *lived) isAt(event int) bool { return b.birth <= event && b.death > event }

// peak is the answer.
func (r *replay) peak() *Peak {
	p := &Peak{Bytes: r.most, Device: r.Device, FromStep: r.FromStep, Steps: r.Steps,
		Allocator: r.AllocatorPeak, replay: r}
	if r.top >= 0 {
		p.AtMs = float64(r.Events[r.top][2]) / 1000
	}
	if r.Allocated != nil {
		p.Unexplained = ptr(*r.Allocated - r.end)
	}
	by, sites := map[string]int64{}, siteSums{}
	for i := range r.blocks {
		b := &r.blocks[i]
		if !b.isAt(r.top) {
			continue
		}
		by[b.role] += b.size
		sites.add(r.site(b), b)
	}
	p.Categories = categories(by)
	p.every = sites.sorted()
	p.Sites = p.every[:min(len(p.every), maxSites)]
	p.Left, p.LeftSteps = r.left()
	for _, s := range p.Left {
		p.LeftBytes += s.Bytes
	}
	p.Left = p.Left[:min(len(p.Left), maxSites)]
	p.Modules, p.NoModules = r.owned(), r.CallsOff
	p.Timeline = r.timeline(p.Categories)
	ms := func(micros int64) float64 { return float64(micros) / 1000 }
	p.Cost = Cost{SwitchMs: ms(r.OnMicros + r.OffMicros), PackMs: ms(r.PackMicros),
		StepsMs: ms(r.StepsMicros)}
	for to, micros := range map[**float64]*int64{&p.Cost.UsualMs: r.UsualMicros, &p.Cost.ScanMs: r.ScanMicros,
		&p.Cost.SnapshotMs: r.SnapshotMicros} {
		if micros != nil {
			*to = ptr(ms(*micros))
		}
	}
	return p
}
