package evidence

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// handleLeast is what a live handle is taken to hold when live bytes do not
// show it.
const handleLeast = 4 * kib

// Trends are what the finding of the trends is reached from.
type Trends struct {
	grow *growth.Growths    // of each series
	rows *series.Accounts   // that these are of
	kind account.HandleKind // of series.Handles
	host hostEvidence       // whose host memory it is; of one that does not grow it is not looked at
	// managed: what is untracked is managed memory that the program keeps.
	managed bool
	// ring: what comes on the device is kept by a container that lets go of as many elements.
	ring bool
}

// TrendsOf are those of a process.
func TrendsOf(x *growth.Examined) *Trends {
	e := &Trends{grow: &x.Grow, rows: x.Judged, kind: x.Kind, managed: keepsManaged(x), ring: keepsInRing(x)}
	if x.Grow.Amounts()[series.Host] > 0 {
		e.host = hostEvidenceOf(x)
	}
	return e
}

// findTrend is what the trends say: the account that explains the growth, with the
// shares of all that grow; that nothing grows; or why neither is known.
func findTrend(e *Trends) (finding.Finding, *Shares) {
	a := e.grow.Amounts()
	k, whose := e.Blame(a)
	larger := e.grow.Eclipsed(a, k, whose)
	if k == series.Live && a[series.Idle] > rivalFactor*a[k] && fewAlike(e.rows, e.grow[series.Idle].From) {
		larger = series.Idle
	}
	if larger < series.Keys {
		why := " rose by far more than the accounts that surely grow; whether it will go on is open"
		return finding.Finding{Of: series.Keys, Why: series.AccountWords[larger] + why}, nil
	}
	switch {
	case whose != finding.Unknown:
		sh := shareOut(e, a, k)
		return Grown(&e.grow[k], k, whose, sh.agreement), sh
	case k == series.Device:
		return finding.Finding{Of: k, Size: e.grow[k].Gained(), Lacking: true, Why: e.ownerlessWords()}, nil
	}
	return FindQuiet(e), nil
}

// Grown is the finding of a growth. Its score is the decades of evidence that
// something grows times the part of the bootstrap's draws that blame the same owner.
func Grown(g *trend.Growth, k series.Key, whose finding.Owner, agreement float64) finding.Finding {
	return finding.Finding{By: finding.ByTrend, Of: k, Owner: whose, Score: g.Evidence * agreement,
		Size: g.Gained()}
}

// Blame names the account of growing amounts and its owner; series.Keys when nothing
// grows, and an unknown owner where none is told. The host may grow in these amounts
// only where it does in those of the growths.
func (e *Trends) Blame(a [series.Keys]float64) (series.Key, finding.Owner) {
	switch {
	case e.leaks(a):
		if a[series.Live] == 0 {
			return series.Count, finding.TheProgram
		}
		return series.Live, finding.TheProgram
	case a[series.Idle] > 0 && a[series.Idle] >= a[series.Untracked] && a[series.Idle] >= a[series.Host]:
		return series.Idle, finding.ThePool
	case a[series.Untracked] > 0 && a[series.Untracked] >= driverShare*a[series.Host]:
		if e.managed {
			return series.Untracked, finding.TheProgram
		}
		return series.Untracked, finding.TheDriver
	case e.ownerless(a):
		return series.Device, finding.Unknown
	case a[series.Host] > 0 && e.grow[series.Host].Growing():
		return series.Host, e.host.owner(a)
	case a[series.Host] > 0:
		return series.Heap, e.host.owner(a)
	case a[series.Handles] > 0 && e.handlesGrow():
		return series.Handles, finding.TheDriver
	case e.grow[series.Device].Growing():
		return series.Device, finding.Unknown
	}
	return series.Keys, finding.Unknown
}

// keepsManaged reports whether what the driver charges beyond live and idle is the
// program's: what it asked for as managed memory, which is live to no account because some
// of it may lie in the host's, rose by half as much or more. Libraries ask for none.
func keepsManaged(x *growth.Examined) bool {
	g := &x.Grow[series.Untracked]
	return g.Growing() && x.Judged.AsksItself() &&
		x.Judged.Rise(record.ColDriverManagedBytes, g.From) >= g.Amount()/2
}

// handlesGrow reports whether a growing number of handles tells something: it is no
// cache that fills, and no device memory of unknown owner grows that somebody asked for.
func (e *Trends) handlesGrow() bool {
	return growth.Filling(e.kind, &e.grow[series.Handles]) == 0 &&
		(!e.grow[series.Device].Growing() || e.unasked())
}

