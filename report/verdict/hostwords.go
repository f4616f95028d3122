package verdict

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/series"
)

// hostWords says whose host memory it is, or that it cannot be told.
func (s *settled) hostWords() string {
	if evidence.IsPinned(&s.Examined) {
		return ", most of it pinned memory that the program asked the driver for"
	}
	if s.class == HostGrowth && evidence.IsFragmented(&s.Examined) {
		return fmt.Sprintf("; the C heap keeps %s free between blocks in use (fragmentation)",
			units.Bytes(evidence.HeapKeeps(&s.Examined)))
	}
	if words := evidence.TouchWords(&s.Examined.Process); words != "" {
		return words
	}
	if s.class == DriverGrowth && s.Records.Hold(s.size) {
		return s.Records.Words(s.size)
	}
	switch {
	case s.class == DriverGrowth:
		return " while the program's heap does not"
	case !s.UsesDevice() && !(s.Grow[series.Heap].Growing() && s.Grow[series.Heap].Amount() >= s.size/2):
		return ""
	case s.primary == series.Heap:
		return "" // its name says it
	case s.Grow[series.Heap].Growing():
		return " with the program's heap"
	case s.Judged.Series[series.Heap] == nil:
		return " (host heap or driver, unresolved: the program's heap was not recorded)"
	}
	return " (host heap or driver, unresolved)"
}
