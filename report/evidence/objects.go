package evidence

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// mostIsBounded is the part of what comes that must come in containers with a bound, for the
// growth to be that of a cache that fills.
const mostIsBounded = .6

// besideBounded is the part of what comes that a container without a bound must get for it to be a growth
// beside one that fills up.
const besideBounded = .2

// objectKeys are the series that objects may explain.
var objectKeys = [...]series.Key{series.Live, series.Device, series.Host}

// findObjects is what the looks at the running program say: containers that were
// longer at each of them and explain the growth of an account, or that have a bound
// and are filling up. Nil where they say neither.
func findObjects(x *growth.Examined) *finding.Finding {
	list := looks.Staying(looks.Courses(&x.Process))
	endless, bounded, times := 0., 0., 0
	var longest, filling *looks.Course
	first, last := math.Inf(1), 0.
	for i := range list {
		c := &list[i]
		_, _, fills := c.Filling()
		fills = fills && hasRoom(&x.Process, c) || c.IsFull()
		if !c.Rises() && !(fills && c.Longer()) { // a cache that fills up is missed less and less
			continue
		}
		rate := c.Looks[len(c.Looks)-1].Rate()
		first = math.Min(first, c.Looks[0].At-c.Looks[0].Over)
		last = math.Max(last, c.Looks[len(c.Looks)-1].At)
		if fills {
			bounded += rate
			filling = looks.Larger(filling, c)
			continue
		}
		if c.IsFew() {
			continue
		}
		endless, times = endless+rate, max(times, len(c.Looks))
		longest = looks.Larger(longest, c)
	}
	if longest == nil && filling == nil {
		return cmp.Or(findTwice(x), foundFull(x))
	}
	if last < first+looks.LookedUntil*(x.End()-first) {
		return nil
	}
	if longest != nil && bounded == 0 && underTeeth(x, endless, first, last) {
		f := foundObjects(series.Live, longest, times, endless*(last-first))
		f.Floor = true
		return f
	}
	k, rise := explainedBy(x, endless+bounded, first, last)
	filled := bounded >= mostIsBounded*(endless+bounded)
	switch {
	case k == series.Keys:
		return foundTooLittle(x, endless+bounded, first, last)
	case k == series.Live && endless > bounded && !roseSince(x, longest.LastAt(), rise):
		return nil
	case filled && endless >= besideBounded*(endless+bounded) && endless*(last-first) > x.Whole.Delta(k):
		return foundBeside(k, longest, filling, times, endless*(last-first))
	case filled && filling.IsFull() && wentOn(x, k, filling):
		return nil
	case filled:
		return foundFilling(k, filling)
	case longest == nil || endless < looks.LeastExplained*rise:
		return nil
	}
	if over := overWords(x, k, first, last, rise); over != "" {
		return &finding.Finding{By: finding.ByObjects, Of: k, Why: fmt.Sprintf("%s was longer at each of %d looks, but %s",
			longest.Path, len(longest.Looks), over)}
	}
	return foundObjects(k, longest, times, rise*(last-first))
}

// foundBeside is the finding about containers that grow without end beside one with a bound, whose filling is
// no growth.
func foundBeside(k series.Key, longest, filling *looks.Course, times int, size float64) *finding.Finding {
	f := foundObjects(k, longest, times, size)
	if !filling.IsFull() {
		f.Beside = filling.Path
	}
	return f
}

// hasRoom reports whether a container with a bound fits into memory when it is full:
// one that does not is bounded by name alone.
func hasRoom(p *series.Process, c *looks.Course) bool {
	full, _, _ := c.Filling()
	for _, name := range [...]string{record.LimitDevice, record.LimitCgroup, record.LimitHost} {
		if capacity := p.Run.Meta.CapacityBytes[name]; capacity > 0 && full > float64(capacity) {
			return false
		}
	}
	return true
}

