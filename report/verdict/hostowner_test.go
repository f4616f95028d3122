package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// onProcessor is a program on a machine without a device, whose footprint grows. Its
// heap is read in every so many rows.
func onProcessor(rows, every int, heap float64) *program {
	p := newProgram(rows).grows(record.ColRSSAnon, 20*mib, 16*kib, 2*mib).
		grows(record.ColRSS, 60*mib, 16*kib, 2*mib).grows(record.ColFootprint, 20*mib, 16*kib, 2*mib)
	return p.set(record.ColHostHeap, func(i int) float64 {
		if i%every != 0 {
			return math.NaN()
		}
		return 10*mib + heap*float64(i)
	})
}

func TestWithoutADeviceNoGrowthIsTheDrivers(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*program{
		"the heap read rarely": onProcessor(40, 10, 0),
		"the heap read often":  onProcessor(400, 1, 0),
		"too short for trends": onProcessor(8, 1, 0).set(record.ColTime, func(i int) float64 { return 1000 * float64(i) }).
			set(record.ColRSS, func(i int) float64 { return (60 + 30*float64(i)) * mib }).
			set(record.ColFootprint, func(i int) float64 { return (20 + 30*float64(i)) * mib }).
			set(record.ColRSSAnon, func(i int) float64 { return (20 + 30*float64(i)) * mib }),
	} {
		v := p.judge()
		if v.Verdict != HostGrowth || strings.Contains(v.Summary, "driver") || named(v, cause.Driver) {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

func TestAHeapThatWasReadTwiceIsNotKnownToStandStill(t *testing.T) {
	t.Parallel()
	beside := func(p *program) *program { return p.flat(record.ColGPU, 700*mib, 0) }
	if v := beside(onProcessor(400, 1, 0)).judge(); v.Verdict != DriverGrowth {
		t.Errorf("read in each row: %s", v.Summary)
	}
	for name, every := range map[string]int{"in every fifth row": 5, "in every tenth": 10} {
		if v := beside(onProcessor(40, every, 0)).judge(); v.Verdict == DriverGrowth {
			t.Errorf("read %s of 40: %s", name, v.Summary)
		}
	}
}

func TestFreeMemoryThatTheHeapKeepsIsTheHostsAndHasItsCause(t *testing.T) {
	t.Parallel()
	for name, device := range map[string]bool{"on the processor": false, "beside a device": true} {
		p := onProcessor(400, 10, 0).set(record.ColHostHeapFree, func(i int) float64 {
			if i%10 != 0 {
				return math.NaN()
			}
			return mib * 1.8 * float64(i)
		})
		if device {
			p.flat(record.ColGPU, 700*mib, 0)
		}
		v := p.judge()
		if v.Verdict != HostGrowth || !strings.Contains(v.Summary, "free between blocks in use (fragmentation)") {
			t.Errorf("%s: %s", name, v.Summary)
		}
		if len(v.Causes) == 0 || v.Causes[0].ID != cause.Fragmented || len(v.Causes[0].Change) != 2 ||
			!strings.Contains(v.Next, "malloc_trim(0)") {
			t.Errorf("%s: %+v, next %q", name, v.Causes, v.Next)
		}
	}
}
