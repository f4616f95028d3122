package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
)

// verdict writes down what was found.
func (s *settled) verdict() *Verdict {
	v := &Verdict{
		Schema: schema, Verdict: s.class, Tier: s.tier(), Confidence: stat.Round(s.confidence), RestsOn: s.restsOn,
		Window:      s.windowRow(),
		Accounts:    s.accountRows(),
		Measured:    s.measured(),
		Findings:    s.found,
		Causes:      s.causes(),
		Sites:       s.siteRows(),
		PoolSites:   sitesArePools(s),
		Stays:       staysOf(s),
		Clones:      s.Clones(),
		Holders:     s.Holders(),
		Experiments: s.Experiments(),
		Forecast:    s.forecast(),
		MoreMinutes: s.moreMinutes(),
		Missing:     missing(&s.Examined),
		Warnings:    append(append(warningTexts(s.Run), s.Judged.Warn...), s.notes...),
		Unified:     s.Whole.Book.Decided(),
		score:       s.score,
	}
	v.DrivenBy, v.Background = s.drivenBy()
	switch {
	case s.restsOn == ByTrend && s.class != Undecided:
		v.scoreKind = "trend"
	case s.restsOn == "" && s.class == None:
		v.scoreKind = "none"
	}
	v.Summary = sentence(s.lead(), s.claim(v))
	say(s, v)
	return v
}

// say writes down what a person reads first, of what the verdict has by now.
func say(s *settled, v *Verdict) {
	v.Parts = partsOf(s, v.Holders)
	v.Claim, v.Next = s.answer(v), nextParts(s.next(v), v.Parts, v.Holders)
	v.Answer = sentence(s.lead(), v.Claim)
	v.Holders = knownFirst(v.Holders)
}

// knownPart is the part of the largest row that tells nobody which a holder must have had to come before it.
const knownPart = .25

// knownFirst puts holders that were found while the program ran, and are gone since, before rows that tell
// nobody: at its end no name may lead any more to what they had.
func knownFirst(list []HolderRow) []HolderRow {
	first := slices.IndexFunc(list, tellsNobody)
	if first < 0 {
		return list
	}
	out, others := slices.Clone(list[:first]), []HolderRow(nil)
	for _, h := range list[first:] {
		if h.Gone && hasName(h.Path) && float64(h.Bytes) >= knownPart*float64(list[first].Bytes) {
			out = append(out, h)
		} else {
			others = append(others, h)
		}
	}
	return append(out, others...)
}

// tellsNobody reports whether a row is of arrays to which no name leads, or none that was found in time.
func tellsNobody(h HolderRow) bool {
	return h.IsNameless() || strings.HasSuffix(h.Path, ": not found in time")
}

// missing is what was not recorded, or cannot be known from what was.
func missing(x *growth.Examined) []string {
	out := x.Judged.Missing
	if b := untouched(x); b > 0 {
		out = append(out, fmt.Sprintf("host: %s or more of the device memory taken is not in the footprint "+
			"(pages count from their first use on), so what else is in it is unknown", units.Bytes(b)))
	}
	if _, ok := x.Left.Of(series.Live); x.Left.Has() && !ok && x.Whole.Series[series.Live] != nil {
		out = append(out,
			"leftover: the mark released has no sample of its own, so what was left over is unknown")
	}
	return out
}

func (s *settled) windowRow() Window {
	l := s.Judged
	n := len(l.Clock)
	w := Window{Samples: n}
	if n == 0 {
		return w
	}
	if l.Step != nil {
		w.Steps = int64(stat.Clamp(l.Step[n-1]-l.Step[0], 0, 1<<53))
	}
	if l.Untimed {
		return w
	}
	w.FromMs, w.ToMs = l.Clock[0]*1000, l.Clock[n-1]*1000
	w.WarmupMs = (l.Clock[warmRow(&s.Examined, s.primary)] - l.Clock[0]) * 1000
	return w
}

// accountRows are the accounts that anything is known of.
func (s *settled) accountRows() []AccountRow {
	var rows []AccountRow
	for i, k := range series.AccountKeys {
		count := series.CountOf(k)
		if s.Judged.Series[s.Judged.BytesOf(k)] == nil &&
			(count == series.Keys || s.Judged.Series[count] == nil) {
			continue
		}
		if k == series.Host && untouched(&s.Examined) > 0 {
			rows = append(rows, AccountRow{Account: Host, Shape: s.shapeOf(k)})
			continue
		}
		r := s.growthRow(i)
		if s.restsOn == ByMagnitude && k == s.primary {
			b := int64(s.size)
			r.Bytes, r.BytesLow, r.BytesHigh = &b, nil, nil
		}
		if count != series.Keys && s.Grow[count].Known {
			c := int64(math.Round(s.Grow[count].Amount()))
			r.Count = &c
		}
		r.LeftoverBytes = leftoverOf(&s.Examined, k)
		if count != series.Keys {
			r.LeftoverCount = leftoverOf(&s.Examined, count)
		}
		rows = append(rows, r)
	}
	s.addChanges(rows)
	return rows
}

// growthRow is an account's part of the growth, by its place in series.AccountKeys.
func (s *settled) growthRow(i int) AccountRow {
	k := series.AccountKeys[i]
	r := AccountRow{Account: series.AccountNames[i], Shape: s.shapeOf(k)}
	bytes := s.Judged.BytesOf(k)
	g := &s.Grow[bytes]
	if !g.Known {
		return r
	}
	b := int64(math.Round(g.Gained()))
	r.Bytes = &b
	r.BytesLow, r.BytesHigh = bounds(g)
	r.PerSecond, r.PerStep = s.Judged.Rates(g)
	if !s.Judged.Untimed {
		r.DetectablePerSecond = s.Judged.Detectable(g)
	}
	if part := s.shares.Part(bytes); part != nil {
		sh := stat.Round(part.Value)
		r.Share = &sh
	}
	return r
}

// leftoverOf is a key's leftover as a whole number; nil when unknown.
func leftoverOf(x *growth.Examined, k series.Key) *int64 {
	b, ok := x.Left.Of(k)
	if !ok {
		return nil
	}
	n := int64(math.Round(b))
	return &n
}
