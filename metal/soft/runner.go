package soft

import (
	"fmt"
	"sync"
)

// runner spreads a kernel over goroutines.
type runner struct{ workers int }

// parallel is kernels.Call.Parallel. A panic of body is raised again in the
// caller, so that it ends one command buffer and not the program.
func (r *runner) parallel(n, grain int, body func(lo, hi int)) {
	parts := max(1, min(r.workers, n/max(grain, 1)))
	if parts == 1 {
		body(0, n)
		return
	}
	var wait sync.WaitGroup
	panics := make(chan any, parts)
	for i := range parts {
		lo, hi := n*i/parts, n*(i+1)/parts
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			body(lo, hi)
		})
	}
	wait.Wait()
	select {
	case p := <-panics:
		panic(p)
	default:
	}
}

// guard runs f and turns its panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kernel panicked: %v", p)
		}
	}()
	return f()
}
