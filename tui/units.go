package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
)

// unknownText is what people see for a value that nobody measured.
const unknownText = "–"

// minus is as wide as "+", so that signed columns align.
const minus = "−"

var byteUnits = [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

func measured(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// unitOf picks the unit in which x has one to four digits before the point.
func unitOf(x float64) (size float64, unit string) {
	size, x = 1, math.Abs(x)
	for i, u := range byteUnits {
		if x < 1023.95*size || i == len(byteUnits)-1 {
			return size, u
		}
		size *= 1024
	}
	return size, ""
}

// short prints about three significant digits, no exponent.
func short(x float64) string {
	a, decimals := math.Abs(x), 2
	switch {
	case a >= 100 || a == math.Trunc(a) && a < 10:
		decimals = 0
	case a >= 10:
		decimals = 1
	}
	return decimal(x, decimals)
}

func decimal(x float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64)
	if x < 0 && strings.Trim(s, "0.") != "" {
		return minus + s
	}
	return s
}

// bytesText is "12.3 MiB".
func bytesText(x float64) string {
	if !measured(x) {
		return unknownText
	}
	size, unit := unitOf(x)
	return short(x/size) + " " + unit
}

// deltaText is "+12.3 MiB".
func deltaText(x float64) string {
	if x > 0 && measured(x) {
		return "+" + bytesText(x)
	}
	return bytesText(x)
}

// intervalText is "+4.00 MiB (3.98…4.02)", in one unit.
func intervalText(iv *verdict.Interval) string {
	if iv == nil || !measured(iv.Value) {
		return unknownText
	}
	if !measured(iv.Low) || !measured(iv.High) {
		return deltaText(iv.Value)
	}
	size, unit := unitOf(math.Max(math.Abs(iv.Low), math.Max(math.Abs(iv.High), math.Abs(iv.Value))))
	decimals := 2
	switch width := (iv.High - iv.Low) / size; {
	case size == 1 && width >= 1 || width >= 50:
		decimals = 0
	case width >= 2:
		decimals = 1
	}
	sign := ""
	if iv.Value > 0 {
		sign = "+"
	}
	return fmt.Sprintf("%s%s %s (%s…%s)", sign, decimal(iv.Value/size, decimals), unit,
		decimal(iv.Low/size, decimals), decimal(iv.High/size, decimals))
}

// rateText is the value of an interval without its ends.
func rateText(iv *verdict.Interval) string {
	if iv == nil {
		return unknownText
	}
	return deltaText(iv.Value)
}

// countText groups by three: 1,234,567.
func countText(x float64) string {
	if !measured(x) {
		return unknownText
	}
	s := strconv.FormatFloat(math.Abs(math.Round(x)), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if x <= -.5 {
		return minus + s
	}
	return s
}

func percentText(share float64) string {
	if !measured(share) {
		return unknownText
	}
	p := share * 100
	if p != 0 && math.Abs(p) < 10 {
		return decimal(p, 1) + " %"
	}
	return decimal(p, 0) + " %"
}

// secondsText is a duration in the unit a person would use.
func secondsText(s float64) string {
	switch {
	case !measured(s):
		return unknownText
	case s != 0 && s < .0995:
		return short(s*1000) + " ms"
	case s < 120:
		return short(s) + " s"
	case s < 7200:
		return short(s/60) + " min"
	case s < 48*3600:
		return short(s/3600) + " h"
	}
	return short(s/86400) + " days"
}

// clockText is a time of the run: 0:07.3, 12:04, 3:12:04.
func clockText(ms float64, fraction bool) string {
	if !measured(ms) {
		return unknownText
	}
	sign := ""
	if ms < 0 {
		sign, ms = minus, -ms
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
		return unknownText
	}
	return short(float64(d)/float64(time.Millisecond)) + " ms"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
