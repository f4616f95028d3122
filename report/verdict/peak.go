package verdict

import (
	"cmp"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// tellPeak adds what the run tells of its memory beside growth, and says again what the
// verdict is about, which the profiled steps may tell a line of; nil of a run without rows.
func (v *Verdict) tellPeak(run *record.Run, about *settled) {
	sure := v.Tier == Confirmed || v.Tier == Likely
	m := peak.Of(run, peak.Growth{
		Sure:  sure && v.Verdict != None && v.Verdict != Undecided,
		Class: string(v.Verdict), Claim: v.Claim, Bytes: v.rise(Live),
	})
	v.OOM, v.Peak, v.Composition = m.OOM, m.Peak, m.Composition
	if about != nil && v.Verdict == None && wasFull(m.OOM) {
		v.takeBack(about)
	}
	if m.Missing != "" {
		v.Missing = append(v.Missing, "peak: "+m.Missing)
	}
	if about != nil && leftAt(about, v.Peak) != "" {
		say(about, v)
	}
	if m.OOM.Ended() {
		v.Answer = sentence(OutOfMemory, m.OOM.Sentence)
		if m.OOM.Reason != peak.Killed || !m.OOM.Tells(v.Claim) { // what grows has to be mended there
			v.Next = cmp.Or(m.OOM.Advice(), v.Next)
		}
	}
}

// wasFull: the program ended because it had filled what memory it could have.
func wasFull(o *peak.OOM) bool {
	return o.Ended() && (o.Reason == peak.Growing || o.Reason == peak.Held)
}

// takeBack makes undecided of a verdict that no account grows.
func (v *Verdict) takeBack(s *settled) {
	decideFull(s)
	v.Verdict, v.Tier, v.Confidence = s.class, s.tier(), stat.Round(s.confidence)
	v.RestsOn, v.score, v.scoreKind = s.restsOn, s.score, ""
	v.DrivenBy, v.Background = s.drivenBy()
	v.MoreMinutes = s.moreMinutes()
	v.Summary = sentence(s.lead(), s.claim(v))
	say(s, v)
}

// rise is by how much an account grew; 0 where that is unknown.
func (v *Verdict) rise(a Account) int64 {
	for _, row := range v.Accounts {
		if row.Account == a && row.ChangeBytes != nil {
			return *row.ChangeBytes
		}
	}
	return 0
}

// OutOfMemory is what an answer begins with that says why a program ran out of memory.
const OutOfMemory = "out of memory"

// Of what profiled steps left behind one line must have asked for leastLeft to be told for
// it. What grows once in some steps may be in a window twice as often as in the run.
const (
	leastLeft = .4
	mostLeft  = 2.5
)

// leftAt is the line that asked for most of what the profiled steps left behind, where
// that is about as much a step as what is live grew by: "train.py:88 in forward". Empty
// of no window, and where the steps left another amount: then it was not what grows.
func leftAt(s *settled, p *peak.Peak) string {
	if p == nil || p.LeftSteps < 1 || s.class != AppLeak || s.primary != series.Live ||
		s.PID != 0 && p.PID != s.PID {
		return ""
	}
	_, step := s.Judged.Rates(&s.Grow[series.Live])
	if step == nil {
		return ""
	}
	part := float64(p.LeftBytes) / float64(p.LeftSteps) / step.Value
	if !(part >= looks.LeastExplained && part <= mostLeft) {
		return ""
	}
	rows := make([]SiteRow, len(p.Left))
	for i, l := range p.Left {
		rows[i] = SiteRow{Site: l.Site, Bytes: l.Bytes}
	}
	return place.Heaviest(rows, func(r SiteRow) int64 { return r.Bytes }, leastLeft*float64(p.LeftBytes),
		false)
}
