package verdict

import (
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
)

// findings are all that is known of a process. A nil one was not found.
type findings struct {
	trend     finding.Finding // of the trends: a growth, its absence, or why neither is known
	shares    *shares         // of a growth between the accounts
	starting  *finding.Finding
	refill    *finding.Finding
	work      *finding.Finding // the growth is the work between the marks
	leftover  *finding.Finding
	gaveBack  *finding.Finding // at the mark released nothing was left
	objects   *finding.Finding // of containers that were looked at while the program ran
	reserved  *finding.Finding // of memory that was handed out before and is filled
	collected *finding.Finding // of a heap that its language collects
	ages      *finding.Finding // of the generations of the allocator's blocks
	sites     *finding.Finding // of what the driver was asked for, by place, while the program ran
	managed   *finding.Finding // of managed memory that no account has
	magnitude *finding.Finding // of a run that is too short for a trend
}

// find is all the evidence on a process.
func find(x *growth.Examined) findings {
	f := findings{magnitude: findMagnitude(x)}
	f.trend, f.shares = findTrend(trendsOf(x))
	f.objects = findObjects(x)
	f.reserved, f.collected = findReserved(x), growth.FindCollected(x)
	f.ages, f.sites = x.Ages, findDriverSites(x)
	f.managed = findManaged(x)
	f.starting = findStart(x, f.trend)
	if f.trend.Of == series.Keys || f.starting != nil { // a pool that fills counts nowhere else
		f.refill = findRefills(x.Judged, x.Grow[series.Idle].Gained())
	}
	if x.Left.Has() {
		least := x.Least
		f.work = findWork(&x.Left, f.trend, x.Judged.Stepped())
		f.leftover = findLeftover(&x.Left, least)
		f.gaveBack = findGaveBack(&x.Left, &x.Grow, f.starting != nil, least)
	}
	return f
}
