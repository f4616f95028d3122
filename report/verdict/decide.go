package verdict

import (
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/workers"
	"github.com/gpumem/gpumem/tracer/record"
)

// decide weighs the findings on a process, and then its experiments. It and what it
// calls in this file are the only writers of a class, and of an account's shape
// beside the trend's own. Later findings speak only where the earlier ones leave
// them room:
//
//   - what grows in a program that was reading its code in is no growth of its work, and
//     that nothing grew until then says nothing of it, unless that was all of its life;
//   - a pool that fills again and again has no trend: it counts where nothing grows;
//   - containers that were looked at decide where the trend is open, and say so where
//     what it saw is a container that fills up, or memory that was reserved before;
//   - so do the places that ask the driver for more and more, and also where the trend saw
//     nothing below what comes and goes;
//   - so do the ages of the allocator's blocks, and of these one kind also where the trend
//     saw nothing below a sawtooth;
//   - what was left over counts where its trust is above the trend's, unless the
//     trend is of twice as much; where nothing was left over and nothing surely
//     grows, nothing does;
//   - the size of a growth counts in runs that are too short for all else.
func decide(x *growth.Examined, f evidence.Findings) *settled {
	s := &settled{Examined: *x, found: rows(&f)}
	d := &s.decision
	d.take(f.Trend)
	d.shares = f.Shares
	if f.Objects != nil {
		s.held, s.objects = f.Objects.Holder, f.Objects
	}
	if f.Starting != nil && (f.Trend.Owner != finding.Nobody || x.Imports) {
		d.take(*f.Starting)
		d.shares = nil
	}
	if f.Refill != nil && d.open() {
		d.take(*f.Refill)
		s.Grow[series.Idle].Shape = trend.Bounded
	}
	if f.Starting == nil {
		s.weighObjects(f.Objects)
		s.weighObjects(f.Reserved)
		s.weighObjects(f.Collected)
		weighAges(s, f.Ages)
		s.weighObjects(f.Sites)
		weighHidden(s, f.Hidden)
	}
	d.weighLeftovers(f)
	if f.Magnitude != nil && d.restsOn == "" {
		d.take(*f.Magnitude)
	}
	d.weighManaged(f.Managed)
	withoutSight(s)
	d.weighExperiments(s.Experiments(), s.Least)
	if s.KeptMore != "" && d.class == HostGrowth && d.primary == series.Host {
		d.restsOn, d.score, d.why = ByObjects, .9, s.KeptMore
	}
	d.confidence = confidenceOf(&s.Examined, *d)
	if _, more := cachedRecords(s); more > 0 {
		d.confidence = min(d.confidence, growth.CachedTrust)
	}
	hardlySeen(s)
	withoutRate(s)
	withoutHolder(s)
	withoutCalls(s)
	if hazards(&s.Examined.Process) > 0 {
		d.confidence = min(d.confidence, hazardous)
		s.found = append(s.found, hazardRow(s))
	}
	return s
}

// withoutSight takes back that nothing grows where the trend would not have seen it.
func withoutSight(s *settled) {
	if s.class != None || s.restsOn != "" {
		return
	}
	of, why := series.Host, mayHide(s)
	if why == "" {
		of, why = comesAgain(s)
	}
	if why == "" {
		return
	}
	s.Grow[of].Shape = trend.ShapeUndecided
	s.decision = decision{class: Undecided, primary: series.Keys, notes: s.notes, lacking: s.lacking,
		why: why}
}

// withoutHolder takes back a growth that may be the program's start, or its device's.
func withoutHolder(s *settled) {
	why := deviceIsYoung(s)
	if why != "" && s.holdsMore() {
		return
	}
	if why == "" && s.class == HostGrowth {
		why = mayBeStarting(s)
	}
	for _, fills := range [...]func(*settled) string{
		poolFills, fillsUp, notEmptied, fewElements, fewHandles, fillsAndMore, mayBeDead, v8MayBeDead, slowsDown,
		cacheMayFill, slightAndLate, besideArrays, besideHolder,
	} {
		if why == "" {
			why = fills(s)
		}
	}
	if why == "" {
		return
	}
	s.Grow[s.primary].Shape = trend.ShapeUndecided
	s.decision = decision{class: Undecided, primary: series.Keys, notes: s.notes, lacking: s.lacking,
		why: why}
}

// withoutCalls takes back what the driver's calls alone tell where some were not seen.
func withoutCalls(s *settled) {
	why := callsTellNot(s)
	if why == "" {
		return
	}
	if s.primary != series.Keys {
		s.Grow[s.primary].Shape = trend.ShapeUndecided
	}
	s.decision = decision{class: Undecided, primary: series.Keys, notes: s.notes, lacking: true, why: why}
}