// explainedBy is the series that rises at about such a rate between two times, and how
// fast it does; series.Keys where none does. Of a program whose live memory of a device is known
// these containers hold none of the host's.
func explainedBy(x *growth.Examined, rate, from, to float64) (series.Key, float64) {
	for _, k := range objectKeys {
		if x.Whole.Series[k] == nil || x.Whole.Untimed || k == series.Host && x.Whole.Series[series.Live] != nil {
			continue
		}
		rise := x.Whole.Between(k, from, to)
		if part := rate / rise; rise > 0 && part >= looks.LeastExplained && part <= looks.MostExplained &&
			rise*(to-from) > x.Whole.Delta(k) {
			return k, rise
		}
	}
	return series.Keys, 0
}

// Parts of the time between looks in each of which teeth are expected to come down, and how long each is.
const (
	toothParts = 3
	leastPart  = 7. // seconds
	// leastOfPart is how much of what comes in a part its floor must rise by: where teeth are short there is no
	// sample of their very ends.
	leastOfPart = .4
)

// underTeeth reports whether the floor of what is live rises at about a rate between two times, from part to part,
// below what comes and goes: the trend of it all sees nothing there.
func underTeeth(x *growth.Examined, rate, from, to float64) bool {
	k, part := series.Live, (to-from)/toothParts
	if x.Whole.Series[k] == nil || x.Whole.Untimed || part < leastPart {
		return false
	}
	var floor [toothParts]float64
	for i := range floor {
		floor[i] = x.Whole.Lowest(k, from+float64(i)*part, from+float64(i+1)*part)
	}
	for i := 1; i < toothParts; i++ {
		if !(floor[i]-floor[i-1] > leastOfPart*rate*part) {
			return false
		}
	}
	rose := floor[toothParts-1] - floor[0]
	share := rate * part * (toothParts - 1) / rose
	if !(rose > x.Whole.Delta(k) && share >= looks.LeastExplained && share <= looks.MostExplained) {
		return false
	}
	return x.Whole.Lowest(k, to, seenUntil(x)) >= floor[toothParts-2] // it was not given back since
}

// foundObjects is the finding about containers that grow without end.
func foundObjects(k series.Key, c *looks.Course, times int, size float64) *finding.Finding {
	f := &finding.Finding{By: finding.ByObjects, Of: k, Owner: finding.OwnerOf(k), Size: size, Holder: c.Path}
	if k == series.Device {
		f.Owner = finding.TheProgram
	}
	// Each further look at which it is longer makes an accident less likely by half.
	f.Score = 1 - .15*math.Pow(.5, float64(times-looks.LeastLooks))
	f.Why = fmt.Sprintf("%s was longer at each of %d looks and explains the growth: %s", c.Path,
		len(c.Looks), c.Words())
	return f
}

// foundTooLittle is that what is live grows by far more than the containers that were
// looked at; nil where it does not.
func foundTooLittle(x *growth.Examined, rate, from, to float64) *finding.Finding {
	if x.Whole.Series[series.Live] == nil || x.Whole.Untimed || !x.Grow[series.Live].Growing() {
		return nil
	}
	part := rate / x.Whole.Between(series.Live, from, to)
	if !(part > 0 && part < looks.LeastExplained) {
		return nil
	}
	return &finding.Finding{By: finding.ByObjects, Of: series.Live,
		Why: fmt.Sprintf("the containers that got longer at each "+
			"look explain %.0f %% of the growth of what is live: something else holds the rest", 100*part)}
}

// A container that filled up is all of a growth where it has so much of it, and nothing
// came in the last part of the time.
const (
	fullPart  = .9 // of the bound
	stillFor  = .25
	mostlyOne = .6
)

