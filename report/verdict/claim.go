package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/driven"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// lead is the verdict and its tier, with which the summary begins.
func (s *settled) lead() string {
	if s.class == Undecided {
		return string(s.class)
	}
	return fmt.Sprintf("%s (%s, %.0f %%)", s.class, s.tier(), 100*s.confidence)
}

// claim is what was seen, with which the summary ends.
func (s *settled) claim(v *Verdict) string {
	switch s.class {
	case None:
		return s.noneClaim() + hazardWords(s)
	case Undecided:
		return s.undecidedClaim(v)
	}
	return s.growthClaim(v) + causeClaim(v.Causes) + "." + hazardWords(s)
}

// growthClaim says what was seen of a growth.
func (s *settled) growthClaim(v *Verdict) string {
	switch s.restsOn {
	case ByLeftover:
		return s.leftoverClaim()
	case ByMagnitude:
		return s.magnitudeClaim()
	case ByRefill, ByProcesses, ByObjects:
		return s.why
	}
	text := s.what() + " grows by " + s.quantity(s.size) + s.lasting()
	if d := v.DrivenBy; d != nil {
		text += ", " + s.cost(d)
		if d.And != nil {
			text += " and " + s.cost(d.And)
		}
	}
	if v.Background {
		text += ", also while steps pause"
	}
	if s.Grow[s.primary].Late {
		text += ", from late in the run on"
	}
	if part := s.shares.Part(s.primary); part != nil && part.Value < .995 {
		text += fmt.Sprintf(", %.0f %% of all growth", 100*part.Value)
	}
	switch s.primary {
	case series.Live:
		text += s.outgrownWords() + hostBeside(s)
	case series.Host, series.Heap:
		text += s.hostWords()
	case series.Untracked:
		text += s.untrackedWords()
	}
	return text
}

// cost is what a unit costs: bytes, or handles.
func (s *settled) cost(d *DrivenBy) string {
	unit := article(strings.ReplaceAll(d.Per, "_", " "))
	if s.primary.Counts() {
		return fmt.Sprintf("%.3g %s", d.Value, unit)
	}
	return units.Bytes(d.Value) + " " + unit
}

// lasting is how long the growth was watched.
func (s *settled) lasting() string {
	l := s.Judged
	from := s.Grow[s.primary].From
	if n := len(l.Clock); !l.Untimed && from < n {
		return " in " + units.Span(l.Clock[n-1]-l.Clock[from])
	}
	return ""
}

// what names the primary key in a sentence.
func (s *settled) what() string {
	switch {
	case s.primary == series.Handles:
		return "the number of the driver's " + s.Kind.Name
	case s.primary == series.Live && s.Judged.AsksItself():
		return "device memory that the program asked the driver for and has not given back"
	case s.primary == series.Untracked && s.class == AppLeak:
		return "managed memory on the device that the program asked the driver for and has not given back"
	case s.primary == series.Count && s.Judged.AsksItself():
		return "the number of the program's allocations at the driver"
	}
	return series.AccountWords[s.primary]
}

// quantity is an amount of the primary key: bytes, or handles.
func (s *settled) quantity(b float64) string {
	if s.primary.Counts() {
		return fmt.Sprintf("%.0f", b)
	}
	return units.Bytes(b)
}

// outgrownWords say what the pool keeps beside a growth that it follows from.
func (s *settled) outgrownWords() string {
	kept := &s.Grow[series.Idle]
	if !kept.Growing() || !evidence.Outgrows(&s.Grow, s.Judged, s.Grow.Amounts()) {
		return ""
	}
	return ", and the pool keeps " + units.Bytes(kept.Gained()) + " more of blocks that became too small"
}

// hostBeside says what the host grew by beside what is live, where that is more.
func hostBeside(s *settled) string {
	host := &s.Grow[series.Host]
	if !host.Growing() || host.Gained() <= s.size {
		return ""
	}
	return ", and host memory grows by " + units.Bytes(host.Gained()) + " beside it"
}

// untrackedWords say that most of what grows was asked of the driver: by a
// library behind the framework's back, say. It is not the driver's own.
func (s *settled) untrackedWords() string {
	if s.Judged.Asked == nil || s.class == AppLeak {
		return ""
	}
	k := stat.Known(s.Judged.Asked[s.Grow[series.Untracked].From:])
	if q := len(k) / 8; q == 0 || stat.Median(k[len(k)-q:])-stat.Median(k[:q]) < s.size/2 {
		return ""
	}
	return ", most of it asked of the driver outside the pool"
}

func (s *settled) leftoverClaim() string {
	text := units.Bytes(s.size)
	switch s.primary {
	case series.Live:
		text += " are still referenced after the program released everything"
		if n, ok := s.Left.Of(series.Count); ok && n > 0 {
			text += fmt.Sprintf(" (%.0f handles)", n)
		}
	case series.Idle:
		text += " stay idle after the program released everything: kept by the pool's policy, not by " +
			"references"
	case series.Untracked:
		text += " of device memory outside the program and its pool stay after the program released " +
			"everything"
	default:
		text += " of host memory stay after the program released everything, and more with each repetition"
	}
	if r := s.Left.PerRepetition(s.primary); r > s.Least && s.primary != series.Host {
		text += fmt.Sprintf(", and at least %s more with each repetition", units.Bytes(r))
	}
	return text
}

