package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Difference is what changed from one run to another.
type Difference struct {
	Schema     int     `json:"schema"`
	Verdict    Class   `json:"verdict"` // of the growth in New beyond Base
	Tier       Tier    `json:"tier"`
	Confidence float64 `json:"confidence"`
	Summary    string  `json:"summary"` // "verdict: claim"
	Claim      string  `json:"-"`       // the summary without the verdict
	// AlignedBy is "step" or "second"; Compared is how many of them both
	// runs have, counted from each one's start.
	AlignedBy string    `json:"aligned_by,omitempty"`
	Compared  float64   `json:"compared,omitempty"`
	Rows      []DiffRow `json:"accounts"`
	Base      *Verdict  `json:"base"`
	New       *Verdict  `json:"new"`
	Warnings  []string  `json:"warnings,omitempty"`
	// Peak compares what live memory was made of when the runs had most, Composition
	// what it was made of at their ends; nil where a run does not tell.
	Peak        *peak.Comparison `json:"peak,omitempty"`
	Composition *peak.Comparison `json:"composition,omitempty"`
}

// DiffRow is one account's difference.
type DiffRow struct {
	Account Account `json:"account"`
	// Growth is how many bytes (handles for "live" when Count) New grows
	// more than Base over what was compared, with its 95 % interval.
	Growth *series.Interval `json:"growth,omitempty"`
	Count  *series.Interval `json:"count,omitempty"`
	// PerUnit is Growth by step or second, as aligned.
	PerUnit *series.Interval `json:"per_unit,omitempty"`
	// Level is New's level above Base's in the middle of what was compared.
	Level *int64 `json:"level_bytes,omitempty"`
	// Noise is set when the growth is within noise: print it as "~".
	Noise bool `json:"noise"`
	// LeftoverBytes is New's leftover beyond Base's.
	LeftoverBytes *int64 `json:"leftover_bytes,omitempty"`
}

// Diff compares two runs: each account's growth in new beyond base, aligned
// by step where both have steps, else by time since the start. Of several
// processes the one that new's verdict is about is compared with the one that has
// its place in base; workers that new leaves, and base does not, decide by
// themselves. It is pure and deterministic, does not change the runs and does not
// panic.
func Diff(base, new *record.Run, o Options) *Difference {
	d := &Difference{Schema: 1, Base: Judge(base, o), New: Judge(new, o)}
	d.compareMemory()
	before, after := processesOf(base, o), processesOf(new, o)
	b := worstOf(judgedAmong(after))
	a := counterpart(before, after, b)
	if a == nil || b == nil {
		none := undecided("a run without samples cannot be compared.")
		d.Verdict, d.Tier, d.Claim = none.class, none.tier(), none.why
		d.Summary = sentence(string(d.Verdict), d.Claim)
		return d
	}
	p := &pair{base: a, new: b, o: o}
	d.Warnings = p.sameCounter()
	if b := p.untouched(); b > 0 {
		d.Warnings = append(d.Warnings,
			fmt.Sprintf(
				"host: %s or more of the device memory taken is not in the footprint; host memory was not compared",
				units.Bytes(b)))
	}
	p.align()
	d.AlignedBy, d.Compared = p.unit, stat.Round(p.span)
	s := p.judge()
	d.Rows = p.rows(s)
	d.Claim = p.claim(s)
	if tree := decideTree(after, b); tree != nil && decideTree(before, a) == nil {
		s, d.Claim = tree, tree.why+"; before it was not so."
	} else if p.saysTooLittle(s) && d.Base.Verdict == None && gravity(b.class) > gravity(Undecided) {
		s, d.Claim = b, "too little of both runs can be compared; by itself, "+d.New.Claim
	}
	d.Verdict, d.Tier, d.Confidence = s.class, s.tier(), stat.Round(s.confidence)
	d.Summary = sentence(string(d.Verdict), d.Claim)
	return d
}

// compareMemory compares what the runs tell of their memory beside growth.
func (d *Difference) compareMemory() {
	base := peak.Memory{OOM: d.Base.OOM, Peak: d.Base.Peak, Composition: d.Base.Composition}
	new := peak.Memory{OOM: d.New.OOM, Peak: d.New.Peak, Composition: d.New.Composition}
	d.Peak, d.Composition = peak.CompareTops(base, new), peak.CompareEnds(base, new)
}

// saysTooLittle reports whether a comparison without a growth leaves open whether new
// grows more than base: it is undecided, or of less than half of what new did.
func (p *pair) saysTooLittle(s *settled) bool {
	return s.class == Undecided || s.class == None && p.span < length(p.new.Judged.X(p.axis))/2
}

// processesOf are the processes of a run, judged; none of a run without rows.
func processesOf(run *record.Run, o Options) []*settled {
	if run == nil {
		return nil
	}
	return judgeAll(run, o, trend.ForReport())
}

