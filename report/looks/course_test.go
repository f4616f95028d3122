package looks

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAWindowThatIsFullTurnsOver(t *testing.T) {
	t.Parallel()
	look := func(at float64, length, before, stayed int64) Look {
		return Look{At: at, Over: at / 2, Holder: record.Holder{Length: length, Count: length, Bytes: int64(at) << 20,
			Before: before, Stayed: stayed}}
	}
	first, second := look(4, 16, 0, 0), look(8, 32, 8, 8)
	for _, c := range []struct {
		name  string
		last  Look
		turns bool
	}{
		{"as much goes as comes", look(16, 40, 16, 4), true},
		{"little goes of what comes", look(16, 60, 16, 14), false},
		{"none goes, and less comes", look(16, 40, 16, 16), false},
		{"nobody asked what went", look(16, 40, 0, 0), false},
	} {
		course := Course{Looks: []Look{first, second, c.last}}
		if course.TurnsOver() != c.turns || course.KeepsPace() == c.turns {
			t.Errorf("%s: turns over %v, keeps pace %v", c.name, course.TurnsOver(), course.KeepsPace())
		}
	}
	if one := (&Course{Looks: []Look{first}}); one.TurnsOver() || !one.KeepsPace() {
		t.Error("one look tells no pace of a container")
	}
}

func TestAContainerIntoWhichAsMuchComesAsGoesIsLevel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lengths []int64
		stayed  int64 // of 10
		want    bool
	}{
		"as long as before":             {[]int64{13, 21, 20}, 3, true},
		"longer than ever":              {[]int64{13, 19, 21}, 3, false},
		"none of it went":               {[]int64{13, 21, 20}, 10, false},
		"things that get longer inside": {[]int64{6, 6, 6}, 3, false},
		"one look":                      {[]int64{13}, 3, false},
	} {
		var course Course
		for i, length := range c.lengths {
			course.Looks = append(course.Looks, Look{At: float64(i), Holder: record.Holder{Length: length, Before: 10,
				Stayed: c.stayed}})
		}
		if course.IsLevel() != c.want {
			t.Errorf("%s: level %v", name, course.IsLevel())
		}
	}
}
