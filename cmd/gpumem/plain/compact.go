package plain

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
)

// CompactLine is one sample as TensorLogic's monitor has it: its number, the memory in
// MB with its level, and the buffers. What is not known says so.
func CompactLine(n int, bytes, buffers *int64) string {
	memory, count := "memory unknown", "buffers unknown"
	if bytes != nil {
		mb := float64(*bytes) / (1 << 20)
		memory = fmt.Sprintf("%.2f MB  %s", mb, memoryLevel(mb))
	}
	if buffers != nil {
		count = units.Counted(*buffers, "buffer", "buffers")
	}
	return fmt.Sprintf("#%d  %s  %s\n", n, memory, count)
}

// memoryLevel is the level of so many MB, by the bounds of TensorLogic's monitor.
func memoryLevel(mb float64) string {
	switch {
	case mb > 1000:
		return "high"
	case mb > 100:
		return "moderate"
	case mb > 1:
		return "low"
	case mb > 0:
		return "minimal"
	}
	return "none"
}
