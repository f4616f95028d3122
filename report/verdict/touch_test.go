package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// TestFirstTouchTellsTheDriverFromTheProgram uses the shares measured on real
// programs: the host account alone cannot tell these apart.
func TestFirstTouchTellsTheDriverFromTheProgram(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		judgement string
		owners    []record.TouchOwner
		heap      bool // the heap column grows along, as malloc in a driver makes it
		counted   bool // the driver's handles, of which there are no more
		class     Class
		words     string
	}{
		"events never destroyed": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .998}}, true, false,
			DriverGrowth, "libcuda (100 %)"},
		"results copied to the host": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .98}}, true, true,
			HostGrowth, "libcuda (98 %)"},
		"graphs kept": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .75},
			{Library: "libstdc++", Share: .23}}, false, false, DriverGrowth, "libcuda (75 %)"},
		"NumPy arrays": {"growth", []record.TouchOwner{{Library: "_multiarray_umath", Share: 1}}, false, false,
			HostGrowth, "_multiarray_umath (100 %)"},
		"a compile cache": {"growth", []record.TouchOwner{{Library: "xla_cuda_plugin", Share: .69},
			{Library: "libstdc++", Share: .29}}, false, false, HostGrowth, "xla_cuda_plugin (69 %)"},
		"churn tells nothing": {"churn", []record.TouchOwner{{Library: "libcuda", Share: 1}}, false, false, HostGrowth,
			"unresolved"},
		"the runtime is no driver": {"growth", []record.TouchOwner{{Library: "libcudart", Share: .9}}, false, false,
			HostGrowth, "libcudart"},
		"nobody has most": {"growth", []record.TouchOwner{{Library: "libcuda", Share: .5},
			{Library: "python3.12", Share: .5}}, false, false, HostGrowth, "unresolved"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
			delete(p.cols, record.ColHostHeap)
			if c.heap {
				p.grows(record.ColHostHeap, 100*mib, 16*kib, 64*kib)
			}
			if c.counted {
				p.set(record.ColEvents, func(int) float64 { return 36 })
			}
			p.events = append(p.events, record.Event{TMs: 20000, Kind: record.KindFirstTouch,
				FirstTouch: &record.FirstTouch{Seconds: 6, Judgement: c.judgement, Owners: c.owners}})
			v := p.judge()
			if v.Verdict != c.class || !strings.Contains(v.Summary, c.words) {
				t.Errorf("%s, want %s with %q: %s", v.Verdict, c.class, c.words, v.Summary)
			}
		})
	}
}

// The driver maps pinned memory: the heap stays still and the first touch shows
// other pages.
func TestPinnedMemoryThatTheProgramAskedForIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pinned float64 // bytes a row, of 64 KiB a row in all
		class  Class
	}{{64 * kib, HostGrowth}, {40 * kib, HostGrowth}, {20 * kib, DriverGrowth}, {0, DriverGrowth}} {
		p := newProgram(800).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib).grows("pinned_bytes", 8*mib, 0, c.pinned)
		v := p.judge()
		if said := strings.Contains(v.Summary, "pinned memory that the program asked"); v.Verdict != c.class ||
			said != (c.class == HostGrowth) {
			t.Errorf("%v B a row pinned: %s, want %s: %s", c.pinned, v.Verdict, c.class, v.Summary)
		}
	}
}
