package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/workloads/gguf"
	"github.com/gpumem/gpumem/workloads/llama"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// The targets of the Arc plan.
const (
	lessMemory   = 50. // per cent
	returnsKept  = 95. // per cent
	sameSpeed    = 5.  // per cent up or down
	cloneTime    = 1.  // per cent of the run
	planNanos    = 5   // of one clone, as the plan has it
	cloneRounds  = 20  // to tell what a clone costs, of which the fastest counts
	clonesARound = 5000
	rounds       = 3    // of each way, in turn; the fastest counts
	targetTwin   = 12   // requests to the twin
	targetCache  = 1024 // MiB of decoded weights where --weight-cache says nothing
)

// whatWays say what the columns of the table are.
const whatWays = `  copies   each use of a weight copies it, as the plan took for granted
  handles  each use takes a counted reference to the weight, as the plan wants it
  direct   each use reads the model's own weight, without a reference
`

// beyondReach is why two figures of the plan are not among the targets.
const beyondReach = `The plan's own figures, 918 MB instead of 2098 MB, are no target: 2098 MB are the whole
model as f16, and 918 MB are the part of it that TensorLogic's pool did not keep. Its clones
counted references and copied nothing, as handles do here, so that no reference held the rest.
`

// whatAudit says what the second table is.
const whatAudit = `Clone audit: the places where TensorLogic cloned a tensor, and what stands for each here.
The references are those that handles added there in one round.
`

// way is one way to take weights out of the model, and what it was measured at.
type way struct {
	name              string
	placed, copies    bool
	peak              int64 // of live bytes, beyond those before the model was loaded
	after             int64 // live bytes that stayed
	left              int64 // references that a token left, at most
	returned, dropped uint64
	waits             uint64
	took              time.Duration
	tokens            int
	answers           []int
	counts            []int64
	lines             []string
}

// targets measures the three ways in turn, on the same requests, and prints what
// became of each target.
func (p *program) targets(ctx context.Context, file *gguf.File) error {
	if p.rt.Pool() == nil {
		return errors.New("--targets is about a device's pool: give a --device that is not the host")
	}
	ways := []*way{
		{name: "copies", placed: true, copies: true}, {name: "handles", placed: true}, {name: "direct"},
	}
	for range rounds {
		for _, w := range ways {
			if err := measureWay(ctx, p, file, w); err != nil {
				return fmt.Errorf("weights by %s: %w", w.name, err)
			}
		}
	}
	for _, w := range ways[1:] {
		if !slices.Equal(w.answers, ways[0].answers) {
			return fmt.Errorf("the answers with weights by %s differ from those by copies", w.name)
		}
	}
	cost, err := timeClone(p)
	if err != nil {
		return err
	}
	return printTargets(p, ways, cost)
}

// measureWay loads the model, answers the requests and gives everything up.
func measureWay(ctx context.Context, p *program, file *gguf.File, w *way) (err error) {
	p.rng = rand.New(rand.NewPCG(uint64(p.Seed), 0x6770756d656d)) // the same prompts for each
	g, err := p.newGenerator(file)
	if err != nil {
		return err
	}
	if g.twin && p.number("requests") == 0 {
		g.requests = targetTwin
	}
	before, audit := p.rt.Stats(), p.rt.CloneAudit()
	pools, batches := p.rt.Pool().Stats(), p.rt.Batch().Stats()
	out := p.Stdout
	p.Stdout = io.Discard
	err = g.measureInto(ctx, file, w, before.LiveBytes)
	p.Stdout = out
	if err = errors.Join(err, p.rt.Sync()); err != nil {
		return err
	}
	done, waited := p.rt.Pool().Stats(), p.rt.Batch().Stats()
	w.after = p.rt.Stats().LiveBytes - before.LiveBytes
	kept := done.Outcomes[pool.Returned] - pools.Outcomes[pool.Returned]
	w.returned = kept
	w.dropped = lost(done) - lost(pools)
	w.waits = waited.Syncs - batches.Syncs
	w.answers = g.all
	counts, lines := increments(p.rt.CloneAudit())
	w.lines, w.counts = lines, counts
	earlier, _ := increments(audit)
	for i := range counts {
		w.counts[i] -= earlier[i]
	}
	p.rt.Pool().Purge() // the next way finds what this one found
	return nil
}

// lost are the buffers that were given up and not kept.
func lost(s pool.Stats) uint64 {
	return s.Outcomes[pool.CapFull] + s.Outcomes[pool.Busy] + s.Outcomes[pool.NotPooled]
}

