package verdict

import (
	"slices"

	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// mostOfWindows is up to how many times the growth a line may come to by what it asked for in
// windows of a few seconds. What comes once in some seconds is met there more often than it
// comes, or less; what came faster filled something, and did not go on.
const mostOfWindows = 3

// hostAsked is the line of the program that asked Python's allocators for most of what the
// host grew by, "train.py:88 in keep"; empty where none asked for a quarter.
func hostAsked(s *settled) string {
	l := s.Judged
	if s.class != HostGrowth || s.primary != series.Host || l.Untimed || len(l.Clock) == 0 {
		return ""
	}
	from, to := l.Clock[min(s.Grow[s.primary].From, len(l.Clock)-1)], l.Clock[len(l.Clock)-1]
	seconds, rows := 0., []record.Site(nil)
	for _, e := range s.Events.About(s.PID) {
		window := record.HostWindowOf(e)
		if window == 0 || e.TMs/1000-2*window < from {
			continue
		}
		seconds += window
		rows = append(rows, e.Sites...)
	}
	for i := range rows {
		rows[i].GrowthBytes = int64(float64(rows[i].Bytes) / seconds * (to - from))
	}
	rows = slices.DeleteFunc(rows, func(row record.Site) bool {
		return float64(row.GrowthBytes) > mostOfWindows*s.size
	})
	return place.Line(rows, s.size, false)
}