// withoutRate takes back a growth that the trend is not sure of where what a second
// costs, or both a unit of work and what the trend fits to the rows, may as well be
// nothing: the program is filling up, or swings too slowly for the time that it was
// seen, or the machine was too busy for its rows to come evenly. What the trend fits is
// enough where the growth is slight, and containers that got longer decide all the same.
func withoutRate(s *settled) {
	if s.restsOn != ByTrend || s.class == Undecided || s.primary == series.Keys || s.tier() == Confirmed {
		return
	}
	low, _ := bounds(&s.Grow[s.primary])
	d, _ := s.drivenBy()
	unsure := d != nil && d.Low <= 0 && (d.Per == "second" || low != nil && *low <= 0)
	if !unsure && (low == nil || *low > 0 || !isSlight(s)) || s.holdsMore() {
		return
	}
	s.Grow[s.primary].Shape = trend.ShapeUndecided
	s.decision = decision{class: Undecided, primary: series.Keys, notes: s.notes, lacking: s.lacking}
}

// decideDifference is decide for the difference of two runs, which has trends and
// leftovers alone.
func decideDifference(x *growth.Examined, growth finding.Finding, leftover *finding.Finding) *settled {
	s := &settled{Examined: *x}
	s.take(growth)
	if leftover != nil && s.restsOn != ByTrend {
		s.take(*leftover)
	}
	s.confidence = confidenceOf(&s.Examined, s.decision)
	return s
}

// decideTree decides on workers that nobody ends; nil where there are none, or where
// a process grows by more by itself. The decision is about the process that started
// them.
func decideTree(all []*settled, worst *settled) *settled {
	first := firstOf(all)
	if first == nil {
		return nil
	}
	var others []*series.Process
	for _, s := range all {
		if s != first {
			others = append(others, &s.Process)
		}
	}
	f := workers.Find(&first.Process, others)
	if f == nil || gravity(worst.class) > gravity(Undecided) && worst.size >= f.Size {
		return nil
	}
	s := &settled{Examined: first.Examined, found: rows((&evidence.Findings{Trend: *f}))}
	s.take(*f)
	s.confidence = confidenceOf(&s.Examined, s.decision)
	return s
}

// fullWords are the reason of an undecided. An allocator may wait for memory before it gives
// up (JAX's for 10 s): what is live stands still then, and that is no sign of health.
const fullWords = "the program stood still once its memory was full, and may have grown until then"

// decideFull leaves a program open that ended because it was full, and of which no account
// was seen to grow.
func decideFull(s *settled) {
	s.decision = decision{class: Undecided, primary: series.Keys, notes: s.notes, lacking: true,
		why: fullWords}
	s.confidence = confidenceOf(&s.Examined, s.decision)
}

// undecided is the decision on a run without rows.
func undecided(why string) decision {
	var d decision
	d.take(finding.Finding{Of: series.Keys, Why: why})
	return d
}

// take lets a finding decide. Something that was not recorded stays so.
func (d *decision) take(f finding.Finding) {
	d.class, d.primary, d.restsOn = classOf(f.Owner), f.Of, f.By
	d.score, d.size, d.why, d.site = f.Score, f.Size, f.Why, f.Site
	d.lacking = d.lacking || f.Lacking
	if f.Note != "" {
		d.notes = append(d.notes, f.Note)
	}
}

// classOf is the class of a growth by its owner.
func classOf(o finding.Owner) Class {
	switch o {
	case finding.Nobody:
		return None
	case finding.TheProgram:
		return AppLeak
	case finding.ThePool:
		return PoolGrowth
	case finding.TheDriver:
		return DriverGrowth
	case finding.TheHost:
		return HostGrowth
	}
	return Undecided
}

// weighObjects lets what the looks found stand beside the trend. Where the trend is
// open they decide; where both tell of the same growth, each makes the other surer;
// and a container that has a bound is warming up, however straight it rises.
func (s *settled) weighObjects(f *finding.Finding) {
	d := &s.decision
	if f == nil {
		return
	}
	same := d.primary == f.Of || f.Of == series.Host && d.primary == series.Heap || f.Of == series.Live &&
		d.primary == series.Count
	unsure := d.class == Undecided && (d.primary == series.Keys || d.primary == f.Of)
	switch {
	case f.Owner == finding.Nobody && (same && d.restsOn == ByTrend || unsure && !poolMayGrow(s, f.Of)):
		d.take(*f)
		d.shares, d.lacking = nil, false
		s.Grow[f.Of].Shape = trend.Plateau
	case f.Owner == finding.Nobody:
	case d.class == None && d.restsOn == "" && f.Floor:
		d.take(*f)
		s.Grow[f.Of].Shape = trend.Growing
	case d.class == None && d.restsOn == "" && isBelowSight(s, f):
		d.class, d.why = Undecided, hiddenWords(f)
		s.Grow[f.Of].Shape = trend.ShapeUndecided
	case f.Owner == finding.Unknown:
		switch {
		case d.class == AppLeak:
			d.notes = append(d.notes, f.Why)
		case d.class == Undecided && d.why == "":
			d.why = f.Why
		}
	case unsure:
		d.take(*f)
		d.lacking = false
		s.Grow[f.Of].Shape = trend.Growing
	case d.restsOn == ByTrend && d.primary == series.Count && f.Of == series.Live && f.Floor: // and its bytes
		d.take(*f)
		s.Grow[f.Of].Shape = trend.Growing
	case same && d.restsOn == ByTrend && d.class != Undecided:
		d.bounds = append(d.bounds, bound{least: f.Score, most: 1})
	}
}

