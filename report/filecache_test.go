package report

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestThePageCacheHasALineOfItsOwn(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	n := record.Unknown()
	run := func(names []string, columns ...[]float64) *record.Run {
		names = append([]string{record.ColTime}, names...)
		columns = append([][]float64{{0, 1000, 2000}}, columns...)
		return &record.Run{Samples: record.NewSamples(names, columns)}
	}
	for name, c := range map[string]struct {
		run  *record.Run
		want string
	}{
		"told": {run([]string{record.ColFileCache, record.ColRSSFile}, []float64{n, 10 * mib, 100 * mib},
			[]float64{n, 50 * mib, 150 * mib}), "File cache: +90.0 MiB, from 10.0 MiB to 100 MiB."},
		"only all pages of files are told": {run([]string{record.ColRSSFile},
			[]float64{10 * mib, n, 100 * mib}), "File cache: +90.0 MiB, from 10.0 MiB to 100 MiB."},
		"small":    {run([]string{record.ColFileCache}, []float64{mib, mib, 2 * mib}), ""},
		"not told": {run([]string{record.ColRSS}, []float64{10 * mib, 100 * mib, 200 * mib}), ""},
	} {
		got := fileCacheText(c.run)
		if got == "" != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
