package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// returned is what the system got back by an experiment: the larger of host
// and device bytes that are known, 0 when neither is.
func returned(r *record.Receipt) float64 {
	b := 0.
	for _, p := range [...]*int64{r.ReturnedBytes, r.GPUBytes} {
		if p != nil {
			b = math.Max(b, float64(*p))
		}
	}
	return b
}

// experiments are the receipts as they stand, in order.
func (s *subject) experiments() []Experiment {
	var out []Experiment
	for _, e := range s.run.Events {
		if e.Receipt != nil && s.mine(&e) {
			out = append(out, *e.Receipt)
		}
	}
	return out
}

// mine reports whether an event is about this process.
func (s *subject) mine(e *record.Event) bool { return e.PID == 0 || s.pid == 0 || e.PID == s.pid }

// decisive is the part of a growth an experiment must return to prove whose
// it was.
const decisive = .5

// weighExperiments lets receipts speak: what a purge returned was retention,
// what a collection returned was a cycle the program's own objects made.
// They settle doubt and raise or lower confidence; they do not find growth
// where none was seen.
func (s *subject) weighExperiments() {
	grown := s.size()
	if s.class == None || grown <= 0 {
		return
	}
	for _, r := range s.experiments() {
		back := returned(&r)
		proved := back > s.o.leftover() && back >= decisive*grown
		switch {
		case r.Action == record.ActionPurge && proved &&
			(s.class == PoolGrowth || s.class == Undecided && s.primary == keyDevice):
			s.class, s.why, s.lacking = PoolGrowth, "", false
			s.raise(.97)
		case r.Action == record.ActionPurge && s.class == PoolGrowth && r.ClaimedBytes != nil && back < .1*grown:
			s.confidence = math.Min(s.confidence, .8)
			s.note("the purge did not return the idle growth to the system")
		case r.Action == record.ActionCollect && proved && (s.class == AppLeak || s.class == HostGrowth):
			s.raise(.97)
		}
	}
	if s.class == PoolGrowth && s.restsOn == "" {
		s.restsOn = ByTrend
	}
	if s.class == Undecided && s.primary == keyDevice &&
		s.gaveBack(record.ActionCollect) < cause.CyclePart*grown && s.gaveBack(record.ActionPurge) < cause.CyclePart*grown {
		s.why += "; neither collecting garbage nor purging the pool gave it back, so that something still holds it, or the driver does"
	}
}

// gaveBack is the most that an action's experiments returned; NaN when none was
// measured.
func (s *subject) gaveBack(action string) float64 {
	most := math.NaN()
	for _, r := range s.experiments() {
		if r.Action == action && (r.ReturnedBytes != nil || r.GPUBytes != nil) && !(returned(&r) <= most) {
			most = returned(&r)
		}
	}
	return most
}

// raise lifts the confidence to at least p.
func (s *subject) raise(p float64) { s.confidence = math.Max(s.confidence, p) }

// size is the growth or leftover the verdict is about.
func (s *subject) size() float64 {
	if s.primary == keys {
		return 0
	}
	if s.restsOn == ByLeftover {
		b, _ := s.left.of(s.primary)
		return b
	}
	if s.restsOn == ByMagnitude {
		return plainGrowth(s.led.series[s.primary])
	}
	return s.grow[s.primary].Amount()
}

// sites and holders are the last recorded ones of this process. Where the
// program knows none of its own, or the driver's memory is what grows, it is
// those of what the driver was asked for.
func (s *subject) sites() []SiteRow {
	var own, driver []SiteRow
	for _, e := range s.run.Events {
		switch {
		case !s.mine(&e):
		case e.Kind == record.KindSites && len(e.Sites) > 0:
			own = e.Sites
		case e.Kind == record.KindDriverSites:
			driver = e.Sites
		}
	}
	if len(own) == 0 || s.class == DriverGrowth && len(driver) > 0 {
		return driver
	}
	return own
}

func (s *subject) holders() []HolderRow {
	var out []HolderRow
	for _, e := range s.run.Events {
		if e.Kind == record.KindHolders && s.mine(&e) {
			out = e.Holders
		}
	}
	return out
}
