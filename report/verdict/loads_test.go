package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// portion is host memory that a program gains at a row.
type portion struct {
	row   int
	bytes float64
}

// lazilyLoading is a program of 40 s whose host memory gains portions, and whose driver
// loads modules at some rows.
func lazilyLoading(portions []portion, modules []int) *program {
	p := newProgram(800).healthy()
	return p.set(record.ColGPU, func(int) float64 { return 600 * mib }).
		set(record.ColRSS, func(i int) float64 {
			host := float64(709 * mib)
			for _, came := range portions {
				if i >= came.row {
					host += came.bytes
				}
			}
			return host
		}).
		set(record.ColModules, func(i int) float64 {
			n := 27.
			for _, row := range modules {
				if i >= row {
					n += 2
				}
			}
			return n
		})
}

// TestHostMemoryThatComesWithKernelsCodeIsNoGrowth has the portions of a healthy PyTorch
// program on an H200 (internal/eval/tickets/gpu/maml_tasks_healthy.py).
func TestHostMemoryThatComesWithKernelsCodeIsNoGrowth(t *testing.T) {
	t.Parallel()
	seen := []portion{{64, 6.2 * mib}, {132, 3.5 * mib}, {467, 18.3 * mib}, {780, 2.3 * mib}}
	for name, c := range map[string]struct {
		modules []int
		want    Class
	}{
		"with the code":          {[]int{64, 132, 467}, None},
		"without any":            {nil, Undecided},
		"at other times than it": {[]int{30, 250, 600}, Undecided},
	} {
		if v := lazilyLoading(seen, c.modules).judge(); v.Verdict != c.want {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

// TestCodeThatIsLoadedAgainAndAgainMayBeTheLeak: a program that compiles a kernel every
// few seconds and keeps it is not told from one that loads its code lazily by one load.
func TestCodeThatIsLoadedAgainAndAgainMayBeTheLeak(t *testing.T) {
	t.Parallel()
	for _, every := range []int{20, 100, 160} {
		var at []int
		var kept []portion
		for i := every; i < 800; i += every {
			at, kept = append(at, i), append(kept, portion{i, 6 * mib})
		}
		if v := lazilyLoading(kept, at).judge(); v.Verdict == None {
			t.Errorf("a portion each %d rows: %s", every, v.Answer)
		}
	}
}
