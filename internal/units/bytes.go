package units

import (
	"math"
	"strconv"
	"strings"
)

// Unknown is what people see for a value that nobody measured.
const Unknown = "–"

// Minus is U+2212, as wide as "+", so that signed columns align.
const Minus = "−"

// Known reports whether a value was measured: NaN and the infinities were not.
func Known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Bytes prints a number of bytes in IEC units: "12.3 MiB", [Unknown] for NaN.
func Bytes[N int | int64 | uint64 | float64](n N) string {
	v := float64(n)
	if !Known(v) {
		return Unknown
	}
	size, unit := Scale(v)
	return Digits(v/size) + " " + unit
}

// Growth is Bytes with "+" before what grew.
func Growth(v float64) string { return signed(Bytes(v), v) }

// signed puts "+" before the text of a growth v, but not before a rounded zero.
func signed(text string, v float64) string {
	if v > 0 && text != Unknown && strings.ContainsAny(text, "123456789") {
		return "+" + text
	}
	return text
}

// Scale picks the IEC unit in which v has one to four digits before the point,
// and the size of that unit in bytes.
func Scale(v float64) (size float64, unit string) {
	size, v = 1, math.Abs(v)
	for _, unit := range [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"} {
		if v < 1023.5 { // above, it would print as 1024
			return size, unit
		}
		v /= 1024
		size *= 1024
	}
	return size, "EiB"
}

// Digits prints v with about three significant digits and no exponent.
func Digits(v float64) string {
	a, decimals := math.Abs(v), 2
	switch {
	case a >= 99.95 || a == math.Trunc(a) && a < 10: // 99.95 would print as 100.0
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	return Fixed(v, decimals)
}

// Fixed prints v with so many decimals; a rounded zero has no sign.
func Fixed(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if v < 0 && strings.Trim(s, "0.") != "" {
		return Minus + s
	}
	return s
}
