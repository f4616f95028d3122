package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheUnitsThatDriveAGrowthAreNamedAndNoOther(t *testing.T) {
	t.Parallel()
	type score struct{ n, right int }
	scores := map[string]*score{}
	for _, d := range corpus.DrivenBy(corpus.Publish+9, 200) {
		v := Judge(d.Run, Options{})
		if v.DrivenBy == nil {
			continue // a growth that comes in bursts may be left open
		}
		var want, got []string
		for u := range d.Cost {
			want = append(want, u)
		}
		for s := v.DrivenBy; s != nil; s = s.And {
			unit := s.Per
			if like, ok := d.Alike[unit]; ok {
				unit = like
			}
			got = append(got, unit)
			if c := d.Cost[s.Per]; c > 0 && math.Abs(s.Value/c-1) > .5 && len(want) == 1 {
				t.Errorf("a %s costs %.0f, said %.0f", s.Per, c, s.Value)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		name := strings.Join(want, " and ")
		if scores[name] == nil {
			scores[name] = &score{}
		}
		scores[name].n++
		if slices.Equal(want, got) {
			scores[name].right++
		}
		if d.Background && !v.Background {
			t.Errorf("growth while steps pause is not called background: %s", v.Summary)
		}
	}
	for name, s := range scores {
		if s.right < s.n*7/10 {
			t.Errorf("%s: %d of %d right", name, s.right, s.n)
		}
	}
}

func TestTwoUnitsAreToldWithTheirPartsAndIntervalsAroundTheTruth(t *testing.T) {
	t.Parallel()
	const buffer, shape = 8. * kib, 90. * kib
	p := newProgram(600).healthy()
	buffers, shapes := 0., 0.
	p.set(record.ColCommandBuffers, func(i int) float64 { buffers += 10 + 8*math.Sin(float64(i)/70); return buffers })
	p.set(record.ColShapes, func(i int) float64 { shapes += float64(1 - min(1, i/40%3)); return shapes })
	p.set(record.ColRSS, func(i int) float64 {
		return 500*mib + buffer*p.cols[record.ColCommandBuffers][i] + shape*p.cols[record.ColShapes][i] +
			16*kib*p.r.NormFloat64()
	})
	v := p.judge()
	d := v.DrivenBy
	if d == nil || d.And == nil || d.Per != "command_buffer" || d.And.Per != "shape" {
		t.Fatalf("driven by %+v", d)
	}
	for _, c := range []struct {
		got   *DrivenBy
		truth float64
	}{{d, buffer}, {d.And, shape}} {
		if c.got.Low > c.truth || c.got.High < c.truth || math.Abs(c.got.Value/c.truth-1) > .05 {
			t.Errorf("%s: %.0f [%.0f, %.0f], truth %.0f", c.got.Per, c.got.Value, c.got.Low, c.got.High, c.truth)
		}
	}
	if math.Abs(*d.Share+*d.And.Share-1) > .001 || *d.Share < *d.And.Share {
		t.Errorf("parts %.3f and %.3f", *d.Share, *d.And.Share)
	}
	if !strings.Contains(v.Summary, "a command buffer and ") || !strings.Contains(v.Summary, " a shape") {
		t.Errorf("summary: %s", v.Summary)
	}
}

// What the driver holds for a program was asked for elsewhere than its tensors.
func TestWhereTheDriversMemoryGrowsItsSitesAreNamed(t *testing.T) {
	t.Parallel()
	own, asked := record.Site{Site: "train.py:3 step", Bytes: 4096, Count: 1},
		record.Site{Site: "libfoo.so+0x10 capture [graph]", Count: 400}
	for _, c := range []struct {
		column string
		want   record.Site
	}{{record.ColGPU, asked}, {record.ColLive, own}} {
		p := newProgram(400).flat(record.ColRSS, 300*mib, 0).flat(record.ColIdle, 0, 0).flat(record.ColLive, 8*mib, 0)
		grows := func(i int) float64 { return 100*mib + mib*float64(i) }
		p.set(record.ColGPU, grows).set(c.column, grows)
		p.events = append(p.events,
			record.Event{Kind: record.KindSites, Sites: []record.Site{own}},
			record.Event{Kind: record.KindDriverSites, Sites: []record.Site{asked}})
		if v := p.judge(); len(v.Sites) != 1 || v.Sites[0].Site != c.want.Site {
			t.Errorf("%s: sites %+v, want %s", v.Summary, v.Sites, c.want.Site)
		}
	}
}
