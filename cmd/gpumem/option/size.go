package option

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits in the order they are tried; "MB" means MiB here as in the
// investigations, and because nobody allocates decimal megabytes.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

// ParseSize reads a number of bytes with an optional unit.
func ParseSize(s string) (int64, error) {
	number, unit := strings.TrimSpace(s), int64(1)
	for _, u := range sizeUnits {
		if len(number) > len(u.suffix) && strings.EqualFold(number[len(number)-len(u.suffix):], u.suffix) {
			number, unit = strings.TrimSpace(number[:len(number)-len(u.suffix)]), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v*float64(unit) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write 1MiB, 64KiB or a number of bytes", s)
	}
	return int64(v * float64(unit)), nil
}

// FormatSize prints a size in the largest unit that divides it.
func FormatSize(b int64) string {
	for _, u := range sizeUnits[:4] {
		if b >= u.bytes && b%u.bytes == 0 {
			return strconv.FormatInt(b/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(b, 10) + "B"
}

// Size is a flag value in bytes, written "1MiB", "64KiB", "4096".
type Size int64

// String implements [pflag.Value].
func (b *Size) String() string { return FormatSize(int64(*b)) }

// Type implements [pflag.Value].
func (b *Size) Type() string { return "size" }

// Set implements [pflag.Value].
func (b *Size) Set(s string) error {
	v, err := ParseSize(s)
	*b = Size(v)
	return err
}
