package verdict

import "github.com/gpumem/gpumem/report/series"

// findings are all that is known of a process. A nil one was not found.
type findings struct {
	trend     finding // of the trends: a growth, its absence, or why neither is known
	shares    *shares // of a growth between the accounts
	starting  *finding
	refill    *finding
	work      *finding // the growth is the work between the marks
	leftover  *finding
	gaveBack  *finding // at the mark released nothing was left
	objects   *finding // of containers that were looked at while the program ran
	reserved  *finding // of memory that was handed out before and is filled
	collected *finding // of a heap that its language collects
	ages      *finding // of the generations of the allocator's blocks
	sites     *finding // of what the driver was asked for, by place, while the program ran
	managed   *finding // of managed memory that no account has
	magnitude *finding // of a run that is too short for a trend
}

// find is all the evidence on a process.
func find(x *examined) findings {
	f := findings{magnitude: x.findMagnitude()}
	f.trend, f.shares = findTrend(x.trends())
	f.objects = findObjects(x)
	f.reserved, f.collected = findReserved(x), findCollected(x)
	f.ages, f.sites = x.ages, findDriverSites(x)
	f.managed = findManaged(x)
	f.starting = findStart(x, f.trend)
	if f.trend.of == series.Keys || f.starting != nil { // a pool that fills counts nowhere else
		f.refill = findRefills(x.Judged, x.grow[series.Idle].Gained())
	}
	if x.Left.Has() {
		least := x.Least
		f.work = findWork(&x.Left, f.trend, x.Judged.Stepped())
		f.leftover = findLeftover(&x.Left, least)
		f.gaveBack = findGaveBack(&x.Left, &x.grow, f.starting != nil, least)
	}
	return f
}
