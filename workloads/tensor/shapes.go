package tensor

import "sync/atomic"

// shapes counts the distinct shapes that tensors were made with. One goroutine at a time
// notes them; count is for any.
type shapes struct {
	seen  map[[4]int]struct{}
	count atomic.Int64
}

func (s *shapes) note(shape []int) {
	var key [4]int
	copy(key[:], shape)
	if _, known := s.seen[key]; known {
		return
	}
	if s.seen == nil {
		s.seen = map[[4]int]struct{}{}
	}
	s.seen[key] = struct{}{}
	s.count.Add(1)
}
