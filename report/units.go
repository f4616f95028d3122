package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
)

// unknown is what people see for a value that nobody measured.
const unknown = "–"

// minus is U+2212, as wide as "+", so that signed columns align.
const minus = "−"

// noBreak is a blank at which no line may end.
const noBreak = "\u00a0"

var iecUnits = [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// scaleOf picks the IEC unit in which v has one to four digits before the
// point, and its size in bytes.
func scaleOf(v float64) (size float64, unit string) {
	size = 1
	v = math.Abs(v)
	for _, u := range iecUnits[:len(iecUnits)-1] {
		if v < 1023.95 {
			return size, u
		}
		v /= 1024
		size *= 1024
	}
	return size, iecUnits[len(iecUnits)-1]
}

// digits prints v with about three significant digits and no exponent.
func digits(v float64) string {
	a := math.Abs(v)
	prec := 2
	switch {
	case a >= 100 || a == math.Trunc(a) && a < 10:
		prec = 0
	case a >= 10:
		prec = 1
	}
	s := strconv.FormatFloat(a, 'f', prec, 64)
	if v < 0 && strings.Trim(s, "0.") != "" {
		return minus + s
	}
	return s
}

// bytesText prints a number of bytes in IEC units, "–" for unknown.
func bytesText(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown
	}
	size, unit := scaleOf(v)
	return digits(v/size) + " " + unit
}

// signedBytes is bytesText with "+" before growth.
func signedBytes(v float64) string { return signed(bytesText(v), v) }

// signed puts "+" before the text of a growth, but not before a rounded zero.
func signed(s string, v float64) string {
	if v > 0 && s != unknown && strings.ContainsAny(s, "123456789") {
		return "+" + s
	}
	return s
}

// intervalText prints an estimate with its 95 % interval in one unit, such as
// "+4.00 MiB (3.98 … 4.02)".
func intervalText(iv *verdict.Interval) string {
	if iv == nil || math.IsNaN(iv.Value) || math.IsInf(iv.Value, 0) {
		return unknown
	}
	size, unit := scaleOf(math.Max(math.Abs(iv.Low), math.Max(math.Abs(iv.High), math.Abs(iv.Value))))
	if math.IsNaN(iv.Low) || math.IsNaN(iv.High) || math.IsInf(iv.Low, 0) || math.IsInf(iv.High, 0) {
		return signedBytes(iv.Value)
	}
	prec := intervalPrec(iv, size)
	return fmt.Sprintf("%s"+noBreak+"%s (%s"+noBreak+"…"+noBreak+"%s)",
		signed(fixed(iv.Value/size, prec), iv.Value), unit,
		fixed(iv.Low/size, prec), fixed(iv.High/size, prec))
}

// intervalPrec is how many decimals tell the ends of an interval apart: they
// differ by two or more in the last one. At most four.
func intervalPrec(iv *verdict.Interval, size float64) int {
	width := math.Abs(iv.High-iv.Low) / size
	if width == 0 {
		return 2
	}
	if size == 1 && width >= 1 {
		return 0
	}
	prec := 0
	for ; prec < 4 && width < 1.99; width *= 10 {
		prec++
	}
	return prec
}

// fixed prints v with prec decimals and the typographic minus; a rounded
// zero has no sign.
func fixed(v float64, prec int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', prec, 64)
	if v < 0 && strings.Trim(s, "0.") != "" {
		return minus + s
	}
	return s
}

// countText prints an integer with thin groups of three: 1,234,567.
func countText(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = minus, s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func signedCount(n int64) string { return signed(countText(n), float64(n)) }

// percentText prints a share of 1.
func percentText(share float64) string {
	switch p := share * 100; {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return unknown
	case p > 0 && p < 0.1:
		return "< 0.1 %"
	case p > 99.9 && p < 100:
		return "> 99.9 %"
	case p == 0 || p >= 10 || p <= -10:
		return fixed(p, 0) + " %"
	default:
		return fixed(p, 1) + " %"
	}
}

// secondsText prints a duration in the unit a person would use.
func secondsText(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return unknown
	case s != 0 && s < 0.0995:
		return digits(s*1000) + " ms"
	case s < 120:
		return digits(s) + " s"
	case s < 2*3600:
		return digits(s/60) + " min"
	case s < 48*3600:
		return digits(s/3600) + " h"
	case s < 730*24*3600:
		return digits(s/86400) + " days"
	default:
		return digits(s/(365.25*86400)) + " years"
	}
}

// timeText prints a moment in UTC to the second.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
