package scan

import (
	"context"

	"github.com/gpumem/gpumem/probe/source"
)

// Vitals are how the devices are doing now, in the order of Devices. What no source
// tells is Unknown.
func (s *Sources) Vitals(ctx context.Context) []source.Vitals {
	list := make([]source.Vitals, len(s.devices))
	for i := range list {
		list[i] = source.UnknownVitals()
	}
	for _, m := range s.members {
		teller, ok := m.source.(source.VitalSource)
		if !ok {
			continue
		}
		for k, v := range teller.Vitals(ctx) {
			if at, ok := m.place(k); ok {
				list[at.index].Complete(v)
			}
		}
	}
	return list
}
