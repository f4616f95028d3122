package account

import "fmt"

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// Size prints bytes for people, in IEC units with two digits after the point.
func Size(bytes float64) string {
	sign := ""
	if bytes < 0 {
		sign, bytes = "-", -bytes
	}
	switch {
	case bytes >= gib:
		return fmt.Sprintf("%s%.2f GiB", sign, bytes/gib)
	case bytes >= mib:
		return fmt.Sprintf("%s%.2f MiB", sign, bytes/mib)
	case bytes >= kib:
		return fmt.Sprintf("%s%.2f KiB", sign, bytes/kib)
	}
	return fmt.Sprintf("%s%.0f B", sign, bytes)
}
