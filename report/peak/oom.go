package peak

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Reason is why a program ran out of memory.
type Reason string

// The reasons.
const (
	Growing       Reason = "growth"          // it grew until it died
	Activations   Reason = "activations"     // what the step keeps for its backward pass
	OptimizerStep Reason = "optimizer-state" // the optimizer's first step
	NoGrad        Reason = "no-grad"         // a forward pass kept for a backward pass that never comes
	Checkpoint    Reason = "checkpoint"      // a checkpoint loaded beside the model
	Weights       Reason = "weights"         // the model itself
	Fragmentation Reason = "fragmentation"   // enough idle bytes, no block large enough
	PrivatePool   Reason = "private-pool"    // idle bytes in pools of CUDA graphs
	OtherStream   Reason = "other-stream"    // idle bytes of another stream
	OtherProcess  Reason = "other-process"   // somebody else's memory
	OtherPool     Reason = "other-framework" // of the same process
	Request       Reason = "request"         // one request larger than all there is
	Held          Reason = "held"            // tensors that Python holds beside the model
	Full          Reason = "full"            // live memory of no single kind
	Limit         Reason = "limit"           // a limit that the program set
	Driver        Reason = "driver"          // the driver refused an allocation of the program's own
	Killed        Reason = "killed"          // by the kernel, for want of host memory
	Host          Reason = "host-memory"     // the system refused the process host memory
)

// OOM is the field oom of verdict.json: the error that ended the program, or the
// last one of those that it caught.
type OOM struct {
	Reason   Reason  `json:"reason,omitempty"` // empty for errors that were caught
	Sentence string  `json:"sentence,omitempty"`
	AtMs     float64 `json:"at_ms"`
	PID      int     `json:"pid,omitempty"`
	// Died says that the error ended the program, or a process of it that the kernel killed.
	Died bool `json:"died"`
	// Errors is how many there were, Caught how many of them the program survived.
	Errors int64 `json:"errors"`
	Caught int64 `json:"caught,omitempty"`

	Framework    string `json:"framework,omitempty"`
	Device       *int   `json:"device,omitempty"`
	AskedBytes   *int64 `json:"asked_bytes,omitempty"`
	FreeBytes    *int64 `json:"free_bytes,omitempty"` // on the device
	LargestFree  *int64 `json:"largest_free_bytes,omitempty"`
	IdlePieces   *int64 `json:"idle_pieces,omitempty"`
	LimitBytes   *int64 `json:"limit_bytes,omitempty"`
	Capacity     *int64 `json:"capacity_bytes,omitempty"`
	LiveBytes    *int64 `json:"live_bytes,omitempty"`
	IdleBytes    *int64 `json:"idle_bytes,omitempty"`
	MissingBytes *int64 `json:"missing_bytes,omitempty"` // by how much it did not fit

	Site        string     `json:"site,omitempty"`
	Stack       []string   `json:"stack,omitempty"`
	Composition []Category `json:"composition,omitempty"`
	Incomplete  bool       `json:"incomplete,omitempty"` // the search for the composition's names ended early
	// Modules are what modules of the model had of it, Module is the one whose forward
	// pass asked; both empty where nobody told.
	Modules []Owned         `json:"modules,omitempty"`
	Module  string          `json:"module,omitempty"`
	Holders []record.Holder `json:"holders,omitempty"`
	Others  []record.HeldBy `json:"others,omitempty"`
	Saves   []Save          `json:"saves,omitempty"`
	Text    string          `json:"text,omitempty"` // of the exception that ended the program

	next string // what to do first, where it is not the reason alone that says so
}

// Category is a part of live memory.
type Category struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Save is a change and the bytes by which it lowers what was needed. Fits is whether
// the request would then have fit; nil where that cannot be said. Alone is whether this
// is said of the one request while the program was about to ask for more.
type Save struct {
	Change string `json:"change"`
	Bytes  int64  `json:"bytes"`
	Fits   *bool  `json:"fits,omitempty"`
	Alone  bool   `json:"alone,omitempty"`
}

func wouldSave(change string, bytes int64, fits *bool) Save {
	return Save{Change: change, Bytes: bytes, Fits: fits}
}

// Growth is what the verdict says of the account that grows; a zero one when
// none does for sure.
type Growth struct {
	Sure  bool   // confirmed or likely
	Class string // app-leak …
	Claim string
	Bytes int64 // by which what is live grew; 0 is unknown
}

// OutOfMemory is why the run's program ran out of memory, nil when it never did.
// Of several processes the one that died of it counts, else the last.
func OutOfMemory(run *record.Run, g Growth) *OOM {
	if run == nil {
		return nil
	}
	s := gather(run)
	switch {
	case s.last != nil && (s.died || s.killed == nil):
		return s.told(run, g)
	case s.name != "" || s.killed != nil || s.refused != nil && failed(run) || s.isCrowdedOut(run):
		return s.untold(run, g)
	case s.owns > 0:
		return s.caught()
	}
	return nil
}

