package verdict

import (
	"cmp"
	"slices"

	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// mostOfWindows is up to how many times the growth a line may come to by what it asked for in
// windows of a few seconds. What comes once in some seconds is met there more often than it
// comes, or less; what came faster filled something, and did not go on.
const mostOfWindows = 3

// windowRows are the lines of the windows of a kind whose second half, in which they gave nothing back,
// lies in the growth: each with what it would have come to in all that time as what it grew by.
func windowRows(s *settled, kind string) []record.Site {
	l := s.Judged
	if l.Untimed || len(l.Clock) == 0 {
		return nil
	}
	from, to := l.Clock[min(s.Grow[s.primary].From, len(l.Clock)-1)], l.Clock[len(l.Clock)-1]
	seconds, rows := 0., []record.Site(nil)
	for _, e := range s.Events.About(s.PID) {
		window := record.SiteWindowOf(e)
		if e.Kind != kind || window == 0 || e.TMs/1000-window < from {
			continue
		}
		seconds += window
		rows = append(rows, e.Sites...)
	}
	for i := range rows {
		rows[i].GrowthBytes = int64(float64(rows[i].Bytes) / seconds * (to - from))
	}
	return rows
}

// staysOf are the lines that asked for memory of the account that grows, in windows of a few seconds, by
// what of that had stayed as long afterwards, in bytes and samples; as their growth what it would come to in all
// the time that the account grows. Most bytes first; none where nothing of that kind grows.
func staysOf(s *settled) []SiteRow {
	kind := windowsOf(s)
	if kind == "" {
		return nil
	}
	var all []SiteRow
	for _, row := range windowRows(s, kind) {
		at := slices.IndexFunc(all, func(r SiteRow) bool { return r.Site == row.Site })
		if at < 0 {
			all = append(all, row)
			continue
		}
		all[at].Bytes, all[at].Count = all[at].Bytes+row.Bytes, all[at].Count+row.Count
		all[at].GrowthBytes, all[at].Caller = all[at].GrowthBytes+row.GrowthBytes, cmp.Or(all[at].Caller, row.Caller)
	}
	slices.SortStableFunc(all, func(a, b SiteRow) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

// windowsOf is the kind of the windows on the memory that grows; empty of another.
func windowsOf(s *settled) string {
	switch {
	case s.class == HostGrowth && s.primary == series.Host:
		return record.KindHostSites
	case s.class == AppLeak && s.primary == series.Live:
		return record.KindBlockSites
	}
	return ""
}

// goingOn are the lines among them that asked for no more than what grew.
func goingOn(s *settled, rows []record.Site) []record.Site {
	return slices.DeleteFunc(slices.Clone(rows), func(row record.Site) bool {
		return float64(row.GrowthBytes) > mostOfWindows*s.size
	})
}

// leastAsked is the part of a growth that lines must have asked for, in windows and of what stays, to tell
// that it is no start while the device is young: what libraries take then has no line of the program's.
const leastAsked = .5

// askedSoFar reports whether windows show that lines of the program asked for what grows, and in
// enough samples.
func askedSoFar(s *settled) bool {
	kind := windowsOf(s)
	if kind == "" {
		return false
	}
	grew, samples := int64(0), int64(0)
	for _, row := range goingOn(s, windowRows(s, kind)) {
		grew, samples = grew+row.GrowthBytes, samples+row.Count
	}
	return samples >= leastStaying && float64(grew) >= leastAsked*s.size
}

// calledFrom are functions whose names say less than who called them.
var calledFrom = []string{"forward", "__call__", constructor, "<lambda>"}

// callerOf is the line that called the function of a line of some rows, ", called at train.py:96 in
// step"; empty where it is unknown.
func callerOf(rows []record.Site, line string) string {
	most := record.Site{}
	for _, row := range rows {
		if row.Bytes > most.Bytes && place.Text(record.PlaceOf(row.Site)) == line {
			most = row
		}
	}
	if p := record.PlaceOf(most.Caller); p.File != "" {
		return ", called at " + place.Text(p)
	}
	return ""
}

// withCaller is a line of some rows, with the one that called its function where the function's name
// tells nobody which of its calls is meant.
func withCaller(rows []record.Site, line string) string {
	isCalled := func(row record.Site) bool {
		p := record.PlaceOf(row.Site)
		return place.Text(p) == line && slices.Contains(calledFrom, p.Name)
	}
	if slices.ContainsFunc(rows, isCalled) {
		return line + callerOf(rows, line)
	}
	return line
}

// blocksAsked is the line that asked for a quarter of the live memory that grew or more, "train.py:88
// in keep", by what the windows show that a framework's allocators handed out and did not get back;
// empty where there is none.
func blocksAsked(s *settled) string {
	if s.class != AppLeak || s.primary != series.Live {
		return ""
	}
	rows := goingOn(s, windowRows(s, record.KindBlockSites))
	return withCaller(rows, place.Line(rows, s.size, false))
}
