package evidence

import (
	"fmt"

	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
)

// An account of which the looks explain the growth must have kept it, and risen on since the last of them.
const (
	goesOnFor = 3.      // seconds since the last look, after which what is live must have risen on
	fullFor   = 1.      // seconds since it was full, after which what it is in must not have risen on
	stoodFor  = 10.     // seconds after which the others must: they come in bursts, and the host's pages are used again
	stands    = 1. / 10 // of the rise a second: as good as none
	backPart  = 1. / 4  // of what came between the looks, which may be left of what was given back
)

// seenUntil is the time up to which an account counts: until the program wound up, which gives all of it back.
func seenUntil(x *growth.Examined) float64 {
	if n := len(x.Judged.Clock); n > 0 {
		return min(x.End(), x.Judged.Clock[n-1])
	}
	return x.End()
}

// roseSince reports whether what is live rose on since the last look, where that was some time ago.
func roseSince(x *growth.Examined, at, rise float64) bool {
	end := seenUntil(x)
	return end-at < goesOnFor || x.Whole.Between(series.Live, at, end) >= looks.LeastExplained*rise
}

// overWords say that what an account rose by each second between the first look and the last came to its end: it was
// given back since, as by a list that is emptied now and then, or nothing came any more. Empty of one that goes on.
func overWords(x *growth.Examined, k series.Key, from, to, rise float64) string {
	end := seenUntil(x)
	left := x.Whole.Lowest(k, from, to) + backPart*rise*(to-from)
	switch {
	case x.Whole.Lowest(k, to, end) < left:
		return "what it gained was given back after the last one"
	case k != series.Live && end-to >= stoodFor && x.Whole.Between(k, to, end) < stands*rise:
		return "nothing more came after the last one"
	case end-stoodFor > from && stoodStill(x, k, end-stoodFor, end, rise):
		return fmt.Sprintf("nothing more came in the last %.0f s", stoodFor)
	}
	return ""
}

// stoodStill reports whether an account neither rose between two times, as it had done each second before, nor swung
// by as much as would have come: of what swings by more, the time is too short to tell.
func stoodStill(x *growth.Examined, k series.Key, from, to, rise float64) bool {
	swing := x.Whole.Highest(k, from, to) - x.Whole.Lowest(k, from, to)
	return swing < rise*(to-from) && x.Whole.Between(k, from, to) < stands*rise
}

// wentOn reports whether an account rose on beside a container that was full at its last look.
func wentOn(x *growth.Examined, k series.Key, full *looks.Course) bool {
	at, end := full.LastAt(), seenUntil(x)
	last := full.Looks[len(full.Looks)-1]
	return end-at >= fullFor && x.Whole.Between(k, at, end) >= besideBounded*last.Rate()
}
