package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// eventCompiled is the name of an event that tells how often a line of the program has
// had code compiled so far.
const eventCompiled = "compiled"

// stillCompiling is the part of the growth's time at which the last compilation must have
// been told: until then a program warms up.
const stillCompiling = .6

// compilationsOf are the lines of the program that had code compiled while it grew, and
// went on with that.
func compilationsOf(s *settled) []cause.Compilation {
	l := s.Judged
	if s.primary == series.Keys || len(l.Clock) == 0 {
		return nil
	}
	from, to := l.Clock[min(s.Grow[s.primary].From, len(l.Clock)-1)], l.Clock[len(l.Clock)-1]
	type told struct {
		before, count, last float64
		by                  string
	}
	lines := map[string]told{}
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindEvent || e.Name != eventCompiled || e.At == "" {
			continue
		}
		var detail struct {
			Count float64
			By    string
		}
		if json.Unmarshal(e.Detail, &detail) != nil || !(detail.Count > 0) {
			continue
		}
		t := lines[e.At]
		t.count, t.last, t.by = detail.Count, e.TMs/1000, detail.By
		if t.last < from {
			t.before = detail.Count
		}
		lines[e.At] = t
	}
	var out []cause.Compilation
	for at, t := range lines {
		if t.last >= from+stillCompiling*(to-from) && t.count > t.before {
			out = append(out, cause.Compilation{Site: at, Count: t.count - t.before, By: t.by})
		}
	}
	slices.SortFunc(out, func(a, b cause.Compilation) int { return strings.Compare(a.Site, b.Site) })
	return out
}

// A line that has code compiled for each of a fixed set of shapes does so less and less
// often. It is told at counts that are a quarter apart.
const (
	toldSince    = .75 // of the time since its first compilation, at which the last must have been told
	notLessOften = .5  // of the compilations of the first half of that time, in the second
)

// compilesSteadily reports whether a line of the program that compiles while it grows does
// so as often as in the beginning.
func compilesSteadily(s *settled) bool {
	for _, c := range compilationsOf(s) {
		var times, counts []float64
		for _, e := range s.Events.About(s.PID) {
			var detail struct{ Count float64 }
			if e.Name == eventCompiled && e.At == c.Site && json.Unmarshal(e.Detail, &detail) == nil {
				times, counts = append(times, e.TMs/1000), append(counts, detail.Count)
			}
		}
		n := len(times) - 1
		if n < 1 || times[n]-times[0] < toldSince*(s.Judged.Clock[len(s.Judged.Clock)-1]-times[0]) {
			continue
		}
		middle, _ := slices.BinarySearch(times, (times[0]+times[n])/2)
		if counts[n]-counts[middle] >= notLessOften*counts[middle] {
			return true
		}
	}
	return false
}

// stillFirst is the part of a growth's time in which no line may be compiled for the first time
// any more, so that it is none of what compiling takes.
const stillFirst = 1. / 3

// compilesFirst reports whether a line of the program had code compiled for the first time in
// the last part of a growth: what that takes comes once for each line.
func compilesFirst(s *settled) bool {
	clock := s.Judged.Clock
	if s.primary == series.Keys || len(clock) == 0 {
		return false
	}
	begin, end := clock[min(s.Grow[s.primary].From, len(clock)-1)], clock[len(clock)-1]
	seen := map[string]bool{}
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindEvent || e.Name != eventCompiled || seen[e.At] {
			continue
		}
		seen[e.At] = true
		if t := e.TMs / 1000; t >= end-stillFirst*(end-begin) && t <= end {
			return true
		}
	}
	begin = end - stillFirst*(end-begin)
	return loadsKernels(s, begin, end) || runsCompiler(s, begin, end)
}

// runsCompiler reports whether a process of the run was a compiler that began in a time.
func runsCompiler(s *settled, begin, end float64) bool {
	return slices.ContainsFunc(looks.Compilers(&s.Process), func(t float64) bool { return t >= begin && t <= end })
}

// loadsKernels reports whether a program with CuPy, which compiles a kernel where it is first used
// and tells nobody, had more modules on its device at the end of a time than at its begin.
func loadsKernels(s *settled, begin, end float64) bool {
	modules := s.Judged.Cols[record.ColModules]
	if _, cupy := s.Run.Meta.Versions["cupy"]; !cupy || modules == nil {
		return false
	}
	first := math.NaN()
	for i, at := range s.Judged.Clock {
		switch n := modules[i]; {
		case n != n || at > end:
		case at < begin || first != first:
			first = n
		case n > first:
			return true
		}
	}
	return false
}

// eventProfiling is the name of an event that tells of a profiler of the program's that goes on
// recording. It is told at 4 s, and each time for twice as long.
const eventProfiling = "profiling"

// A profiler that goes on is told again when it has recorded for twice as long, or a round of the
// agent's later; one that was told in the last part of a growth's time recorded while that grew.
const (
	stillRecording = .45
	agentsRound    = 2.5 // seconds
)

// recordingOf is the profiler that recorded while memory grew; nil of none.
func recordingOf(s *settled) *cause.Recording {
	l := s.Judged
	if s.primary == series.Keys || len(l.Clock) == 0 {
		return nil
	}
	from, to := l.Clock[min(s.Grow[s.primary].From, len(l.Clock)-1)], l.Clock[len(l.Clock)-1]
	var found *cause.Recording
	for _, e := range s.Events.About(s.PID) {
		var detail struct {
			By      string
			Seconds float64
		}
		if e.Kind != record.KindEvent || e.Name != eventProfiling ||
			json.Unmarshal(e.Detail, &detail) != nil || detail.By == "" {
			continue
		}
		at := e.TMs / 1000
		if found = nil; at >= from+stillRecording*(to-from) || at+detail.Seconds+agentsRound >= to {
			found = &cause.Recording{By: detail.By, Site: e.At, Seconds: detail.Seconds}
		}
	}
	return found
}

// causeAt says which line has code compiled, or the program recorded, where that is the first cause.
func causeAt(causes []Cause) string {
	if len(causes) == 0 || causes[0].Confidence < sureEnough {
		return ""
	}
	p := record.PlaceOf(causes[0].Site)
	switch {
	case p.File == "":
	case causes[0].ID == cause.Compiled:
		return "compiled again and again at " + place.Text(p)
	case causes[0].ID == cause.Buffers:
		return "recorded without a stop since " + place.Text(p)
	}
	return ""
}
