package plain

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe"
)

// Dash is what people see for what is not known.
const Dash = units.Unknown

// Size prints bytes as [units.Bytes] does, Dash for [probe.Unknown].
func Size(bytes int64) string {
	if bytes == probe.Unknown {
		return Dash
	}
	return units.Bytes(bytes)
}

// Rate prints a growth a second as one a minute.
func Rate(perSecond float64) string { return units.Growth(perSecond*60) + "/min" }

// Percent prints a part of a whole without the sign, "–" for unknown.
func Percent(part, whole int64) string {
	if part == probe.Unknown || whole <= 0 {
		return Dash
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64)
}

// Age prints an age in its largest unit: 12s, 45m, 7h, 3d, 2y.
func Age(age time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case age < 0:
		return Dash
	case age < time.Minute:
		return fmt.Sprintf("%ds", age/time.Second)
	case age < time.Hour:
		return fmt.Sprintf("%dm", age/time.Minute)
	case age < 2*day:
		return fmt.Sprintf("%dh", age/time.Hour)
	case age < 730*day:
		return fmt.Sprintf("%dd", age/day)
	}
	return fmt.Sprintf("%dy", age/(365*day))
}
