package command

import (
	"errors"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

// manual completes nothing by itself.
type manual struct {
	begun, encoders, dropped int
	submitted                []*CommandBuffer
	refuse                   error // of Begin and Close
	closed                   bool
}

func (m *manual) Begin(*CommandBuffer) error  { m.begun++; return m.refuse }
func (m *manual) BeginEncoder(*CommandBuffer) { m.encoders++ }
func (m *manual) Submit(c *CommandBuffer)     { m.submitted = append(m.submitted, c) }
func (m *manual) Drop(*CommandBuffer)         { m.dropped++ }
func (m *manual) Close() error                { m.closed = true; return m.refuse }

// bytesOf is host memory that says when it goes.
type bytesOf struct {
	bytes []byte
	freed func() error
}

func (m *bytesOf) Bytes() []byte                     { return m.bytes }
func (m *bytesOf) SetPurgeable(metal.PurgeableState) {}
func (m *bytesOf) Free() error                       { return m.freed() }

func newLedger() *Ledger {
	return NewLedger(metal.Info{Driver: "test", MaxBufferLength: 1 << 20, RecommendedWorkingSet: 1 << 20,
		MaxBuffers: 9, PageSize: 64}, metal.Faults{})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filled is a command buffer with one fill of b, and its pipeline.
func filled(t *testing.T, l *Ledger, q *Queue, b metal.Buffer, free func() error) (metal.CommandBuffer,
	*Pipeline) {
	t.Helper()
	p := &Pipeline{}
	must(t, p.Admit(l, "fill"))
	p.OnFree(free)
	c, err := q.NewCommandBuffer()
	must(t, err)
	e, err := c.NewEncoder()
	must(t, err)
	e.SetPipeline(p)
	e.SetBuffer(0, b, 0)
	e.SetBytes(1, make([]byte, 4))
	must(t, e.Dispatch(metal.Size{X: 1}))
	must(t, e.End())
	return c, p
}

func TestResourcesGoBeforeTheCountersAndTheCountersBeforeTheWait(t *testing.T) {
	t.Parallel()
	l, m := newLedger(), &manual{}
	q, err := l.NewQueue(0, func(int) (Driver, error) { return m, nil })
	must(t, err)
	var went []string
	var c metal.CommandBuffer
	inFlight := func(what string) func() error {
		return func() error {
			went = append(went, what)
			if u := l.Usage(); u.InFlight != 1 || u.CommandBuffers != 1 {
				t.Errorf("the %s goes when the usage is %+v", what, u)
			}
			select {
			case <-c.(*CommandBuffer).done:
				t.Errorf("the %s goes after the end of the wait", what)
			default:
			}
			return nil
		}
	}
	b, err := NewHostBuffer(l, 4, "", func(n uint64) (HostMemory, error) {
		return &bytesOf{make([]byte, n), inFlight("buffer")}, nil
	})
	must(t, err)
	c, p := filled(t, l, q, b, inFlight("pipeline"))
	must(t, c.Commit())
	must(t, b.Release())
	must(t, p.Release())
	if len(went) != 0 || l.Usage().Buffers != 1 || l.Usage().Pipelines != 0 {
		t.Errorf("%v went before completion, usage %+v", went, l.Usage())
	}
	m.submitted[0].Complete(1, nil)
	must(t, c.Wait())
	if u := l.Usage(); len(went) != 2 ||
		u != (metal.Usage{TotalBuffers: 1, TotalCommandBuffers: 1, TotalDispatches: 1}) {
		t.Errorf("%v went, the usage after the wait is %+v", went, u)
	}
	must(t, q.Release())
	must(t, l.Close())
	if !m.closed || m.begun != 1 || m.encoders != 1 || m.dropped != 0 {
		t.Errorf("the driver was told %+v", m)
	}
}

func TestADroppedCommandBufferIsToldToTheDriverAndKeepsNothing(t *testing.T) {
	t.Parallel()
	l, m := newLedger(), &manual{}
	q, err := l.NewQueue(1, func(int) (Driver, error) { return m, nil })
	must(t, err)
	freed := 0
	b, err := NewHostBuffer(l, 4, "", func(n uint64) (HostMemory, error) {
		return &bytesOf{make([]byte, n), func() error { freed++; return nil }}, nil
	})
	must(t, err)
	c, p := filled(t, l, q, b, func() error { freed++; return nil })
	must(t, b.Release())
	must(t, p.Release())
	must(t, c.Release())
	if m.dropped != 1 || freed != 2 || l.Usage().CommandBuffers != 0 {
		t.Errorf("the driver was told %+v, %d things went, usage %+v", m, freed, l.Usage())
	}
	must(t, q.Release())
	must(t, l.Close())
}

func TestWhatADriverRefusesIsNotCounted(t *testing.T) {
	t.Parallel()
	refused := errors.New("not today")
	l := newLedger()
	if _, err := l.NewQueue(0, func(int) (Driver, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("new queue: %v", err)
	}
	if _, err := NewHostBuffer(l, 4, "", func(uint64) (HostMemory, error) {
		return nil, refused
	}); !errors.Is(err, refused) {
		t.Errorf("new buffer: %v", err)
	}
	m := &manual{refuse: refused}
	q, err := l.NewQueue(1, func(int) (Driver, error) { return m, nil })
	must(t, err)
	for range 3 { // no place of the queue is lost
		if _, err := q.NewCommandBuffer(); !errors.Is(err, refused) {
			t.Errorf("new command buffer: %v", err)
		}
	}
	if u := l.Usage(); u != (metal.Usage{}) {
		t.Errorf("refused things count: %+v", u)
	}
	if err := q.Release(); !errors.Is(err, refused) {
		t.Errorf("release queue: %v", err)
	}
	must(t, l.Close())
}

func TestALostDeviceMakesNothingAndStillCloses(t *testing.T) {
	t.Parallel()
	lost, later := errors.New("lost"), errors.New("later")
	l := newLedger()
	l.Lose(lost)
	l.Lose(later)
	_, queue := l.NewQueue(0, func(int) (Driver, error) { return &manual{}, nil })
	for _, err := range []error{l.Usable(), l.Reserve(1), (&Pipeline{}).Admit(l, "fill"), queue} {
		if !errors.Is(err, lost) || errors.Is(err, later) {
			t.Errorf("error %v, want the first reason", err)
		}
	}
	must(t, l.Close())
}

func TestALineRunsAllInOrderBeforeItEnds(t *testing.T) {
	t.Parallel()
	var all []*CommandBuffer
	var ran []*CommandBuffer
	l := NewLine(func(c *CommandBuffer) { ran = append(ran, c) })
	for range 100 {
		c := &CommandBuffer{}
		all = append(all, c)
		l.Add(c)
	}
	l.End()
	if len(ran) != len(all) {
		t.Fatalf("%d of %d ran", len(ran), len(all))
	}
	for i := range all {
		if all[i] != ran[i] {
			t.Errorf("the one at %d is another", i)
		}
	}
}
