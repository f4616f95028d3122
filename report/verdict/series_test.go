package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// unseen is a healthy program on a machine whose driver charges nobody: all that
// is known of the device is what the driver was asked for.
func unseen() *program {
	p := newProgram(600).healthy().flat(record.ColDriverAllocBytes, 80*mib, 0)
	delete(p.cols, record.ColGPU)
	return p
}

func TestWhatTheDriverWasAskedForStandsInForItsCounter(t *testing.T) {
	t.Parallel()
	leak := func(p *program, column string, level float64) *program { return p.grows(column, level, 0, 64*kib) }
	cases := map[string]struct {
		bend  func(p *program) *program
		class Class
		grows Account
	}{
		"nothing grows": {func(p *program) *program { return p }, None, ""},
		"asked behind the pool": {func(p *program) *program { return leak(p, record.ColDriverAllocBytes, 80*mib) },
			DriverGrowth, Untracked},
		"asked for the program": {func(p *program) *program {
			return leak(leak(p, record.ColDriverAllocBytes, 80*mib), record.ColLive, 60*mib)
		}, AppLeak, Live},
		"asked for the pool": {func(p *program) *program {
			return leak(leak(p, record.ColDriverAllocBytes, 80*mib), record.ColIdle, 20*mib)
		}, PoolGrowth, Idle},
		"the pool's books alone": {func(p *program) *program { return leak(p, record.ColLive, 60*mib) }, AppLeak, Live},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := c.bend(unseen()).judge()
			if v.Verdict != c.class || c.grows != "" && rowOf(v, c.grows).Shape != trend.Growing {
				t.Fatalf("%s, want %s of %s: %s", v.Verdict, c.class, c.grows, v.Summary)
			}
			if text := strings.Join(v.Missing, "\n"); !strings.Contains(text,
				"gpu_bytes: no driver counter; what the driver was asked for stands in") {
				t.Errorf("what stands in is not said: %s", text)
			}
			if named(v, cause.Driver) {
				t.Errorf("growth inside the driver is named from what it was asked for: %+v", v.Causes)
			}
		})
	}
}

func TestAStandInIsNotNeededWhereTheDriverCounts(t *testing.T) {
	t.Parallel()
	v := newProgram(600).healthy().grows(record.ColDriverAllocBytes, 80*mib, 0, 64*kib).judge()
	if v.Verdict != None || strings.Contains(strings.Join(v.Missing, "\n"), "stands in") {
		t.Errorf("%s, missing %v: the driver charges no more than before", v.Verdict, v.Missing)
	}
}

func TestMemoryOfUnknownOwnerIsUndecidedAndSaidToBeAskedFor(t *testing.T) {
	t.Parallel()
	const words = "grows by what the driver was asked for"
	bare := func(p *program) *program {
		for _, c := range [...]string{record.ColLive, record.ColIdle, record.ColLiveCount, record.ColRefs} {
			delete(p.cols, c)
		}
		return p
	}
	asked := bare(unseen().grows(record.ColDriverAllocBytes, 80*mib, 0, 64*kib)).judge()
	if asked.Verdict != Undecided || !strings.Contains(asked.Summary, words) {
		t.Errorf("without the driver's counter: %s", asked.Summary)
	}
	both := bare(newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0,
		64*kib).grows(record.ColDriverAllocBytes, 80*mib, 0, 64*kib)).judge()
	if both.Verdict != Undecided || !strings.Contains(both.Summary, words) {
		t.Errorf("beside the driver's counter: %s", both.Summary)
	}
	own := bare(newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0,
		64*kib).flat(record.ColDriverAllocBytes, 80*mib, 0)).judge()
	if own.Verdict != Undecided || strings.Contains(own.Summary, words) {
		t.Errorf("nobody asked for it: %s", own.Summary)
	}
}

