package evidence

import (
	"math"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// Two looks are few, so the account must say the same at each of them, and its trend must be
// on the way: it has a slope, and only the test of it is not sure yet.
const (
	twoLooks  = 2
	onTheWay  = .05 // level of the trend test
	slopeSure = 4.  // errors that the slope is above 0
)

// findTwice is the finding of containers without a bound that got longer from one look to the
// next, where these looks are all there are yet; nil where there is none.
func findTwice(x *growth.Examined) *finding.Finding {
	g := &x.Grow[series.Live]
	if x.Whole.Untimed || !isOnTheWay(g) && !g.Growing() {
		return nil
	}
	var longest *looks.Course
	rate, from, to := 0., math.Inf(1), 0.
	for _, c := range looks.Staying(looks.Courses(&x.Process)) {
		if !gotLonger(&c) {
			continue
		}
		began, ended, came := c.Came()
		rate += came / (ended - began)
		from, to = math.Min(from, began), math.Max(to, ended)
		longest = looks.Larger(longest, &c)
	}
	if longest == nil {
		return nil
	}
	// What is live gets no higher where other things go as these come: both are of rounds that end.
	middle := (from + to) / 2
	if x.Whole.Highest(series.Live, middle, to) <= x.Whole.Highest(series.Live, from, middle)+x.Whole.Delta(series.Live) {
		return nil
	}
	rise := x.Whole.Between(series.Live, from, to)
	part := rate / rise
	if !(part >= looks.LeastExplained && part <= looks.MostExplained && roseSince(x, to, rise)) {
		return nil
	}
	return foundObjects(series.Live, longest, len(longest.Looks), rise*(to-from))
}

// isOnTheWay reports whether a trend is open that may well be a growth.
func isOnTheWay(g *trend.Growth) bool {
	return g.Known && g.Shape == trend.ShapeUndecided && !g.Loaded && g.T >= slopeSure && g.P <= onTheWay &&
		g.Amount() > g.Delta
}

// gotLonger reports whether a path with more than a few elements and without a bound was
// longer at the second of two looks, and its elements came about as fast.
func gotLonger(c *looks.Course) bool {
	n := len(c.Looks)
	if n < twoLooks || !c.Lengthens() {
		return false
	}
	last := c.Looks[n-1].Holder
	return last.Bound == 0 && last.Length >= looks.FewThings && c.KeepsPace()
}
