package units

import (
	"math"
	"strconv"
)

// Count prints a whole number in groups of three: 1,234,567.
func Count(n int64) string {
	s, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		sign, s = Minus, s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// CountGrowth is Count with "+" before what grew.
func CountGrowth(n int64) string { return signed(Count(n), float64(n)) }

// Whole is Count of a value that is rounded first, [Unknown] for NaN.
func Whole(v float64) string {
	if !Known(v) {
		return Unknown
	}
	return Count(int64(math.Round(v)))
}

// Percent prints a share of 1. A share that is neither 0 nor 1 is never printed as one.
func Percent(share float64) string {
	switch p := share * 100; {
	case !Known(p):
		return Unknown
	case p > 0 && p < 0.1:
		return "< 0.1 %"
	case p > 99.9 && p < 100:
		return "> 99.9 %"
	case p == 0 || p >= 10 || p <= -10:
		return Fixed(p, 0) + " %"
	default:
		return Fixed(p, 1) + " %"
	}
}

// Seconds prints a duration, in seconds, in the unit a person would use.
func Seconds(s float64) string {
	switch {
	case !Known(s):
		return Unknown
	case s != 0 && s < 0.0995:
		return Digits(s*1000) + " ms"
	case s < 120:
		return Digits(s) + " s"
	case s < 2*3600:
		return Digits(s/60) + " min"
	case s < 48*3600:
		return Digits(s/3600) + " h"
	case s < 730*24*3600:
		return Digits(s/86400) + " days"
	default:
		return Digits(s/(365.25*86400)) + " years"
	}
}

// Counted is a number with its noun: "1 process", "2,000 processes".
func Counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(int64(n)) + " " + many
}

// Estimate is a value and the ends of its interval, printed for the same unit.
type Estimate struct {
	Value string // with "+" before a growth
	Unit  string
	Low   string // empty where the ends are not known
	High  string
}

// Interval prints an estimate in bytes with its ends, in one unit and with as many
// decimals as tell the ends apart. An unknown value is [Unknown] without a unit.
func Interval(value, low, high float64) Estimate {
	switch {
	case !Known(value):
		return Estimate{Value: Unknown}
	case !Known(low) || !Known(high):
		size, unit := Scale(value)
		return Estimate{Value: signed(Digits(value/size), value), Unit: unit}
	}
	size, unit := Scale(max(math.Abs(low), math.Abs(high), math.Abs(value)))
	decimals := intervalDecimals(math.Abs(high-low), size)
	return Estimate{Value: signed(Fixed(value/size, decimals), value), Unit: unit,
		Low: Fixed(low/size, decimals), High: Fixed(high/size, decimals)}
}

// Text is the estimate as "+4.00 MiB (3.98…4.02)": blank stands before the unit, between
// stands between the ends.
func (e Estimate) Text(blank, between string) string {
	switch {
	case e.Unit == "":
		return e.Value
	case e.Low == "":
		return e.Value + " " + e.Unit
	}
	return e.Value + blank + e.Unit + " (" + e.Low + between + e.High + ")"
}

// intervalDecimals is how many decimals tell the ends of an interval apart: they
// differ by two or more in the last one. At most four.
func intervalDecimals(width, size float64) int {
	width /= size
	if width == 0 {
		return 2
	}
	if size == 1 && width >= 1 {
		return 0
	}
	decimals := 0
	for ; decimals < 4 && width < 1.99; width *= 10 {
		decimals++
	}
	return decimals
}