// seen is what the events say of failed allocations.
type seen struct {
	event   *record.Event // of the last error that was told whole
	last    *record.OOM
	latest  *record.Event // of the last error
	errors  int64
	died    bool
	text    string // of the exception
	name    string
	pid     int
	death   record.Died
	others  []record.HeldBy
	refused *record.Event               // the last one; of a program that did not fail the last of its own
	owns    int64                       // refusals that the program itself asked for
	killed  *record.Event               // the last process that the kernel killed
	spaces  map[int]record.AddressSpace // by process
	crowded *record.Event               // of the last process that was near its limit of address space
	raised  bool                        // a process told of an exception that ended it
}

// gather picks the error that matters.
func gather(run *record.Run) seen {
	var s seen
	counts := map[int]int64{}
	for i := range run.Events {
		e := &run.Events[i]
		switch e.Kind {
		case record.KindOOM:
			s.note(e, counts)
		case record.KindOOMOthers:
			d, ok := record.DetailOf[record.Others](e)
			if of := s.latestOf(); ok && (of != nil && e.PID == of.PID || s.died && e.PID == s.pid) {
				s.others = d.Processes
			}
		case record.KindDied:
			s.raised = true
			if text, ok := ranOut(e); ok {
				s.died, s.text, s.name, s.pid = true, text, e.Name, e.PID
				s.death, _ = record.DetailOf[record.Died](e)
				space := record.AddressSpace{Limit: s.death.AddressesLimit, Peak: s.death.Addresses}
				s.noteAddresses(e.PID, space)
			}
		case record.KindEvent:
			s.noteRefusal(e, run)
			s.noteSpace(e)
			if e.Name == record.EventKilled {
				s.killed = e
			}
		}
	}
	for _, n := range counts {
		s.errors += n
	}
	s.died = s.died || s.endedSoon(run)
	s.died = s.died && failed(run)
	return s
}

// noteRefusal takes in an allocation that the driver refused.
func (s *seen) noteRefusal(e *record.Event, run *record.Run) {
	d, ok := record.DetailOf[record.Refusal](e)
	if e.Name != record.EventRefused || !ok || d.Asked == nil || d.Code != noMemory || !d.Own &&
		!failed(run) {
		return
	}
	s.refused = e
	if d.Own {
		s.owns++
	}
}

// latestOf is the last error: of an allocator, else of the driver.
func (s *seen) latestOf() *record.Event {
	if s.latest != nil {
		return s.latest
	}
	return s.refused
}

// note takes in one error.
func (s *seen) note(e *record.Event, counts map[int]int64) {
	d, ok := record.DetailOf[record.OOM](e)
	if !ok || d.Asked <= 0 {
		counts[e.PID]++
		return
	}
	counts[e.PID] = max(counts[e.PID]+1, d.Count)
	s.latest = e
	if s.last == nil || d.Categories != nil || d.Pools != nil || s.last.Categories == nil {
		s.event, s.last, s.others = e, &d, nil
	}
}

// failed reports a program that ended badly.
func failed(run *record.Run) bool {
	m := &run.Meta
	return m.Signal != "" || m.ExitCode == nil || *m.ExitCode != 0
}

// endedSoon reports that the program failed right after its last error: without a
// further step, and without a word about another exception.
func (s *seen) endedSoon(run *record.Run) bool {
	m := &run.Meta
	if s.latest == nil || m.ExitCode == nil || *m.ExitCode == 0 {
		return false
	}
	for i := range run.Events {
		e := &run.Events[i]
		if e.Kind == record.KindDied && e.PID == s.latest.PID {
			return false // it said what of
		}
		if e.Kind == record.KindStep && e.PID == s.latest.PID && e.TMs > s.latest.TMs {
			return false
		}
	}
	const soon = 10_000 // ms, for what unwinds and for the tracer's questions
	end := m.End
	return end == nil || m.Start.IsZero() ||
		float64(end.Sub(m.Start).Milliseconds())-s.latest.TMs < soon
}

