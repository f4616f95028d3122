package report

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
)

// TestHandlesWithoutMemoryAreCountedUnlessTheyAreWhatGrows: a library loads dozens of
// modules, and a line for each hides what the program holds.
func TestHandlesWithoutMemoryAreCountedUnlessTheyAreWhatGrows(t *testing.T) {
	t.Parallel()
	const note = "Sites of handles without memory of their own, such as events and modules: 2."
	run, v := leakRun(1200), fullVerdict()
	v.Sites = append(v.Sites, verdict.SiteRow{Site: "libcublasLt.so.13+0x1911886 [module]", Count: 4},
		verdict.SiteRow{Site: "libcublas.so.13+0x583e39 [event]", Count: 36})
	for _, f := range []Format{Text, Markdown} {
		plain := strings.NewReplacer("\\", "")
		text := plain.Replace(render(t, f, run, v, Options{Width: 200}))
		if !strings.Contains(text, note) || strings.Contains(text, "[module]") {
			t.Errorf("%s lists handles:\n%s", f, text)
		}
		v.Verdict = verdict.DriverGrowth
		if text = plain.Replace(render(t, f, run, v, Options{Width: 200})); strings.Contains(text, note) ||
			!strings.Contains(text, "[event]") {
			t.Errorf("%s of a driver's growth hides handles:\n%s", f, text)
		}
		v.Verdict = verdict.AppLeak
	}
}

// TestWhatMemoryIsMadeOfComesFirstWhereNothingGrows: there is nobody to look for.
func TestWhatMemoryIsMadeOfComesFirstWhereNothingGrows(t *testing.T) {
	t.Parallel()
	for class, first := range map[verdict.Class]string{verdict.None: "peak", verdict.AppLeak: "sites"} {
		v := fullVerdict()
		v.Verdict = class
		v.Peak = &peak.Peak{Bytes: 8 * mib, Categories: []peak.Category{{Name: "activations", Bytes: 8 * mib}}}
		var ids []string
		for _, s := range newDocument(leakRun(1200), v, Options{}).sections {
			if s.id == "sites" || s.id == "peak" {
				ids = append(ids, s.id)
			}
		}
		if len(ids) != 2 || ids[0] != first {
			t.Errorf("%s: %v", class, ids)
		}
	}
}
