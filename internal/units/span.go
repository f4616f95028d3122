package units

import (
	"fmt"
)

// Span prints how long something took, in seconds, for a sentence: three digits at most, and
// no unit above the hour.
func Span(seconds float64) string {
	switch {
	case seconds >= 2*3600:
		return fmt.Sprintf("%.3g h", seconds/3600)
	case seconds >= 2*60:
		return fmt.Sprintf("%.3g min", seconds/60)
	}
	return fmt.Sprintf("%.3g s", seconds)
}
