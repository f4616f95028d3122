package evidence

import (
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
)

// Findings are all that is known of a process. A nil one was not found.
type Findings struct {
	Trend     finding.Finding // of the trends: a growth, its absence, or why neither is known
	Shares    *Shares         // of a growth between the accounts
	Starting  *finding.Finding
	Refill    *finding.Finding
	Work      *finding.Finding // the growth is the work between the marks
	Leftover  *finding.Finding
	GaveBack  *finding.Finding // at the mark released nothing was left
	Objects   *finding.Finding // of containers that were looked at while the program ran
	Reserved  *finding.Finding // of memory that was handed out before and is filled
	Collected *finding.Finding // of a heap that its language collects
	Ages      *finding.Finding // of the generations of the allocator's blocks
	Sites     *finding.Finding // of what the driver was asked for, by place, while the program ran
	Hidden    *finding.Finding // of a place whose blocks come evenly below what comes and goes
	Managed   *finding.Finding // of managed memory that no account has
	Magnitude *finding.Finding // of a run that is too short for a trend
}

// Find is all the evidence on a process.
func Find(x *growth.Examined) Findings {
	f := Findings{Magnitude: findMagnitude(x)}
	f.Trend, f.Shares = findTrend(TrendsOf(x))
	f.Objects = findObjects(x)
	f.Reserved, f.Collected = findReserved(x), growth.FindCollected(x)
	f.Ages, f.Sites, f.Hidden = x.Ages, findDriverSites(x), findHiddenSite(x)
	f.Managed = findManaged(x)
	f.Starting = findStart(x, f.Trend)
	if f.Trend.Of == series.Keys || f.Starting != nil { // a pool that fills counts nowhere else
		f.Refill = findRefills(x.Judged, x.Grow[series.Idle].Gained())
	}
	if x.Left.Has() {
		least := x.Least
		f.Work = findWork(&x.Left, f.Trend, x.Judged.Stepped())
		f.Leftover = findLeftover(&x.Left, least)
		f.GaveBack = findGaveBack(&x.Left, &x.Grow, f.Starting != nil, x.Judged.Stepped(), least)
	}
	return f
}
