package verdict

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestZZ(t *testing.T) {
	dirs, _ := filepath.Glob(os.Getenv("ZZ"))
	for _, d := range dirs {
		run, err := record.Open(d)
		if err != nil {
			continue
		}
		for _, s := range judgeAll(run, Options{}, trend.ForReport()) {
			for k := key(0); k < keys; k++ {
				g := &s.grow[k]
				if !g.Growing() || s.judged.series[k] == nil || k.counts() {
					continue
				}
				y := s.judged.series[k][g.From:]
				x := s.judged.clock[g.From:]
				var kn, kt []float64
				for i := range y {
					if y[i] == y[i] {
						kn, kt = append(kn, y[i]), append(kt, x[i])
					}
				}
				if len(kn) < 12 {
					continue
				}
				q := max(3, len(kn)/12)
				rise := stat.Median(kn[len(kn)-q:]) - stat.Median(kn[:q])
				ols := stat.FitLine(kt, kn).B
				mark := ""
				if k == s.primary {
					mark = "PRIMARY"
				}
				part := g.Gained() / rise
				if part < .75 || part > 1.33 {
					fmt.Printf("%-40s %d key %d %s gained %.1f rise %.1f MiB reach %.1f ols %.2f MiB/s over %.1f s (class %s size %.1f)\n", filepath.Base(filepath.Dir(d+"/x")), s.pid, k, mark, g.Gained()/mib, rise/mib, g.Reach/mib, ols/mib, kt[len(kt)-1]-kt[0], s.class, s.size/mib)
				}
			}
		}
	}
}