// ownerless: device memory of unknown owner grows by more than the host, whose
// growth is then not the answer.
func (e *Trends) ownerless(a [series.Keys]float64) bool {
	return a[series.Device] > 0 && a[series.Device] >= a[series.Host] &&
		!(a[series.Handles] > 0 && e.handlesGrow())
}

// ownerlessWords are the reason of an undecided: device memory grows, and nothing
// tells who holds it.
func (e *Trends) ownerlessWords() string {
	if g := &e.grow[series.Device]; e.rows.Rise(record.ColDriverAllocBytes, g.From) >= g.Amount()/2 {
		return "device memory grows by what the driver was asked for, " +
			"but no allocator counters tell whether the program uses it or keeps it in a pool"
	}
	return "device memory grows, " +
		"but no allocator counters tell whether the program, its pool or the driver holds it"
}

// unasked reports whether what the driver was asked for is known to have risen by
// less than half of what the device memory of unknown owner grew by.
func (e *Trends) unasked() bool {
	g := &e.grow[series.Device]
	return e.rows.Rise(record.ColDriverAllocBytes, g.From) < g.Amount()/2
}

// driverShare is the part of host growth that growing untracked bytes must
// reach to claim it.
const driverShare = .1

// rivalFactor is how much more another account must grow to be the answer
// although the program's own bytes grow too.
const rivalFactor = 1.4

// hostFactor is the same of the host beside arrays that the program surely keeps on a device: what
// keeps these, such as a function compiled for each of them, often takes more of the host. Of 490 programs
// with a known fault none was known to be the host's where it rose by 1.4 to 5 times as much as what is live,
// and four the arrays'.
const hostFactor = 5

// leaks: the program holds more and more.
func (e *Trends) leaks(a [series.Keys]float64) bool {
	g := e.grow
	if a[series.Live] == 0 && a[series.Count] == 0 {
		return false
	}
	own := a[series.Live]
	if own == 0 {
		own = math.Max(g[series.Live].Amount(), handleLeast*a[series.Count])
	}
	if hostOfHandles(a) {
		own += a[series.Host]
	} else if a[series.Host] > hostFactor*own {
		return false
	}
	if a[series.Idle] > rivalFactor*own && (e.captures() || e.ring || !Outgrows(g, e.rows, a)) {
		return false
	}
	return a[series.Untracked] <= rivalFactor*own
}

// keepsInRing reports whether most of what came on the device by the last look is in containers that are full:
// what is live rises no further than new elements are larger than those that they replace.
func keepsInRing(x *growth.Examined) bool {
	if !x.Grow[series.Idle].Growing() {
		return false
	}
	full, all := 0., 0.
	for _, c := range looks.Courses(&x.Process) {
		rate := c.Looks[len(c.Looks)-1].Rate()
		if all += rate; c.IsFull() {
			full += rate
		}
	}
	return full > 0 && full >= mostIsBounded*all
}

// captures reports whether more graphs of the device's are alive than when the pool's bytes began to rise:
// each has a pool of its own, in which all that it works with stays.
func (e *Trends) captures() bool { return e.rows.Rise(record.ColGraphs, e.grow[series.Idle].From) > 0 }

// mostOutgrown is how many times the growth of what is live a pool may keep of blocks
// that became too small for it.
const mostOutgrown = 50

// Outgrows reports whether what is live grows in size and not in number. Each larger request
// leaves a block behind that is too small for the next, so what the pool keeps follows from it. Where
// the program keeps more and more arrays, and puts them together now and then, requests grow as well:
// what they leave behind rises ever faster, or the pool takes ever larger segments for them. A pool that takes
// segments of one size keeps none that was too small.
func Outgrows(g *growth.Growths, rows *series.Accounts, a [series.Keys]float64) bool {
	if !(a[series.Live] > 0 && a[series.Idle] <= mostOutgrown*a[series.Live]) {
		return false
	}
	if g[series.Count].Known && a[series.Count] == 0 {
		return !segmentsAlike(rows, g[series.Idle].From)
	}
	if !(a[series.Count] > 0 && g[series.Live].Evidence >= surelyLive) {
		return false
	}
	return speedsUp(&g[series.Idle]) || segmentsClimb(rows, g[series.Idle].From)
}

// What is live is sure to grow from so many decades of evidence on; a growth speeds up that rises by so
// many times as much in the second half of its window, or is only seen late in it. Segments climb by as much.
const (
	surelyLive = 4.
	speedUp    = 1.5
)

