package report

import (
	"time"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
)

// noBreak is a blank at which no line may end.
const noBreak = "\u00a0"

// intervalText prints an estimate with its 95 % interval in one unit, such as
// "+4.00 MiB (3.98 … 4.02)".
func intervalText(iv *verdict.Interval) string {
	if iv == nil {
		return units.Unknown
	}
	return units.Interval(iv.Value, iv.Low, iv.High).Text(noBreak, noBreak+"…"+noBreak)
}

// timeText prints a moment in UTC to the second.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