// counterpart is the process of base that has the place of one of new: by the order
// in which they came, or the last that there is. Nil where either run has none.
func counterpart(base, new []*settled, one *settled) *settled {
	if len(base) == 0 || one == nil {
		return nil
	}
	base, new = inOrder(base), inOrder(new)
	return base[min(slices.Index(new, one), len(base)-1)]
}

// inOrder are processes in the order in which they came.
func inOrder(all []*settled) []*settled {
	begin := func(s *settled) float64 {
		if len(s.Whole.Clock) == 0 {
			return math.Inf(1)
		}
		return s.Whole.Clock[0]
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b *settled) int { return cmp.Compare(begin(a), begin(b)) })
	return out
}

// pair is two runs under comparison.
type pair struct {
	base, new *settled
	o         Options
	axis      trend.Axis
	unit      string
	span      float64
}

// sameCounter leaves device bytes beyond the pool's out when the driver's
// counter is in one run only: in the other, what stands in for it is less.
func (p *pair) sameCounter() []string {
	a, b := p.base.Judged, p.new.Judged
	if !a.Book.HasDevice() || !b.Book.HasDevice() ||
		(a.Cols[record.ColGPU] == nil) == (b.Cols[record.ColGPU] == nil) {
		return nil
	}
	for _, s := range [...]*settled{p.base, p.new} {
		for _, k := range [...]series.Key{series.Untracked, series.Device} {
			s.Judged.Series[k], s.Left.Held[k] = nil, nil
		}
	}
	return []string{record.ColGPU +
		": one run has the driver's counter and the other what the driver was asked for; " +
		"device bytes outside the pool were not compared"}
}

// untouched is the more of what both runs' footprints do not show.
func (p *pair) untouched() float64 {
	return math.Max(untouched(&p.base.Examined), untouched(&p.new.Examined))
}

// align chooses the axis and how much of it both runs cover.
func (p *pair) align() {
	p.axis, p.unit = trend.ByTime, "second"
	if p.base.Judged.Stepped() && p.new.Judged.Stepped() {
		p.axis, p.unit = trend.ByStep, "step"
	}
	p.span = math.Min(length(p.base.Judged.X(p.axis)), length(p.new.Judged.X(p.axis)))
}

func length(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	return x[len(x)-1] - x[0]
}

// judge runs the growth test on the differences of the two runs' blocks and
// decides about what grows as in one run.
func (p *pair) judge() *settled {
	x := &growth.Examined{Kind: p.new.Kind}
	x.Run, x.Events, x.Least = p.new.Run, p.new.Events, p.o.leftover()
	x.Judged, x.Whole = p.new.Judged, p.new.Whole
	x.PID, x.Touch = p.new.PID, p.new.Touch
	if x.Kind.Name != "" {
		p.base.Judged.Series[series.Handles] = p.base.Judged.Alive(x.Kind.Column)
	}
	for k := series.Key(0); k < series.Keys; k++ {
		x.Grow[k] = p.examine(k)
	}
	x.Records = x.FindRecords()
	return decideDifference(x, p.growth(x), p.leftover())
}

// growth is what the differences of the blocks say.
func (p *pair) growth(x *growth.Examined) finding.Finding {
	e := evidence.TrendsOf(x)
	k, whose := e.Blame(x.Grow.Amounts())
	if own := p.new.owner(); own != finding.Unknown && ofHost(k) && ofHost(p.new.primary) {
		whose = own // the run by itself has more to tell host and driver by
	}
	switch {
	case whose != finding.Unknown:
		return evidence.Grown(&x.Grow[k], k, whose, 1)
	case k == series.Device:
		return finding.Finding{Of: k,
			Why: "device memory grows more than before, and no allocator counters tell who holds it"}
	}
	return evidence.FindQuiet(e)
}

// ofHost reports whether a series is host memory.
func ofHost(k series.Key) bool { return k == series.Host || k == series.Heap }

// owner is whose host memory grows by the verdict on a process; unknown of another.
func (d *decision) owner() finding.Owner {
	switch d.class {
	case HostGrowth:
		return finding.TheHost
	case DriverGrowth:
		return finding.TheDriver
	}
	return finding.Unknown
}