// measureInto is the chat itself.
func (g *generator) measureInto(ctx context.Context, file *gguf.File, w *way, before int64) (err error) {
	g.collect = true
	if err := g.load(file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if g.cache == nil {
		g.cache = llama.NewWeightCache(targetCache << 20)
		g.model.Keep = g.cache.Get
	}
	g.cache.Copies = w.copies
	if w.placed {
		g.sites = &sites{rt: g.rt, model: g.model, copies: w.copies}
		defer func() { err = errors.Join(err, g.sites.release()) }()
		if err := g.sites.begin(); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := g.serve(ctx); err != nil {
		return err
	}
	if took := time.Since(start); w.took == 0 || took < w.took {
		w.took = took
	}
	w.tokens, w.peak, w.left = g.read+g.written, g.peak-before, max(w.left, g.left)
	return nil
}

// cloneCost is what one more reference costs, and giving it up.
type cloneCost struct {
	reference time.Duration // counted, as an Arc is
	handle    time.Duration // a tensor with its scope, its holder and its line in the audit
}

// timeClone takes the fastest of several rounds: other programs only add to a time.
func timeClone(p *program) (cost cloneCost, err error) {
	policy, err := pool.PolicyByName("default")
	if err != nil {
		return cost, err
	}
	// A runtime of its own, so that the program's audit does not count these.
	rt, err := tensor.New(tensor.Options{Device: p.device, Policy: policy})
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	h, err := rt.Pool().Get(pool.Request{Elements: 1, ElementSize: 4, Label: "shared"})
	if err != nil {
		return cost, err
	}
	cost.reference, err = fastest(func() error {
		more, err := h.Retain()
		if err == nil {
			_, err = more.Release()
		}
		return err
	})
	if _, released := h.Release(); err != nil || released != nil {
		return cost, errors.Join(err, released)
	}
	err = rt.Scope(func() error {
		t, err := rt.New("shared", 1)
		if err != nil {
			return err
		}
		cost.handle, err = fastest(func() error {
			s, err := t.Share()
			if err == nil {
				err = s.Release()
			}
			return err
		})
		return err
	})
	return cost, err
}

// fastest is how long do takes, in the fastest of the rounds.
func fastest(do func() error) (best time.Duration, err error) {
	for range cloneRounds {
		start := time.Now()
		for range clonesARound {
			if err := do(); err != nil {
				return 0, err
			}
		}
		if took := time.Since(start) / clonesARound; best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// printTargets prints the table and the audit of the last round.
func printTargets(p *program, ways []*way, cost cloneCost) error {
	info := p.device.Info()
	fmt.Fprintf(p.Stdout, "Targets of the Arc plan, measured on %s (driver %s), the fastest of %d rounds "+
		"of each:\n%s\n", info.Name, info.Driver, rounds, whatWays)
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	printMeasured(table, ways, cost)
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "\n%s\n", beyondReach)
	fmt.Fprint(p.Stdout, whatAudit)
	fmt.Fprint(table, "place\tin TensorLogic\treferences\tline here\n")
	handles := ways[1]
	for i, place := range auditedPlaces() {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", place.name, place.original, handles.counts[i],
			handles.lines[i])
	}
	return table.Flush()
}

// targetRows prints the rows of the table of targets.
type targetRows struct{ to io.Writer }

// add prints a target: what was measured of each way, what was wanted of handles, what
// they are, and whether that is met.
func (r targetRows) add(name, copies, handles, direct, want, are string, met bool) {
	outcome := "missed"
	if met {
		outcome = "met"
	}
	fmt.Fprintf(r.to, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, copies, handles, direct, want, are, outcome)
}

// printMeasured prints a row for each target.
func printMeasured(table io.Writer, ways []*way, cost cloneCost) {
	copies, handles, direct, rows := ways[0], ways[1], ways[2], targetRows{table}
	fmt.Fprint(table, "\tcopies\thandles\tdirect\ttarget of handles\tthey are\t\n")
	saved := 100 * (1 - float64(handles.peak)/float64(max(copies.peak, 1)))
	rows.add("live memory in the chat, at most", mib(copies.peak), mib(handles.peak), mib(direct.peak),
		fmt.Sprintf("%.0f %% below copies", lessMemory), fmt.Sprintf("%.1f %% below", saved),
		saved >= lessMemory)
	rows.add("returned buffers that the pool kept", share(copies), share(handles), share(direct),
		fmt.Sprintf("above %.0f %%", returnsKept), share(handles), handles.kept() > returnsKept)
	faster := 100 * (handles.speed()/direct.speed() - 1)
	rows.add("tokens a second, read and written", fmt.Sprintf("%.1f", copies.speed()),
		fmt.Sprintf("%.1f", handles.speed()), fmt.Sprintf("%.1f", direct.speed()),
		fmt.Sprintf("at most %.0f %% below direct", sameSpeed), fmt.Sprintf("%+.1f %%", faster),
		faster >= -sameSpeed)
	rows.add("times the program waited for the device", fmt.Sprint(copies.waits), fmt.Sprint(handles.waits),
		fmt.Sprint(direct.waits), "no more than direct", fmt.Sprint(handles.waits),
		handles.waits <= direct.waits)
	rows.add("still live after everything was released", fmt.Sprint(copies.after, " B"),
		fmt.Sprint(handles.after, " B"), fmt.Sprint(direct.after, " B"), "0 B",
		fmt.Sprint(handles.after, " B"),
		handles.after == 0)
	rows.add("references that a token left, at most", fmt.Sprint(copies.left), fmt.Sprint(handles.left),
		fmt.Sprint(direct.left), "0", fmt.Sprint(handles.left), handles.left == 0)
	clones := int64(0)
	for _, n := range handles.counts {
		clones += n
	}
	part := 100 * float64(clones) * cost.handle.Seconds() / handles.took.Seconds()
	rows.add("one reference: counted, and given up", "–", cost.reference.String(), "–",
		fmt.Sprintf("about %d ns", planNanos), cost.reference.String(), cost.reference <= 2*planNanos)
	fmt.Fprintf(table, "one handle: its scope, holder and audit, too\t–\t%s\t–\tnone: the plan has no such "+
		"thing\t\t\n", cost.handle)
	rows.add("time of all handles in the run", "–", fmt.Sprintf("%.3f %%", part), "–",
		fmt.Sprintf("below %.0f %%", cloneTime), fmt.Sprintf("%.3f %%", part), part < cloneTime)
}

func mib(bytes int64) string { return fmt.Sprintf("%.2f MiB", float64(bytes)/(1<<20)) }

func share(w *way) string { return fmt.Sprintf("%.1f %%", w.kept()) }

// kept is the share of the returns that the pool kept, in per cent.
func (w *way) kept() float64 {
	return 100 * float64(w.returned) / float64(max(w.returned+w.dropped, 1))
}

// speed is the tokens a second.
func (w *way) speed() float64 { return float64(w.tokens) / max(w.took.Seconds(), 1e-9) }
