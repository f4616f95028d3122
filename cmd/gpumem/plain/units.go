package plain

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpumem/gpumem/probe"
)

// Dash is what people see for what is not known.
const Dash = "–"

// Size prints bytes in IEC units with three digits, "–" for unknown.
func Size(bytes int64) string {
	if bytes == probe.Unknown {
		return Dash
	}
	if bytes < 1024 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	v, unit := float64(bytes), ""
	for _, unit = range [...]string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if v /= 1024; v < 999.5 {
			break
		}
	}
	return Digits(v) + " " + unit
}

// Rate prints a growth a second as one a minute.
func Rate(perSecond float64) string {
	sign := "+"
	if perSecond < 0 {
		sign, perSecond = "−", -perSecond
	}
	return sign + Size(int64(perSecond*60)) + "/min"
}

// Digits prints a number of 0 or more with three digits.
func Digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

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

// Plural is "1 process", "2 processes".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
