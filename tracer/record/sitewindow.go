package record

import "encoding/json"

// HostWindow is the Detail of a KindHostSites event: in its Seconds the lines of the event's
// Sites asked Python's allocators, and NumPy's, for what they still had as long afterwards.
type HostWindow struct {
	Seconds float64 `json:"seconds"`
}

// HostWindowOf reads how long the window of a KindHostSites event was, in seconds; 0 of
// another event, and of one that does not tell it.
func HostWindowOf(e *Event) float64 {
	var w HostWindow
	if e.Kind != KindHostSites || json.Unmarshal(e.Detail, &w) != nil || !(w.Seconds > 0) {
		return 0
	}
	return w.Seconds
}
