package metaltest

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func counterTests() []test {
	return []test{
		{"they add up after every step of random programs", func(t *testing.T, s *suite) {
			for seed := range uint64(10) {
				w := newWalk(t, s, seed)
				for range 300 {
					w.step()
					w.check()
				}
				w.end()
			}
		}},
		{"whoever sees a completion sees the counters without it", func(t *testing.T, s *suite) {
			dev := s.open(t)
			q := s.queue(t, dev, 0)
			for range 2000 {
				c, err := q.NewCommandBuffer()
				must(t, err)
				must(t, c.Commit())
				for c.Status() != metal.Completed {
					runtime.Gosched()
				}
				if u := dev.Usage(); u.CommandBuffers != 0 || u.InFlight != 0 {
					t.Fatalf("usage after completion is %+v", u)
				}
				must(t, c.Wait())
				must(t, c.Release())
			}
		}},
	}
}

// walk is a random program and what the counters must say of it.
type walk struct {
	t         *testing.T
	dev       metal.Device
	rng       *rand.Rand
	queue     metal.Queue
	fill      metal.Pipeline
	live      []metal.Buffer
	open      []*flight // not committed
	committed []*flight // not waited for
	total     metal.Usage
}

// flight is a command buffer and the buffers that only it keeps.
type flight struct {
	command    metal.CommandBuffer
	dispatches int64
	uses       map[metal.Buffer]bool
}

const walkQueue = 8

func newWalk(t *testing.T, s *suite, seed uint64) *walk {
	dev := s.open(t)
	return &walk{
		t: t, dev: dev, rng: rand.New(rand.NewPCG(seed, 1)),
		queue: s.queue(t, dev, walkQueue), fill: s.pipeline(t, dev, "fill"),
	}
}

func (w *walk) step() {
	switch w.rng.IntN(7) {
	case 0, 1:
		b, err := w.dev.NewBuffer(1+w.rng.Uint64N(3*w.dev.Info().PageSize), "")
		must(w.t, err)
		w.live = append(w.live, b)
		w.total.TotalBuffers++
	case 2:
		if b := take(w.rng, &w.live); b != nil {
			must(w.t, (*b).Release())
		}
	case 3:
		w.make()
	case 4:
		if f := take(w.rng, &w.open); f != nil {
			must(w.t, (*f).command.Commit())
			w.committed = append(w.committed, *f)
		}
	case 5:
		if f := take(w.rng, &w.open); f != nil {
			must(w.t, (*f).command.Release())
		}
	case 6:
		w.wait()
	}
}

// make records up to three fills; buffers shorter than a value stay out.
func (w *walk) make() {
	if len(w.open)+len(w.committed) == walkQueue {
		return
	}
	c, err := w.queue.NewCommandBuffer()
	must(w.t, err)
	w.total.TotalCommandBuffers++
	f := &flight{command: c, uses: map[metal.Buffer]bool{}}
	for range w.rng.IntN(4) {
		if len(w.live) == 0 {
			break
		}
		b := w.live[w.rng.IntN(len(w.live))]
		if b.Length() < 4 {
			continue
		}
		record(w.t, c, w.fill, metal.Size{X: 1}, whole(b), number(1))
		f.uses[b] = true
		f.dispatches++
	}
	w.open = append(w.open, f)
}

// wait waits for one and settles all that were committed before it.
func (w *walk) wait() {
	if len(w.committed) == 0 {
		return
	}
	n := w.rng.IntN(len(w.committed)) + 1
	must(w.t, w.committed[n-1].command.Wait())
	for _, f := range w.committed[:n] {
		w.total.TotalDispatches += f.dispatches
		must(w.t, f.command.Release())
	}
	w.committed = w.committed[n:]
}

// check compares the usage with bounds: what was committed and not waited for
// may or may not have completed.
func (w *walk) check() {
	w.t.Helper()
	u := w.dev.Usage()
	least, most := map[metal.Buffer]bool{}, map[metal.Buffer]bool{}
	keep := func(b metal.Buffer, sets ...map[metal.Buffer]bool) {
		for _, set := range sets {
			set[b] = true
		}
	}
	for _, b := range w.live {
		keep(b, least, most)
	}
	for _, f := range w.open {
		for b := range f.uses {
			keep(b, least, most)
		}
	}
	dispatches := w.total.TotalDispatches
	for _, f := range w.committed {
		dispatches += f.dispatches
		for b := range f.uses {
			keep(b, most)
		}
	}
	opened, flying := int64(len(w.open)), int64(len(w.committed))
	w.between("buffers", u.Buffers, int64(len(least)), int64(len(most)))
	w.between("allocated bytes", u.AllocatedBytes, allocated(least), allocated(most))
	w.between("command buffers", u.CommandBuffers, opened, opened+flying)
	w.between("in flight", u.InFlight, 0, flying)
	w.between("not committed", u.CommandBuffers-u.InFlight, opened, opened)
	w.between("pipelines", u.Pipelines, 1, 1)
	w.between("total buffers", u.TotalBuffers, w.total.TotalBuffers, w.total.TotalBuffers)
	w.between("total command buffers", u.TotalCommandBuffers, w.total.TotalCommandBuffers,
		w.total.TotalCommandBuffers)
	w.between("total dispatches", u.TotalDispatches, w.total.TotalDispatches, dispatches)
}

func (w *walk) between(what string, got, low, high int64) {
	w.t.Helper()
	if got < low || got > high {
		w.t.Fatalf("%s are %d, want %d to %d", what, got, low, high)
	}
}

func allocated(set map[metal.Buffer]bool) (n int64) {
	for b := range set {
		n += int64(b.AllocatedSize())
	}
	return n
}

// end releases everything.
func (w *walk) end() {
	for len(w.committed) > 0 {
		w.wait()
	}
	for _, f := range w.open {
		must(w.t, f.command.Release())
	}
	for _, b := range w.live {
		must(w.t, b.Release())
	}
	w.open, w.live = nil, nil
	w.check()
}

// take removes a random element, keeping the order; nil when there is none.
func take[E any](rng *rand.Rand, from *[]E) *E {
	if len(*from) == 0 {
		return nil
	}
	i := rng.IntN(len(*from))
	e := (*from)[i]
	*from = append((*from)[:i:i], (*from)[i+1:]...)
	return &e
}