// foundFull is the finding about a container with a bound that is full, and holds most of
// what an account rose by until it stood still; nil where there is none.
func foundFull(x *growth.Examined) *finding.Finding {
	if x.Whole.Untimed {
		return nil
	}
	var full *record.Holder
	for _, h := range x.Holders() {
		isFull := h.Bound > 0 && float64(h.Length) >= fullPart*float64(h.Bound)
		if isFull && h.Count > 0 && (full == nil || heldInAll(&h) > heldInAll(full)) {
			full = &h
		}
	}
	clock := x.Judged.Clock
	if full == nil || len(clock) == 0 {
		return nil
	}
	begin, end := clock[0], clock[len(clock)-1]
	beside := x.Judged.Series[series.Live] != nil
	for _, k := range objectKeys {
		if x.Judged.Series[k] == nil || beside && full.Host != (k == series.Host) {
			continue // beside a device the host's elements are the host's alone
		}
		part := (end - begin) * stillFor
		rose := x.Judged.Between(k, begin, end-part) * (end - part - begin)
		since := x.Judged.Between(k, end-part, end) * part
		if held := heldInAll(full); held >= mostlyOne*rose && rose > x.Whole.Delta(k) &&
			since < x.Whole.Delta(k) {
			return &finding.Finding{By: finding.ByObjects, Of: k, Owner: finding.Nobody, Score: .9,
				Why: fmt.Sprintf(
					"%s is full: it has %s of at most %s elements, %s, and nothing more came in the last %s",
					full.Path,
					units.Count(full.Length), units.Count(full.Bound), units.Bytes(held), units.Span(part))}
		}
	}
	return nil
}

// heldInAll are the bytes of all elements of a holder, of which a look counts those that
// came.
func heldInAll(h *record.Holder) float64 {
	return float64(h.Bytes) / float64(h.Count) * float64(h.Length)
}

// foundFilling is the finding about a container with a bound.
func foundFilling(k series.Key, c *looks.Course) *finding.Finding {
	full, seconds, _ := c.Filling()
	h := c.Looks[len(c.Looks)-1].Holder
	if c.IsFull() {
		return &finding.Finding{By: finding.ByObjects, Of: k, Owner: finding.Nobody, Score: .9,
			Why: fmt.Sprintf(
				"%s has filled up: it has %s of at most %s elements, %s", c.Path, units.Count(h.Length),
				units.Count(h.Bound), units.Bytes(heldInAll(&h)))}
	}
	return &finding.Finding{By: finding.ByObjects, Of: k, Owner: finding.Nobody, Score: .9, Why: fmt.Sprintf(
		"%s fills up: it had %d of at most %d elements, and is full about %s later, with %s",
		c.Path, h.Length, h.Bound, units.Span(seconds), units.Bytes(full))}
}

// MayFillUp says so of what grows in a process by such a size: a container of the host's, or
// one of the accounts', which had as fast a rate as the growth at the last look. Empty where
// there is none.
func MayFillUp(x *growth.Examined, k series.Key, ofHost bool, size float64) string {
	beside := ofHost && x.Judged.Series[series.Live] != nil
	var filling, other *looks.Course
	for _, e := range x.Events.About(x.PID) {
		if e.Kind != record.KindHolders || !looks.Timed(e.Holders) {
			continue
		}
		filling, other = nil, nil
		for _, h := range e.Holders {
			if h.OverMs <= 0 || h.Gone || h.Host != beside {
				continue
			}
			c := &looks.Course{Path: h.Path, Looks: []looks.Look{{At: e.TMs / 1000, Over: h.OverMs / 1000,
				Holder: h}}}
			if _, _, ok := c.Filling(); ok && hasRoom(&x.Process, c) {
				filling = looks.Larger(filling, c)
			} else {
				other = looks.Larger(other, c)
			}
		}
	}
	rate := size / math.Max(growth.SpanOf(x, &x.Grow[k]), 1)
	if filling == nil || filling.Looks[0].Rate() < LeastOfHost*rate ||
		looks.Larger(filling, other) != filling {
		return ""
	}
	return foundFilling(k, filling).Why
}

// LeastOfHost is the part of the host's growth that a holder must explain, at the rate
// at which its bytes came, to be named: what its elements take is an estimate.
const LeastOfHost = .4
