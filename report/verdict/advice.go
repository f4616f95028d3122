package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
)

// untoldNext is what to do about host memory that grows beside a device that may be
// Metal's, where nobody read the heap: temporaries without an autorelease pool are
// what such growth most often was, and what can be tried without knowing more. Empty
// in all other cases.
func untoldNext(s *settled, f *Forecast) string {
	if s.class != HostGrowth || s.primary != series.Host || !s.UsesDevice() ||
		!cause.MaybeMetal(&s.Run.Meta) ||
		s.Judged.Series[series.Heap] != nil || evidence.Toucher(&s.Examined.Process) != finding.Unknown ||
		evidence.IsPinned(&s.Examined) {
		return ""
	}
	text := "put an autorelease pool around each iteration that submits work and run again; if it still " +
		"grows, use the CPU device for long loops, and restart long sessions"
	if f != nil && f.P10 > 0 {
		text += fmt.Sprintf(" every %s: the forecast has the %s full in %s at the earliest", lasting(f.P10/2),
			f.Limit, lasting(f.P10))
	}
	return text
}

// arenaWords say that what a program asked the driver for itself may be kept by an
// allocator of its own; empty where that is known.
func arenaWords(s *settled) string {
	if s.primary != series.Live || !s.Judged.AsksItself() || s.Judged.MostInPools() {
		return ""
	}
	return "; if that is an allocator of the program's own, what it keeps idle is not recorded, and the C client " +
		"can tell it (docs/native-programs.md)"
}

// lasting is a time in its largest unit, rounded down, of at least one minute.
func lasting(seconds float64) string {
	for _, u := range [...]struct {
		seconds   float64
		one, many string
	}{{24 * 3600, "day", "days"}, {3600, "hour", "hours"}, {60, "minute", "minutes"}} {
		n := math.Floor(seconds / u.seconds)
		switch {
		case n >= 2:
			return fmt.Sprintf("%.0f %s", n, u.many)
		case n == 1:
			return "1 " + u.one
		}
	}
	return "1 minute"
}