// examine tests the growth of one key in new beyond base.
func (p *pair) examine(k series.Key) trend.Growth {
	a, b := p.base.Judged, p.new.Judged
	delta := math.Max(a.Delta(k), b.Delta(k))
	g := trend.Growth{Shape: trend.ShapeUndecided, Axis: p.axis, Delta: delta}
	if a.Series[k] == nil || b.Series[k] == nil || p.span <= 0 {
		return g
	}
	n := min(len(a.Clock), len(b.Clock))
	blocks := trend.BlockCount(n, max(p.base.Grow[k].Cycle.Length, p.new.Grow[k].Cycle.Length))
	if blocks < trend.MinBlocks {
		return g
	}
	ya, yb := p.grid(a, k, blocks), p.grid(b, k, blocks)
	var x, y []float64
	for i := range ya {
		if d := yb[i] - ya[i]; d == d {
			x, y = append(x, (float64(i)+.5)/float64(blocks)*p.span), append(y, d)
		}
	}
	if len(x) < trend.MinBlocks {
		return g
	}
	g = trend.OfBlocks(x, y, p.span, trend.Question{Delta: delta, Net: series.Net(k),
		Conditions: trend.ForReport()})
	g.Axis = p.axis
	if own := &p.new.Grow[k]; g.Growing() && own.Known && own.Amount() < g.Amount()/2 {
		g.Shape = trend.Flat // what differs is that base fell
	}
	return g
}

// grid is a key's troughs in equal parts of the compared span; unknown where
// a part has no sample.
func (p *pair) grid(l *series.Accounts, k series.Key, blocks int) []float64 {
	x, y := l.X(p.axis), l.Series[k]
	sum := make([][]float64, blocks)
	for i, v := range y {
		if v != v {
			continue
		}
		b := int((x[i] - x[0]) / p.span * float64(blocks))
		if b == blocks && x[i]-x[0] <= p.span {
			b--
		}
		if b >= 0 && b < blocks {
			sum[b] = append(sum[b], v)
		}
	}
	out := make([]float64, blocks)
	for b := range out {
		out[b] = math.NaN()
		if len(sum[b]) > 0 {
			out[b] = trend.Lowest(sum[b], series.Share(k))
		}
	}
	return out
}

// leftover is what new left over beyond base; nil where that does not matter, or is
// not known.
func (p *pair) leftover() *finding.Finding {
	if !p.base.Left.Has() || !p.new.Left.Has() {
		return nil
	}
	var f *finding.Finding
	most := p.o.leftover()
	for _, k := range [...]series.Key{series.Live, series.Idle, series.Untracked} {
		if b, ok := p.leftoverOf(k); ok && b > most {
			most = b
			f = &finding.Finding{By: ByLeftover, Of: k, Owner: finding.OwnerOf(k),
				Score: evidence.LeftoverTrust[k],
				Size:  b}
		}
	}
	return f
}

func (p *pair) leftoverOf(k series.Key) (float64, bool) {
	a, okA := p.base.Left.Of(k)
	b, okB := p.new.Left.Of(k)
	return b - a, okA && okB
}

// rows are the accounts that both runs have.
func (p *pair) rows(s *settled) []DiffRow {
	rows := []DiffRow{}
	for i, k := range series.AccountKeys {
		if p.base.Judged.Series[k] == nil || p.new.Judged.Series[k] == nil ||
			k == series.Host && p.untouched() > 0 {
			continue
		}
		r := DiffRow{Account: series.AccountNames[i], Noise: true}
		if g := &s.Grow[k]; g.Known {
			r.Growth, r.PerUnit = series.IntervalOf(g, g.Span), series.IntervalOf(g, 1)
			r.Noise = !g.Growing() && !(g.High < 0 && -g.Amount() > g.Delta)
		}
		if k == series.Live && s.Grow[series.Count].Known {
			r.Count = series.IntervalOf(&s.Grow[series.Count], s.Grow[series.Count].Span)
			r.Noise = r.Noise && !s.Grow[series.Count].Growing()
		}
		level := int64(math.Round(series.Middle(p.new.Judged.Series[k]) - series.Middle(p.base.Judged.Series[k])))
		r.Level = &level
		if b, ok := p.leftoverOf(k); ok {
			n := int64(math.Round(b))
			r.LeftoverBytes = &n
			r.Noise = r.Noise && math.Abs(b) <= p.o.leftover()
		}
		rows = append(rows, r)
	}
	return rows
}

func (p *pair) claim(s *settled) string {
	switch s.class {
	case None:
		return fmt.Sprintf("no account grows more than before over %.4g %ss.", p.span, p.unit)
	case Undecided:
		if s.why != "" {
			return s.why + "."
		}
		return "the two runs neither show nor exclude more growth."
	}
	if s.restsOn == ByLeftover {
		b, _ := p.leftoverOf(s.primary)
		return fmt.Sprintf("%s more are left over than before in %s.", units.Bytes(b), s.what())
	}
	g := &s.Grow[s.primary]
	return fmt.Sprintf("%s grows by %s more than before over %.4g %ss (%s a %s).",
		s.what(), s.quantity(g.Amount()), p.span, p.unit, strings.TrimSpace(s.quantity(g.Rate)), p.unit)
}
