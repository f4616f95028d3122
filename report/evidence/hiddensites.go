package evidence

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// How many blocks more a place must hold to leak below what comes and goes beside it, and
// to be a set of a few things that may still fill.
const (
	leakingBlocks = 8
	fillingBlocks = 3
)

// hiddenScore is how sure that is: what is filled evenly to the end of a run looks the same.
const hiddenScore = .9

// findHiddenSite is what the capture's looks say of a program that asks the driver for its own
// memory, where that comes and goes by far more than it grows: that what one place asked for
// gets more evenly. Nil where none does. The owner is unknown where a few blocks came.
func findHiddenSite(x *growth.Examined) *finding.Finding {
	if !x.Whole.AsksItself() || x.Whole.Untimed || x.DeviceLived() < series.StartAlive ||
		x.Whole.Series[series.Live] == nil {
		return nil
	}
	var most looks.Creep
	var at *looks.SiteCourse
	list := looks.SiteCourses(&x.Process)
	for i := range list {
		c := &list[i]
		if creep, ok := c.Creeps(); ok && !place.IsHosts(c.Site) && creep.Rate > most.Rate {
			most, at = creep, c
		}
	}
	if at == nil || most.Blocks < fillingBlocks || most.Bytes <= x.Whole.Delta(series.Live) {
		return nil
	}
	last := len(at.At) - 1
	first := last - looks.KeepingGenerations
	f := &finding.Finding{By: finding.ByObjects, Of: series.Live, Owner: finding.TheProgram, Score: hiddenScore,
		Size: most.Bytes, Site: at.Site}
	if most.Blocks < leakingBlocks {
		f.Owner = finding.Unknown
	}
	f.Why = fmt.Sprintf("device memory that is allocated %s grows evenly, below what comes and goes beside it: "+
		"%s at %s, %s at %s", placeOf(at.Sites[last]), heldAt(at, first), units.Span(at.At[first]),
		heldAt(at, last), units.Span(at.At[last]))
	return f
}

// placeOf is where a site is: at its line, or in its function.
func placeOf(s record.Site) string {
	list := []record.Site{s}
	if line := place.Line(list, 0, false); line != "" {
		return "at " + line
	}
	if function := place.Function(list, 0); function != "" {
		return function
	}
	return "at " + s.Site
}