// told is the answer where the allocator told of the error.
func (s *seen) told(run *record.Run, g Growth) *OOM {
	d := s.last
	o := &OOM{AtMs: s.latest.TMs, PID: s.latest.PID, Died: s.died, Errors: s.errors, Caught: s.errors,
		Framework: d.Framework, Device: &d.Device, AskedBytes: &d.Asked, FreeBytes: d.Free,
		LimitBytes: d.Limit, Capacity: d.Capacity, LiveBytes: d.Allocated, Site: d.Site, Stack: d.Stack,
		Holders: d.Holders, Others: s.others, Text: s.text, Composition: categories(d.Categories),
		Incomplete: d.Incomplete, Modules: ownedBy(d.Modules), Module: d.Module}
	if d.Allocated != nil && d.Reserved != nil {
		o.IdleBytes = ptr(*d.Reserved - *d.Allocated)
	}
	if largest, pieces := idlePieces(d.Pools); pieces > 0 {
		o.LargestFree, o.IdlePieces = &largest, &pieces
	}
	if o.Died {
		o.Caught--
		c := newCase(d, o.PID, s.others, g)
		c.rose = roseFor(run.Samples, o.PID, o.AtMs) / 1000
		o.MissingBytes = c.missing()
		c.explain(o)
	}
	return o
}

// categories are the largest first; of equal ones by name.
func categories(by map[string]int64) []Category {
	var list []Category
	for name, bytes := range by {
		if bytes > 0 {
			list = append(list, Category{name, bytes})
		}
	}
	slices.SortFunc(list, func(a, b Category) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// idlePieces are the largest idle block and how many there are.
func idlePieces(pools []record.Pool) (largest, pieces int64) {
	for _, p := range pools {
		largest, pieces = max(largest, p.Largest), pieces+p.IdleCount
	}
	return largest, pieces
}

func ptr[T any](v T) *T { return &v }

// Ended says whether this is what ended the program. It may be called on nil.
func (o *OOM) Ended() bool { return o != nil && o.Died && o.Sentence != "" }

// Tells says whether the sentence has a claim about what grows in it.
func (o *OOM) Tells(claim string) bool {
	return claim != "" && strings.Contains(o.Sentence, strings.TrimSuffix(claim, "."))
}

// PutsOff says whether the changes would only have put the error off: of a growth of which
// the reason names no cure.
func (o *OOM) PutsOff() bool { return o.Reason == Growing && o.next == "" }

// Advice is what to do first; empty where the growth has to be mended, and where the
// reason knows none.
func (o *OOM) Advice() string {
	switch o.Reason {
	case Fragmentation:
		if s := bestOf(o.Saves); s != nil && strings.HasPrefix(s.Change, "expandable") &&
			s.Fits != nil && *s.Fits {
			return "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
		}
		return "allocate what is large and stays before what is small and goes, or take fewer different sizes"
	case Request:
		if o.Device == nil && o.Framework == "" {
			return "look at the size that is asked for: the machine does not have as much"
		}
		if o.Capacity != nil && o.AskedBytes != nil && *o.AskedBytes <= *o.Capacity {
			return "check the size that was asked for, or raise the limit that the program sets itself " +
				"(set_per_process_memory_fraction)"
		}
	case Limit:
		if o.Device == nil && o.Framework == "" {
			return "map fewer and larger pieces, or raise vm.max_map_count (sysctl)"
		}
		if o.Framework == "cupy" {
			return "keep less in arrays, or raise the limit of CuPy's pool (set_limit)"
		}
	case Growing, Activations:
		return cmp.Or(o.next, advice()[o.Reason])
	case Held:
		if len(o.Holders) > 0 {
			return "let go of what " + o.Holders[0].Path + " keeps, or keep it in host memory"
		}
	}
	return advice()[o.Reason]
}

// advice is what to do first, by the reason.
func advice() map[Reason]string {
	return map[Reason]string{
		Activations: "make the batch or the sequence smaller, recompute activations in the backward pass " +
			"(torch.utils.checkpoint), or compute in a lower precision",
		OptimizerStep: "take an optimizer with a smaller state (8 bits, Adafactor), or spread the state " +
			"over devices",
		NoGrad:      "run the forward pass under torch.no_grad() or torch.inference_mode()",
		Checkpoint:  `load the checkpoint with torch.load(…, map_location="cpu")`,
		Weights:     "load the model in half precision or quantized, or spread it over devices",
		PrivatePool: "let CUDA graphs share one pool (torch.cuda.graph(…, pool=…))",
		OtherStream: "allocate on one stream, or give idle memory back first (torch.cuda.empty_cache())",
		OtherPool: "let the other framework give back what is idle before PyTorch asks, or limit its pool " +
			"(cupy's set_limit, XLA_PYTHON_CLIENT_MEM_FRACTION)",
		OtherProcess: "end the other process, or take another device (CUDA_VISIBLE_DEVICES)",
		Request:      "check the size that was asked for: the device does not have as much",
		Driver:       "free what is not needed any more before the driver is asked, or take another device",
		Held:         "let go of tensors that are not needed any more, or keep them in host memory",
		Limit:        "raise the limit that the program sets (set_per_process_memory_fraction)",
		Killed:       "take less host memory, or raise the container's limit",
		Host: "take less host memory, or raise the limit: ulimit -v, the container's, " +
			"or the machine's",
	}
}
