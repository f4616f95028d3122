package verdict

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// gains are the bytes that came below each path that the looks found to the last, over the
// rows judged for what grows; of what a graph keeps by the path and the graph's name.
func (s *settled) gains() map[string]float64 {
	l := s.Judged
	if s.primary == series.Keys || len(l.Clock) == 0 || l.Untimed {
		return nil
	}
	lasted := l.Clock[len(l.Clock)-1] - l.Clock[min(s.Grow[s.primary].From, len(l.Clock)-1)]
	out := map[string]float64{}
	for _, c := range looks.Courses(&s.Examined.Process) {
		if c.Rises() {
			out[c.Path] = c.Looks[len(c.Looks)-1].Rate() * lasted
		}
	}
	// Two looks tell the others: what they are named by is their rate.
	rates, still := looks.LastRates(&s.Examined.Process)
	graphs, ofGraphs := looks.GraphRates(&s.Examined.Process)
	times := map[string]int{}
	for _, c := range looks.Courses(&s.Examined.Process) {
		times[c.Path] = len(c.Looks)
	}
	for path := range still {
		if times[path] > 1 {
			out[path] = math.Max(out[path], (rates[path]-ofGraphs[path])*lasted)
		}
	}
	for path, bytes := range gainsOnce(s) {
		out[path] = math.Max(out[path], bytes)
	}
	for path, rate := range graphs {
		out[path] = math.Max(out[path], math.Min(rate*lasted, s.size))
	}
	return out
}

// How many arrays one look must have found below a path for it to be no moment's work; of
// one whose bytes are also those by which what is live rose in that time, fewer.
const (
	manyThings = 16
	someThings = 8
)

// gainsOnce are the bytes that came below the paths of the last look, by path and graph, as
// far as it alone tells: where they came as fast as the growth, or a graph had as much as
// what is live had risen by, the path is taken to have held that part of all the growth.
func gainsOnce(s *settled) map[string]float64 {
	out := map[string]float64{}
	l := s.Judged
	if s.class != AppLeak || s.primary == series.Keys || len(l.Clock) == 0 || l.Untimed {
		return out
	}
	lasted := l.Clock[len(l.Clock)-1] - l.Clock[min(s.Grow[s.primary].From, len(l.Clock)-1)]
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindHolders || slices.ContainsFunc(e.Holders, func(h record.Holder) bool { return h.Gone }) {
			continue // the end tells again what a look found
		}
		clear(out)
		for _, h := range e.Holders {
			part := 0.
			switch {
			case h.Host:
			case h.Graph != "":
				part = float64(h.Bytes) / s.Whole.RisenUntil(series.Live, e.TMs/1000)
			case h.OverMs > 0 && (h.Count >= manyThings || h.Count >= someThings &&
				roseBy(s.Whole, &h, e.TMs/1000)):
				part = float64(h.Bytes) / (h.OverMs / 1000) / (s.size / lasted)
			}
			if part >= looks.LeastExplained && part <= looks.MostExplained {
				out[h.Path+h.Graph] = math.Min(part, 1) * s.size
			}
		}
	}
	return out
}

// roseBy reports whether what is live rose by about a holder's bytes while these came,
// which was until a time.
func roseBy(l *series.Accounts, h *HolderRow, at float64) bool {
	over := h.OverMs / 1000
	part := float64(h.Bytes) / over / l.Between(series.Live, at-over, at)
	return part >= looks.LeastExplained && part <= looks.MostExplained
}