func speedsUp(g *trend.Growth) bool {
	y := g.BlockY
	if g.Late || len(y) < trend.MinBlocks {
		return g.Late
	}
	half, last := len(y)/2, len(y)-1
	return y[last]-y[half] >= speedUp*(y[half]-y[0])
}

// segmentsClimb reports whether the largest memory that the driver was asked for at once was larger
// in the second half of the rows from one on than in the first, by as many times.
func segmentsClimb(rows *series.Accounts, from int) bool {
	asked, pieces := rows.Cols[record.ColDriverAllocBytes], rows.Cols[record.ColDriverAllocs]
	if asked == nil || pieces == nil {
		return false
	}
	var largest [2]float64
	before, half := from, (rows.Clock[from]+rows.Clock[len(rows.Clock)-1])/2
	for i := from; i < len(rows.Clock); i++ {
		if math.IsNaN(asked[i]) || math.IsNaN(pieces[i]) {
			continue
		}
		part := 0
		if rows.Clock[i] > half {
			part = 1
		}
		if n := pieces[i] - pieces[before]; n > 0 {
			largest[part] = math.Max(largest[part], (asked[i]-asked[before])/n)
		}
		before = i
	}
	return largest[0] > 0 && largest[1] >= speedUp*largest[0]
}

// Segments are alike where so many were taken and the largest is no more than so many times the smallest, and may
// be from someSegments on.
// PyTorch takes small requests in pieces of 2 and of 20 MiB, whose size says nothing of theirs
// (c10/cuda/CUDACachingAllocator.cpp: kSmallBuffer, kLargeBuffer).
const (
	manySegments = 6
	someSegments = 3
	alikeTimes   = 1.02
	smallPiece   = 2 << 20
	largePiece   = 20 << 20
)

// segmentsAlike reports whether the pool took the same from the driver each time, over the rows from one on.
func segmentsAlike(rows *series.Accounts, from int) bool {
	n, alike := segments(rows, from)
	return alike && n >= manySegments
}

// fewAlike reports whether it did so too few times to tell that it always does.
func fewAlike(rows *series.Accounts, from int) bool {
	n, alike := segments(rows, from)
	return alike && n >= someSegments && n < manySegments
}

// segments are how many times the pool took memory from the driver, over the rows from one on, and whether that was
// as much each time.
func segments(rows *series.Accounts, from int) (n int, alike bool) {
	misses, live, idle := rows.Cols[record.ColPoolMisses], rows.Cols[record.ColLive], rows.Cols[record.ColIdle]
	if len(misses) <= from || len(live) != len(misses) || len(idle) != len(misses) {
		return 0, false
	}
	taken := stat.Steps(misses[from:], live[from:], idle[from:])
	least, most := math.Inf(1), 0.
	for _, s := range taken {
		least, most = math.Min(least, s.Sum/s.Count), math.Max(most, s.Sum/s.Count)
	}
	isPiece := most == smallPiece || most == largePiece
	return len(taken), least > 0 && most <= alikeTimes*least && !isPiece
}

// hostOfHandles: host bytes that rise with the live handles and cost no more
// than handles do.
func hostOfHandles(a [series.Keys]float64) bool {
	return a[series.Host] > 0 && (a[series.Host] <= growth.HandleCost*a[series.Count] ||
		a[series.Host] <= 2*a[series.Live])
}

// FindQuiet is the finding where nothing grows: nobody's when every account is known
// to be still. Its score is how far below what would matter the upper bounds of
// growth stay.
func FindQuiet(e *Trends) finding.Finding {
	f := finding.Finding{Of: series.Keys}
	seen, open, worst := 0, 0, 0.
	for _, k := range series.TestedKeys {
		g := &e.grow[k]
		if g.Known && g.Limit > 0 {
			worst = math.Max(worst, g.Upper/g.Limit)
		}
		switch {
		case e.rows.Series[k] == nil:
		case !g.Known:
			open++
		default:
			seen++
			if g.Shape == trend.ShapeUndecided {
				open++
			}
		}
	}
	clock := e.rows.Clock
	n, fills := len(clock), growth.Filling(e.kind, &e.grow[series.Handles])
	switch {
	case seen+open == 0:
		f.Lacking, f.Why = true,
			"no account was recorded: the samples have no column of one, or no cell that can be true"
	case seen == 0 || open > 0:
		if n > 1 && !(clock[n-1] > clock[0]) {
			f.Lacking, f.Why = true, "all samples have the same time"
		}
	case fills > 0:
		f.Why = growth.FillingWords(e.kind, fills)
	default:
		f.Owner, f.Score = finding.Nobody, 1-stat.Clamp(worst, 0, 1)
	}
	return f
}