// poolMayGrow reports whether the pool may grow: its course is open, and it rose by more than what is live did. That a
// container on the device is full says nothing of that.
func poolMayGrow(s *settled, of series.Key) bool {
	idle, live := &s.Grow[series.Idle], &s.Grow[series.Live]
	isOpen := idle.Known && idle.Shape == trend.ShapeUndecided && idle.Gained() > live.Gained()
	return isOpen && (of == series.Live || of == series.Device)
}

// weighHidden lets a place that the driver's calls tell of speak where the sums show nothing.
func weighHidden(s *settled, f *finding.Finding) {
	d := &s.decision
	isOpen := d.class == None || d.class == Undecided && (d.primary == series.Keys || d.primary == series.Live)
	if f == nil || d.restsOn != "" || !isOpen {
		return
	}
	d.shares, d.lacking = nil, false
	if f.Owner == finding.Unknown {
		d.class, d.primary, d.why = Undecided, series.Keys, f.Why
		s.Grow[f.Of].Shape = trend.ShapeUndecided
		return
	}
	d.take(*f)
	s.Grow[f.Of].Shape = trend.Growing
}

// weighLeftovers lets what was left over stand beside the trend: the stronger
// evidence gives the verdict.
func (d *decision) weighLeftovers(f evidence.Findings) {
	if f.Work != nil && d.restsOn == ByTrend {
		d.take(*f.Work)
	}
	left := f.Leftover
	switch {
	case left == nil:
		if f.GaveBack != nil && d.class == Undecided && d.primary == series.Keys {
			d.take(*f.GaveBack)
		}
	case d.restsOn == ByTrend && (finding.OfTrend(d.score) >= left.Score || d.size > 2*left.Size):
	default:
		d.take(*left)
	}
}

// weighExperiments lets receipts speak: what a purge returned was retention, what a
// collection returned was a cycle the program's own objects made. They settle doubt
// and raise or lower confidence; they do not find growth where none was seen.
func (d *decision) weighExperiments(receipts []Experiment, least float64) {
	if d.class == None || d.size <= 0 {
		return
	}
	for _, r := range receipts {
		back := r.Returned()
		proved := back > least && back >= decisive*d.size
		ownerless := d.class == Undecided && d.primary == series.Device
		purge, collect := r.Action == record.ActionPurge, r.Action == record.ActionCollect
		switch {
		case purge && proved && (d.class == PoolGrowth || ownerless):
			d.class, d.why, d.lacking = PoolGrowth, "", false
			d.bounds = append(d.bounds, bound{least: proves, most: 1})
		case purge && d.class == PoolGrowth && r.ClaimedBytes != nil && back < inVain*d.size:
			d.bounds = append(d.bounds, bound{most: doubts})
			d.notes = append(d.notes, "the purge did not return the idle growth to the system")
		case collect && proved && (d.class == AppLeak || d.class == HostGrowth):
			d.bounds = append(d.bounds, bound{least: proves, most: 1})
		}
	}
	if d.class == PoolGrowth && d.restsOn == "" {
		d.restsOn = ByTrend
	}
	if d.class == Undecided && d.primary == series.Device && nothingBack(receipts, d.size) {
		d.why += "; neither collecting garbage nor purging the pool gave it back, " +
			"so that something still holds it, or the driver does"
	}
}

// shapeOf is the shape of an account as it is shown: that of its bytes, unless their
// number grows, or only their size in a short run tells.
func (s *settled) shapeOf(k series.Key) trend.Shape {
	if k == series.Host && untouched(&s.Examined) > 0 {
		return trend.ShapeUndecided
	}
	if s.restsOn == ByMagnitude && k == s.primary {
		return trend.Growing
	}
	count := series.CountOf(k)
	if count != series.Keys && s.Grow[count].Growing() && (k == series.Live || s.primary == count) {
		return trend.Growing
	}
	return s.Grow[s.Judged.BytesOf(k)].Shape
}
