package report

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// peakVerdict has the replay of three recorded steps of a small GPT.
func peakVerdict(t testing.TB) *verdict.Verdict {
	t.Helper()
	f, err := os.Open(filepath.Join("peak", "testdata", "window.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := record.ReadEvents(z, "window.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v := leakVerdict()
	if v.Peak = peak.Of(&record.Run{Events: events}, peak.Growth{}).Peak; v.Peak == nil {
		t.Fatal("the window is not replayed")
	}
	return v
}

func TestTheWindowIsStackedUpToThePeak(t *testing.T) {
	t.Parallel()
	v := peakVerdict(t)
	c := peakChart(v.Peak)
	c.lines = c.lines[1:]
	s, err := newStack(c)
	if err != nil || s == nil {
		t.Fatalf("%v, %v", s, err)
	}
	sums, top := sumsOf(c)
	if sums[top] != float64(v.Peak.Bytes) || c.axis.x[top] != v.Peak.AtMs/1000 {
		t.Errorf("the stack is %v high at %v s, the peak %d at %v ms", sums[top], c.axis.x[top],
			v.Peak.Bytes, v.Peak.AtMs)
	}
	for i, category := range v.Peak.Categories {
		if p := s.Parts[i]; p.Label != category.Name || p.Value != units.Bytes(category.Bytes) {
			t.Errorf("part %d is %s with %s, want %s with %d B", i, p.Label, p.Value, category.Name, category.Bytes)
		}
	}
	if !strings.Contains(s.Place, units.Bytes(v.Peak.Bytes)) {
		t.Errorf("the peak reads %q", s.Place)
	}
}

func TestTheIcicleOfThePeakAddsUp(t *testing.T) {
	t.Parallel()
	p := peakVerdict(t).Peak
	p.Sites = p.Sites[:3] // as of a file that does not tell all lines
	wide, other := 0., false
	for _, b := range peakIcicle(p).boxes {
		if b.level == 1 {
			wide += b.wide
		}
		other = other || b.name == "other lines"
	}
	if wide < .999999 || wide > 1.000001 || !other {
		t.Errorf("the categories are %v wide together, other lines are drawn: %v", wide, other)
	}
}

func TestAWindowWithoutExtentIsNotStacked(t *testing.T) {
	t.Parallel()
	for _, c := range []chart{{}, {axis: axis{"s", []float64{1}}, lines: []line{{v: []float64{1}}}},
		{axis: axis{"s", []float64{0, 1}}, lines: []line{{v: []float64{0, 0}}}},
		{axis: axis{"s", []float64{0, 1}}, lines: []line{{v: []float64{5}}}}} {
		if s, err := newStack(c); s != nil || err != nil {
			t.Errorf("%+v is drawn as %+v, %v", c, s, err)
		}
	}
	v := peakVerdict(t)
	v.Peak.Timeline = nil
	if page := render(t, HTML, leakRun(100), v, Options{}); regexp.MustCompile(`<figure class="stack"`).MatchString(page) {
		t.Error("a window without moments is drawn")
	}
}