// magnitudeClaim tells a short run's growth stretch by stretch.
func (s *settled) magnitudeClaim() string {
	parts := stretches(s.Judged, s.primary)
	per, unit := make([]float64, len(parts)), driven.ClockUnit(s.Judged)
	for i, p := range parts {
		per[i] = p.bytes / math.Max(p.seconds, 1e-9)
	}
	if parts[0].steps > 0 && parts[len(parts)-1].steps > 0 {
		unit = "step"
		for i, p := range parts {
			per[i] = p.bytes / math.Max(p.steps, 1)
		}
	}
	words := make([]string, len(per))
	for i, p := range per {
		words[i] = units.Bytes(p)
	}
	first, last := per[0], per[len(per)-1]
	course := "steadily"
	switch {
	case last < .7*first:
		course = "decelerating"
	case last > 1.4*first:
		course = "accelerating"
	}
	place := s.what()
	if s.primary == series.Host {
		place = "host memory outside both pools"
		if s.Judged.Series[series.Live] == nil && s.Judged.Series[series.Idle] == nil {
			place = "host memory"
		}
	}
	text := fmt.Sprintf("%s grows by %s, %s: %s a %s", place, units.Bytes(s.size), course,
		strings.Join(words, ", then "), unit)
	if s.primary == series.Host && s.class == HostGrowth {
		text += s.hostWords()
	}
	return text + fmt.Sprintf("; %d samples allow no trend test, so this rests on the size of the growth",
		len(s.Judged.Clock))
}

func (s *settled) noneClaim() string {
	if s.restsOn == ByObjects {
		return s.why + "."
	}
	if s.restsOn == ByLeftover {
		return fmt.Sprintf("what the program took it gave back; nothing above %s is left over.",
			units.Bytes(s.Least))
	}
	var parts []string
	for i, k := range series.AccountKeys {
		if g := s.Grow[k]; g.Known && s.Judged.Series[k] != nil {
			parts = append(parts, fmt.Sprintf("%s %s", series.AccountNames[i], g.Shape))
		}
	}
	text := fmt.Sprintf("no account grows (%s)", strings.Join(parts, ", "))
	if m := mostHidden(&s.Examined); m > 0 {
		text += fmt.Sprintf("; a growth above %s %s would have been seen", units.Bytes(m),
			article(driven.ClockUnit(s.Judged)))
	}
	return text + "."
}

// mostHidden is the largest rate that could have gone unseen in an account.
func mostHidden(x *growth.Examined) float64 {
	m := 0.
	for _, k := range series.AccountKeys {
		if g := &x.Grow[k]; g.Known && x.Judged.Series[k] != nil {
			if d := x.Judged.Detectable(g); d != nil {
				m = math.Max(m, *d)
			}
		}
	}
	return m
}

func (s *settled) undecidedClaim(v *Verdict) string {
	text := s.why
	if s.why == "" {
		isOpen := func(k series.Key) bool {
			return s.Judged.Series[k] != nil && (s.Grow[k].Shape == trend.ShapeUndecided || !s.Grow[k].Known)
		}
		var open []string
		for i, k := range series.AccountKeys {
			if isOpen(k) {
				open = append(open, string(series.AccountNames[i]))
			}
		}
		if isOpen(series.Count) {
			open = append(open, "the count of live handles")
		}
		if isOpen(series.Device) && len(open) == 0 {
			open = append(open, "the device memory of the process")
		}
		text += "the samples neither show nor exclude growth of " + strings.Join(open, ", ")
		if len(open) == 0 {
			text = "too little of the program was seen to exclude a growth"
		}
	}
	if v.MoreMinutes != nil {
		text += fmt.Sprintf("; about %s more would settle it", units.Span(60**v.MoreMinutes))
	}
	return text + "."
}

// article is a unit's name with "a" or "an" before it.
func article(unit string) string {
	if unit != "" && strings.ContainsRune("aeio", rune(unit[0])) {
		return "an " + unit
	}
	return "a " + unit
}

// slope is one stretch of a short run.
type slope struct{ bytes, seconds, steps float64 }

// stretches are the parts of a short series between its known rows.
func stretches(l *series.Accounts, k series.Key) []slope {
	var out []slope
	last := -1
	for i, v := range l.Series[k] {
		if v != v {
			continue
		}
		if last >= 0 {
			p := slope{bytes: v - l.Series[k][last], seconds: l.Clock[i] - l.Clock[last]}
			if l.Step != nil {
				p.steps = l.Step[i] - l.Step[last]
			}
			out = append(out, p)
		}
		last = i
	}
	return out
}
