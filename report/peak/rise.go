package peak

import "github.com/gpumem/gpumem/tracer/record"

// riseParts are the equal parts of a time in which live bytes must have risen alike, to be
// said to rise steadily: no part by less than a third, or more than three times, of an even
// share.
const riseParts = 8

// point is the live bytes at a time, in milliseconds.
type point struct{ at, live float64 }

// roseFor is for how many milliseconds before a time a process's live bytes rose steadily,
// from an eighth of what they came to; 0 where they did not.
func roseFor(samples *record.Samples, pid int, until float64) float64 {
	points := livePoints(samples, pid, until)
	if len(points) < 2*riseParts {
		return 0
	}
	last := points[len(points)-1]
	from := len(points) - 1
	for from > 0 && points[from].live > last.live/riseParts {
		from--
	}
	points = points[from:]
	first := points[0]
	even := (last.live - first.live) / riseParts
	before := first.live
	for part := 1; part <= riseParts; part++ {
		now := at(points, first.at+float64(part)*(last.at-first.at)/riseParts)
		if rise := now - before; !(rise >= even/3 && rise <= even*3) || even <= 0 {
			return 0
		}
		before = now
	}
	return last.at - first.at
}

// at is the last known value up to a time.
func at(points []point, when float64) float64 {
	value := points[0].live
	for _, p := range points {
		if p.at > when {
			break
		}
		value = p.live
	}
	return value
}

// livePoints are the known live bytes of a process up to a time.
func livePoints(samples *record.Samples, pid int, until float64) (points []point) {
	if samples == nil {
		return nil
	}
	times, pids := samples.Column(record.ColTime), samples.Column(record.ColPID)
	for i, v := range samples.Column(record.ColLive) {
		other := i < len(pids) && !record.IsUnknown(pids[i]) && int(pids[i]) != pid
		if !other && !record.IsUnknown(v) && i < len(times) && times[i] <= until {
			points = append(points, point{times[i], v})
		}
	}
	return points
}
