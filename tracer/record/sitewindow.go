package record

import "encoding/json"

// SiteWindow is the Detail of a KindHostSites or KindBlockSites event: in its Seconds the lines of
// the event's Sites asked Python's allocators and NumPy's, or a framework's for a device, for what
// they still had as long afterwards.
type SiteWindow struct {
	Seconds float64 `json:"seconds"`
}

// SiteWindowOf reads how long the window of an event was, in seconds; 0 of one that does not
// tell it, and of an event of another kind.
func SiteWindowOf(e *Event) float64 {
	var w SiteWindow
	isOne := e.Kind == KindHostSites || e.Kind == KindBlockSites
	if !isOne || json.Unmarshal(e.Detail, &w) != nil || !(w.Seconds > 0) {
		return 0
	}
	return w.Seconds
}
