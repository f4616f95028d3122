package tensor

import (
	"errors"
	"sync/atomic"
)

// scopes are the open scopes, the innermost last. One goroutine at a time uses them, but
// for depth.
type scopes struct {
	open    []*scope
	depth   atomic.Int64 // how many are open, for any goroutine
	watcher Watcher      // nil for nobody
}

// scope lists the tensors to release at its end.
type scope struct{ owned map[*Tensor]struct{} }

// run opens a scope for the time of f.
func (s *scopes) run(f func() error) (err error) {
	inner := &scope{owned: map[*Tensor]struct{}{}}
	s.open = append(s.open, inner)
	s.depth.Add(1)
	if s.watcher != nil {
		s.watcher.Entered(len(s.open))
	}
	defer func() { err = errors.Join(err, s.end(inner)) }()
	return f()
}

// end releases what the innermost scope still owns.
func (s *scopes) end(inner *scope) error {
	if s.watcher != nil {
		s.watcher.Ending(len(inner.owned))
	}
	var failed error
	for t := range inner.owned {
		t.scope = nil
		failed = errors.Join(failed, t.Release())
	}
	s.open = s.open[:len(s.open)-1]
	s.depth.Add(-1)
	if s.watcher != nil {
		s.watcher.Ended()
	}
	return failed
}

// own gives a tensor to the innermost scope, which is returned: nil when none is open.
func (s *scopes) own(t *Tensor) *scope {
	if len(s.open) == 0 {
		return nil
	}
	inner := s.open[len(s.open)-1]
	inner.owned[t] = struct{}{}
	return inner
}
