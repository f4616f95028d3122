package metaltest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func concurrencyTests() []test {
	return []test{
		{"goroutines with queues of their own compute right", func(t *testing.T, s *suite) {
			dev := s.open(t)
			crowd(t, dev, func(i int) error {
				q, err := dev.NewQueue(3)
				if err != nil {
					return err
				}
				return chain(dev, q, i, q.Release)
			})
		}},
		{"goroutines that share a queue compute right", func(t *testing.T, s *suite) {
			dev := s.open(t)
			q := s.queue(t, dev, crowdSize) // one each, so that it is never full of uncommitted ones
			crowd(t, dev, func(i int) error { return chain(dev, q, i, func() error { return nil }) })
		}},
		{"one buffer is released by one of many", func(t *testing.T, s *suite) {
			dev := s.open(t)
			for range 50 {
				b := s.buffer(t, dev, 4)
				var released int
				var mu sync.Mutex
				crowd(t, dev, func(int) error {
					if b.Release() == nil {
						mu.Lock()
						defer mu.Unlock()
						released++
					}
					return nil
				})
				if released != 1 {
					t.Fatalf("%d of %d releases succeeded", released, crowdSize)
				}
			}
		}},
	}
}

const (
	crowdSize  = 8
	chainSteps = 40
)

// crowd runs f in several goroutines while another one watches the counters.
func crowd(t *testing.T, dev metal.Device, f func(i int) error) {
	t.Helper()
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		var last metal.Usage
		for {
			now := dev.Usage()
			if err := plausible(last, now, int64(dev.Info().PageSize)); err != nil {
				t.Errorf("%v: %+v after %+v", err, now, last)
				return
			}
			last = now
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	var wait sync.WaitGroup
	for i := range crowdSize {
		wait.Go(func() {
			if err := f(i); err != nil {
				t.Errorf("goroutine %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	close(stop)
	<-stopped
}

// plausible checks what holds of the counters at every moment.
func plausible(last, now metal.Usage, page int64) error {
	switch {
	case now.InFlight < 0 || now.InFlight > now.CommandBuffers:
		return fmt.Errorf("%d of %d command buffers in flight", now.InFlight, now.CommandBuffers)
	case now.CommandBuffers > now.TotalCommandBuffers || now.Buffers > now.TotalBuffers:
		return fmt.Errorf("more exist than were ever made")
	case now.Buffers < 0 || now.AllocatedBytes < now.Buffers*page:
		return fmt.Errorf("%d buffers in %d B", now.Buffers, now.AllocatedBytes)
	case now.TotalBuffers < last.TotalBuffers || now.TotalCommandBuffers < last.TotalCommandBuffers ||
		now.TotalDispatches < last.TotalDispatches:
		return fmt.Errorf("a total fell")
	}
	return nil
}

// chain computes y = y/2 + j in command buffers of a scope each and compares
// with the same in Go, then calls end.
func chain(dev metal.Device, q metal.Queue, i int, end func() error) (err error) {
	affine, err := dev.NewPipeline("affine")
	if err != nil {
		return err
	}
	y, err := dev.NewBuffer(4, fmt.Sprintf("chain %d", i))
	if err != nil {
		return err
	}
	if _, err := y.WriteAt(make([]byte, 4), 0); err != nil {
		return err
	}
	want := float32(0)
	for j := range chainSteps {
		want = want/2 + float32(i*j)
		dev.Autorelease(func() { err = link(dev, q, affine, y, float32(i*j)) })
		if err != nil {
			return err
		}
	}
	raw := make([]byte, 4)
	if _, err := y.ReadAt(raw, 0); err != nil {
		return err
	}
	if got := float32(decodeFloat(raw)); got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	for _, release := range []func() error{y.Release, affine.Release, end} {
		if err := release(); err != nil {
			return err
		}
	}
	return nil
}

// link is one step, with a scratch buffer that is released in flight.
func link(dev metal.Device, q metal.Queue, affine metal.Pipeline, y metal.Buffer, add float32) error {
	scratch, err := dev.NewBuffer(4, "scratch")
	if err != nil {
		return err
	}
	c, err := q.NewCommandBuffer()
	if err != nil {
		return err
	}
	e, err := c.NewEncoder()
	if err != nil {
		return err
	}
	if err := dispatch(e, affine, metal.Size{X: 1}, whole(y), whole(scratch), number(0.5),
		number(0)); err != nil {
		return err
	}
	if err := dispatch(e, affine, metal.Size{X: 1}, whole(scratch), whole(y), number(1),
		number(add)); err != nil {
		return err
	}
	for _, step := range []func() error{e.End, c.Commit, scratch.Release, c.Wait, c.Release} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
