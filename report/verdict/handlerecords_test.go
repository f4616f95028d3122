package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// The driver keeps its records of handles in the program's heap: only their
// number tells them from what the program keeps there.
func TestHostBytesThatRiseWithTheDriversHandlesAreItsRecords(t *testing.T) {
	t.Parallel()
	heap := func(host float64) *program { // bytes a row, all in the heap
		return newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, host).grows(record.ColHostHeap,
			100*mib, 16*kib, host)
	}
	cases := map[string]struct {
		p     *program
		class Class
	}{
		"modules never unloaded": {heap(64*kib).grows(record.ColModules, 20, 0, 6), DriverGrowth},
		"events never destroyed": {heap(64*kib).grows(record.ColEvents, 20, 0, 100), DriverGrowth},
		"graphs kept":            {heap(256*kib).grows(record.ColGraphs, 2, 0, .5), DriverGrowth},
		"streams, of two kinds that rise": {heap(64*kib).grows(record.ColStreams, 20, 0, 4).grows(record.ColEvents,
			20, 0, 4), DriverGrowth},
		"no handle rises":        {heap(64*kib).flat(record.ColModules, 20, 0), HostGrowth},
		"nobody counts handles":  {heap(64 * kib), HostGrowth},
		"more than modules cost": {heap(800*kib).grows(record.ColModules, 20, 0, 6), HostGrowth},
		"more than events cost":  {heap(800*kib).grows(record.ColEvents, 20, 0, 100), HostGrowth},
		"modules of a cache of shapes": {heap(64*kib).grows(record.ColModules, 20, 0, 6).grows(record.ColShapes,
			3, 0, 6), HostGrowth},
		"modules of a cache of pipelines": {heap(64*kib).grows(record.ColModules, 20, 0,
			6).grows(record.ColPipelines, 3, 0, 6), HostGrowth},
		"more modules than pipelines explain": {heap(64*kib).grows(record.ColModules, 20, 0,
			6).grows(record.ColPipelines, 3, 0, .01), DriverGrowth},
		"modules that come ever faster": {heap(64*kib).set(record.ColModules, func(i int) float64 {
			return 20 + 4000*math.Pow(float64(i)/800, 3)
		}), HostGrowth},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := c.p.judge()
			if said := strings.Contains(v.Summary, ", with the number of "); v.Verdict != c.class ||
				said != (c.class == DriverGrowth) {
				t.Errorf("%s, want %s: %s", v.Verdict, c.class, v.Summary)
			}
		})
	}
}

func TestWhoTouchesThePagesSaysMoreThanTheNumberOfHandles(t *testing.T) {
	t.Parallel()
	p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib).grows(record.ColModules, 20, 0, 6)
	delete(p.cols, record.ColHostHeap)
	p.events = append(p.events, record.Event{TMs: 20000, Kind: record.KindFirstTouch, FirstTouch: &record.FirstTouch{
		Seconds: 6, Judgement: "growth", Owners: []record.TouchOwner{{Library: "libnvrtc", Share: .97}}}})
	if v := p.judge(); v.Verdict != HostGrowth || !strings.Contains(v.Summary, "libnvrtc (97 %)") {
		t.Errorf("%s, want %s: the compiler's pages are not the driver's: %s", v.Verdict, HostGrowth, v.Summary)
	}
}
