package tui

import (
	"fmt"
	"time"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
)

// intervalText is "+4.00 MiB (3.98…4.02)", in one unit.
func intervalText(iv *verdict.Interval) string {
	if iv == nil {
		return units.Unknown
	}
	return units.Interval(iv.Value, iv.Low, iv.High).Text(" ", "…")
}

// rateText is the value of an interval without its ends.
func rateText(iv *verdict.Interval) string {
	if iv == nil {
		return units.Unknown
	}
	return units.Growth(iv.Value)
}

// clockText is a time of the run: 0:07.3, 12:04, 3:12:04.
func clockText(ms float64, fraction bool) string {
	if !units.Known(ms) {
		return units.Unknown
	}
	sign := ""
	if ms < 0 {
		sign, ms = units.Minus, -ms
	}
	d := time.Duration(ms * float64(time.Millisecond))
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%s%d:%02d:%02d", sign, h, m, s)
	case fraction:
		return fmt.Sprintf("%s%d:%02d.%d", sign, m, s, int(d.Milliseconds())%1000/100)
	}
	return fmt.Sprintf("%s%d:%02d", sign, m, s)
}

// durationText is what a piece of work took.
func durationText(d time.Duration) string {
	if d <= 0 {
		return units.Unknown
	}
	return units.Digits(float64(d)/float64(time.Millisecond)) + " ms"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
