package nvml

import (
	"context"

	"github.com/gpumem/gpumem/probe/source"
)

// Vitals are how every device is doing now, in the order of Devices; none after
// Close.
func (l *Library) Vitals() []source.Vitals {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.d == nil {
		return nil
	}
	return l.d.vitals()
}

// Vitals implements source.VitalSource. A driver that is stuck is asked once, not
// again and again: each call that hangs keeps a thread.
func (s *gpus) Vitals(ctx context.Context) []source.Vitals {
	var now []source.Vitals
	if s.asking.CompareAndSwap(false, true) {
		// A driver that does not answer tells nothing: the devices stay unknown.
		now, _ = within(ctx, SourceName, func() ([]source.Vitals, error) {
			defer s.asking.Store(false)
			return s.l.Vitals(), nil
		})
	}
	list := make([]source.Vitals, len(s.first))
	for i := range list {
		list[i] = source.UnknownVitals()
		if i < len(now) {
			list[i] = now[i]
		}
	}
	return list
}
