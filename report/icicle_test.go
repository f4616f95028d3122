package report

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAnIcicleAddsUpOnEveryLevel(t *testing.T) {
	t.Parallel()
	var sites []record.Site
	for i := range 400 {
		sites = append(sites, record.Site{Site: []string{"/a/x.py:1 f", "/a/x.py:2 g", "y.go:7 h", "no place"}[i%4],
			Bytes: int64(i * i), Count: 1})
		if i > 4 {
			sites[i].Site = "z.go:" + string(rune('a'+i%26)) + " f" + string(rune('a'+i/26))
		}
	}
	ic := sitesIcicle(sites)
	sum := make([]float64, ic.levels)
	for _, b := range ic.boxes {
		sum[b.level] += b.wide
		if b.at < 0 || b.wide <= 0 || b.at+b.wide > 1+1e-9 {
			t.Errorf("box %q from %v, %v wide", b.full, b.at, b.wide)
		}
	}
	for level, s := range sum[:2] {
		if math.Abs(s-1) > 1e-9 {
			t.Errorf("level %d covers %v of the whole", level, s)
		}
	}
	if float64(len(ic.boxes)) > 3+2/leastWide {
		t.Errorf("%d boxes", len(ic.boxes))
	}
}

func TestPathsAreTakenApartForAnIcicle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  []string
		want []string
	}{
		{siteParts("/src/train.py:41 step"), []string{"train.py", "line 41 step"}},
		{siteParts("/w/chain.go:35 example.org/x/w.(*board).loss (affine)"),
			[]string{"chain.go", "line 35 w.(*board).loss (affine)"}},
		{siteParts("just a name"), []string{"just a name"}},
		{siteParts(""), []string{""}},
		{holderParts("__main__.history[…]"), []string{"__main__", ".history", "[…]"}},
		{holderParts("graph: affine"), []string{"graph", "affine"}},
		{holderParts("Node objects: a reference cycle through .next"),
			[]string{"Node objects", "a reference cycle through .next"}},
		{holderParts("."), []string{"."}},
		{holderParts("a.b.c.d.e.f"), []string{"a", ".b", ".c", ".d", ".e.f"}},
	} {
		if len(c.got) != len(c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
			continue
		}
		for i := range c.got {
			if c.got[i] != c.want[i] {
				t.Errorf("%q, want %q", c.got, c.want)
			}
		}
	}
}

func TestAnIcicleOfNothingIsNone(t *testing.T) {
	t.Parallel()
	for _, sites := range [][]record.Site{nil, {{Site: "x", Bytes: 0}}, {{Site: "x", Bytes: math.MinInt64}}} {
		if ic := sitesIcicle(sites); ic != nil {
			t.Errorf("%v is drawn as %v", sites, ic)
		}
	}
}