func TestUntrackedGrowthSaysWhetherItWasAskedFor(t *testing.T) {
	t.Parallel()
	const words = "most of it asked of the driver outside the pool"
	for _, c := range []struct {
		asked float64 // bytes a row, of 64 KiB a row that the driver charges
		said  bool
	}{{64 * kib, true}, {40 * kib, true}, {20 * kib, false}, {0, false}} {
		v := newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib).grows(record.ColDriverAllocBytes,
			80*mib, 0, c.asked).judge()
		if v.Verdict != DriverGrowth || strings.Contains(v.Summary, words) != c.said {
			t.Errorf("%v B a row asked for: %s", c.asked, v.Summary)
		}
	}
}

func TestALeftoverShowsInWhatTheDriverWasAskedFor(t *testing.T) {
	t.Parallel()
	loads := func(left float64) *Verdict {
		p := newProgram(200).phase(record.PhaseBaseline, 10).phase(record.PhaseReleased, 150)
		held := func(kept, work float64) func(i int) float64 {
			return func(i int) float64 {
				switch {
				case i < 20:
					return 0
				case i < 140:
					return work
				}
				return kept
			}
		}
		return p.flat(record.ColRSS, 500*mib, 0).set(record.ColLive, held(0, 250*mib)).set(record.ColIdle, held(0, 0)).
			set(record.ColDriverAllocBytes, held(left, 250*mib+left)).judge()
	}
	if v := loads(0); v.Verdict != None {
		t.Errorf("everything was given back: %s", v.Summary)
	}
	v := loads(64 * mib)
	if got := rowOf(v, Untracked).LeftoverBytes; v.Verdict != DriverGrowth || got == nil || *got != 64*mib {
		t.Errorf("64 MiB stayed: %s, left over %v", v.Summary, got)
	}
}

func TestADiffDoesNotCompareTheDriversCounterWithItsStandIn(t *testing.T) {
	t.Parallel()
	d := Diff(newProgram(600).healthy().run(), unseen().run(), Options{})
	for _, r := range d.Rows {
		if r.Account == Untracked {
			t.Errorf("untracked bytes of two kinds are compared: %+v", r)
		}
	}
	if !strings.Contains(strings.Join(d.Warnings, "\n"), "gpu_bytes") {
		t.Errorf("no word on what is not compared: %v", d.Warnings)
	}
	if same := Diff(unseen().run(), unseen().grows(record.ColDriverAllocBytes, 80*mib, 0, 64*kib).run(),
		Options{}); same.Verdict != DriverGrowth {
		t.Errorf("two stand-ins: %s", same.Summary)
	}
}

func TestWhatIsIdleIsOpenOnlyWhereThePoolsOfTheDriverDoNotTellMostOfIt(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		reserved float64
		open     bool
	}{"all in pools": {320 * mib, false}, "an arena beside a small pool": {8 * mib, true}} {
		p := newProgram(400).flat(record.ColGPU, 700*mib, 0).flat(record.ColDriverProgramBytes, 300*mib, 0).
			flat(record.ColDriverPoolReserved, c.reserved, 0).flat(record.ColDriverPoolIdle, 4*mib, 0)
		told := strings.Contains(strings.Join(p.judge().Missing, "\n"), "inside the program's own allocator")
		if told != c.open {
			t.Errorf("%s: said to be open: %v", what, told)
		}
		p.grows(record.ColDriverProgramBytes, 300*mib, 0, mib).grows(record.ColGPU, 700*mib, 0, mib)
		p.events = append(p.events, record.Event{TMs: 19000, Kind: record.KindDriverSites,
			Sites: []record.Site{{Site: "arena.c:9 segment", Bytes: 600 * mib, GrowthBytes: 300 * mib}}})
		if v := p.judge(); v.Verdict != AppLeak || strings.Contains(v.Next,
			"an allocator of the program's own") != c.open {
			t.Errorf("%s: %s: %s", what, v.Summary, v.Next)
		}
	}
}
