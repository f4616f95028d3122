package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// inside is a program whose device bytes, growing by so many a row, are host
// memory; of these so many are touched and so in the footprint.
func inside(taken, touched float64) *program {
	p := newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, taken).grows(record.ColGPU, 700*mib, 0, taken).
		grows(record.ColFootprint, 1200*mib, 64*kib, touched)
	yes := true
	p.meta.UnifiedMemory = &yes
	return p
}

func TestPagesThatNobodyTouchedAreNoFallOfTheHost(t *testing.T) {
	t.Parallel()
	const words = "is not in the footprint"
	cases := map[string]struct {
		p       *program
		unknown bool
	}{
		"every page is touched":      {inside(128*kib, 128*kib), false},
		"half of them are":           {inside(128*kib, 64*kib), true},
		"none is":                    {inside(128*kib, 0), true},
		"nothing is taken":           {inside(0, 0), false},
		"the host gives memory back": {inside(0, -64*kib), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := c.p.judge()
			host := rowOf(v, Host)
			said := strings.Contains(strings.Join(v.Missing, "\n"), words)
			if (host.Bytes == nil) != c.unknown || (host.Shape == trend.ShapeUndecided) != c.unknown || said != c.unknown {
				t.Errorf("host %+v, missing %q", host, v.Missing)
			}
			if c.unknown && v.Verdict != AppLeak {
				t.Errorf("%s, want %s: %s", v.Verdict, AppLeak, v.Summary)
			}
			d := Diff(inside(0, 0).run(), c.p.run(), Options{})
			compared := false
			for _, r := range d.Rows {
				compared = compared || r.Account == Host
			}
			if compared == c.unknown || strings.Contains(strings.Join(d.Warnings, "\n"), words) != c.unknown {
				t.Errorf("diff: host compared %v, warnings %q", compared, d.Warnings)
			}
		})
	}
}
