package peak

import "github.com/gpumem/gpumem/tracer/record"

// riseParts are the equal parts of a time in which live bytes must have risen alike, to be
// said to rise steadily: no part by less than a third, or more than three times, of an even
// share.
const riseParts = 8

// point is a value, such as the live bytes, at a time in milliseconds.
type point struct{ at, value float64 }

// roseFor is for how many milliseconds before a time a process's live bytes rose steadily,
// from an eighth of what they came to; 0 where they did not.
func roseFor(samples *record.Samples, pid int, until float64) float64 {
	points := pointsOf(samples, record.ColLive, pid, until)
	if len(points) < 2*riseParts {
		return 0
	}
	last := points[len(points)-1]
	from := len(points) - 1
	for from > 0 && points[from].value > last.value/riseParts {
		from--
	}
	points = points[from:]
	first := points[0]
	even := (last.value - first.value) / riseParts
	before := first.value
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
	value := points[0].value
	for _, p := range points {
		if p.at > when {
			break
		}
		value = p.value
	}
	return value
}

// pointsOf are the known values of a column for a process up to a time.
func pointsOf(samples *record.Samples, column string, pid int, until float64) (points []point) {
	if samples == nil {
		return nil
	}
	times, pids := samples.Column(record.ColTime), samples.Column(record.ColPID)
	for i, v := range samples.Column(column) {
		other := i < len(pids) && !record.IsUnknown(pids[i]) && int(pids[i]) != pid
		if !other && !record.IsUnknown(v) && i < len(times) && times[i] <= until {
			points = append(points, point{times[i], v})
		}
	}
	return points
}
