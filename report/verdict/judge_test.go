package verdict

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheAccountThatGrowsGivesTheVerdict(t *testing.T) {
	t.Parallel()
	const n = 600
	cases := []struct {
		name  string
		bend  func(p *program)
		class Class
		grows Account
	}{
		{"nothing grows", func(*program) {}, None, ""},
		{"live bytes", func(p *program) {
			p.grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
		}, AppLeak, Live},
		{"live handles without bytes", func(p *program) { p.grows(record.ColLiveCount, 40, 1, 2) }, AppLeak, Live},
		{"idle bytes", func(p *program) {
			p.grows(record.ColIdle, 20*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
		}, PoolGrowth, Idle},
		{"untracked bytes", func(p *program) { p.grows(record.ColGPU, 700*mib, 0, 64*kib) }, DriverGrowth, Untracked},
		{"host with a flat heap", func(p *program) { p.grows(record.ColRSS, 500*mib, 64*kib, 64*kib) }, DriverGrowth, Host},
		{"host with its heap", func(p *program) {
			p.grows(record.ColRSS, 500*mib, 64*kib, 64*kib).grows(record.ColHostHeap, 100*mib, 16*kib, 64*kib)
		}, HostGrowth, Host},
		{"host without a heap column", func(p *program) {
			p.grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
			delete(p.cols, record.ColHostHeap)
		}, HostGrowth, Host},
		{"device bytes without an allocator's counters", func(p *program) {
			p.grows(record.ColGPU, 700*mib, 0, 64*kib)
			for _, c := range []string{record.ColLive, record.ColIdle, record.ColLiveCount, record.ColRefs} {
				delete(p.cols, c)
			}
		}, Undecided, ""},
		{"idle takes over what live gives up", func(p *program) {
			p.grows(record.ColIdle, 20*mib, 0, 64*kib).grows(record.ColLive, 60*mib, 0, -64*kib)
		}, None, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(n).healthy()
			c.bend(p)
			v := p.judge()
			if v.Verdict != c.class {
				t.Fatalf("%s, want %s: %s", v.Verdict, c.class, v.Summary)
			}
			if c.grows != "" && rowOf(v, c.grows).Shape != trend.Growing {
				t.Errorf("account %s is %s, want growing", c.grows, rowOf(v, c.grows).Shape)
			}
			if c.class != None && c.class != Undecided && v.Tier != Confirmed && v.Tier != Likely {
				t.Errorf("tier %s of a plain case", v.Tier)
			}
		})
	}
}

func TestCoupledGrowthGoesToItsCause(t *testing.T) {
	t.Parallel()
	handles := newProgram(600).healthy().grows(record.ColLiveCount, 40, 1, 5).grows(record.ColLive, 60*mib, 0, 5*kib).
		grows(record.ColGPU, 700*mib, 0, 5*kib).grows(record.ColRSS, 500*mib, 64*kib, 10*kib).judge()
	if handles.Verdict != AppLeak {
		t.Errorf("host bytes beside live handles: %s, want %s", handles.Verdict, AppLeak)
	}
	driver := newProgram(600).healthy().grows(record.ColGPU, 700*mib, 0, 64*kib).grows(record.ColRSS, 500*mib,
		64*kib, 100*kib).judge()
	if driver.Verdict != DriverGrowth {
		t.Errorf("host bytes beside untracked bytes: %s, want %s", driver.Verdict, DriverGrowth)
	}
}

func TestRateIsGivenBySecondAndByStepWithAnIntervalAroundTheTruth(t *testing.T) {
	t.Parallel()
	v := newProgram(600).healthy().grows(record.ColLive, 60*mib, 256*kib, 60*kib).grows(record.ColGPU, 800*mib, 0,
		60*kib).judge()
	a := rowOf(v, Live)
	if a.PerSecond == nil || a.PerStep == nil {
		t.Fatal("no rates")
	}
	for _, c := range []struct {
		name  string
		got   series.Interval
		truth float64
	}{{"second", *a.PerSecond, 60 * kib * 20}, {"step", *a.PerStep, 20 * kib}} {
		if !(c.got.Low <= c.truth && c.truth <= c.got.High) || math.Abs(c.got.Value/c.truth-1) > .05 {
			t.Errorf("per %s: %.0f [%.0f, %.0f], truth %.0f", c.name, c.got.Value, c.got.Low, c.got.High, c.truth)
		}
	}
	if v.DrivenBy == nil || v.DrivenBy.Per != "step" {
		t.Errorf("driven by %+v, want step", v.DrivenBy)
	}
}

func TestDriverOfGrowthIsTheUnitThatExplainsIt(t *testing.T) {
	t.Parallel()
	const n = 600
	total := func(rate func(i int) float64) []float64 {
		v, s := make([]float64, n), 0.
		for i := range v {
			s += rate(i)
			v[i] = math.Floor(s)
		}
		return v
	}
	busy := total(func(i int) float64 { return 1 + 4*math.Abs(math.Sin(float64(i)/60)) })
	shapes := total(func(i int) float64 { return .2 + .8*math.Abs(math.Cos(float64(i)/40)) })
	for _, c := range []struct {
		per, column string
		by          []float64
		cost        float64
	}{{"command_buffer", record.ColCommandBuffers, busy, 20 * kib},
		{"shape", record.ColShapes, shapes, 100 * kib}, {"allocation", record.ColAllocs, busy, 16 * kib}} {
		p := newProgram(n).healthy()
		p.set(c.column, func(i int) float64 { return c.by[i] })
		p.set(record.ColRSS, func(i int) float64 { return 500*mib + c.cost*c.by[i] + 16*kib*p.r.NormFloat64() })
		v := p.judge()
		if v.DrivenBy == nil || v.DrivenBy.Per != c.per {
			t.Errorf("%s: driven by %+v", c.per, v.DrivenBy)
			continue
		}
		if math.Abs(v.DrivenBy.Value/c.cost-1) > .05 {
			t.Errorf("%s costs %.0f, want %.0f", c.per, v.DrivenBy.Value, c.cost)
		}
	}
}

func TestGrowthThatGoesOnWhileStepsPauseIsBackground(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().grows(record.ColRSS, 500*mib, 16*kib, 64*kib)
	p.set(record.ColStep, func(i int) float64 {
		if i > 200 && i < 350 {
			return 600
		}
		return float64(i * 3)
	})
	p.cols[record.ColStep] = cumulativeMax(p.cols[record.ColStep])
	v := p.judge()
	if !v.Background || v.DrivenBy == nil || v.DrivenBy.Per != "second" {
		t.Errorf("background %v, driven by %+v", v.Background, v.DrivenBy)
	}
	if !strings.Contains(v.Summary, "also while steps pause") {
		t.Errorf("the summary does not say it: %s", v.Summary)
	}
}

func cumulativeMax(v []float64) []float64 {
	for i := 1; i < len(v); i++ {
		v[i] = math.Max(v[i], v[i-1])
	}
	return v
}

func TestTheStartOfAProgramIsNoGrowthByItsSize(t *testing.T) {
	t.Parallel()
	names := []string{record.ColTime, record.ColRSS, record.ColLive}
	values := [][]float64{{0, 100, 300, 580}, {2 * mib, 80 * mib, 120 * mib, 150 * mib}, {0, 0, 0, 0}}
	v := Judge(&record.Run{Samples: record.NewSamples(names, values)}, Options{})
	if v.Verdict != Undecided {
		t.Errorf("four rows in .6 s: %s", v.Summary)
	}
}

func TestAProgramThatReadsAMappedFileGrowsInNothing(t *testing.T) {
	t.Parallel()
	p := newProgram(400).grows(record.ColRSSFile, 10*mib, 0, 6*mib).flat(record.ColFootprint, 80*mib, 4*kib)
	if v := p.judge(); v.Verdict != None {
		t.Errorf("%s", v.Summary)
	}
}

func TestTheHostIsNotNamedForWhatTheDeviceGrowsBy(t *testing.T) {
	t.Parallel()
	p := newProgram(800).grows(record.ColGPU, 300*mib, 0, 1.6*mib).grows(record.ColFootprint, 200*mib, kib, 8*kib)
	if v := p.judge(); v.Verdict != Undecided || !strings.Contains(v.Summary, "device memory grows") {
		t.Errorf("nobody tells the owner: %s", v.Summary)
	}
	p.grows(record.ColDriverProgramBytes, mib, 0, 1.6*mib).grows(record.ColDriverProgramCount, 1, 0, 1)
	if v := p.judge(); v.Verdict != AppLeak || !strings.Contains(v.Summary, "asked the driver for") {
		t.Errorf("the program asked for it: %s", v.Summary)
	}
}

func TestManagedMemoryThatTheProgramKeepsIsTheProgramsAndNotTheDrivers(t *testing.T) {
	t.Parallel()
	keeps := func(managed float64) *program {
		return newProgram(800).grows(record.ColGPU, 500*mib, 0, mib).flat(record.ColFootprint, 200*mib, 4*kib).
			flat(record.ColDriverProgramBytes, 64*mib, 0).flat(record.ColDriverProgramCount, 4, 0).
			grows(record.ColDriverManagedBytes, 8*mib, 0, managed)
	}
	v := keeps(1.1 * mib).judge()
	if v.Verdict != AppLeak || !strings.Contains(v.Summary, "managed memory on the device") {
		t.Errorf("managed memory is kept: %s", v.Summary)
	}
	if v := keeps(0).judge(); v.Verdict != DriverGrowth {
		t.Errorf("the driver grows beside managed memory: %s", v.Summary)
	}
	more := func(p *program) *program { return p.grows(record.ColDriverProgramCount, 4, 0, 1) }
	if v := more(keeps(1.1 * mib)).judge(); v.Verdict != AppLeak {
		t.Errorf("it is counted: %s", v.Summary)
	}
	elsewhere := more(keeps(1.1*mib).flat(record.ColGPU, 500*mib, 0))
	if v := elsewhere.judge(); v.Verdict != AppLeak {
		t.Errorf("the driver does not charge it: %s", v.Summary)
	}
}

func TestShortRunRestsOnMagnitudeAndTellsItsSlopes(t *testing.T) {
	t.Parallel()
	// TL-08: 1500 epochs between the lines.
	names := []string{record.ColTime, record.ColStep, record.ColRSS, record.ColLive}
	values := [][]float64{{0, 60_000, 120_000}, {0, 1500, 3000}, {319 * mib, 5812 * mib, 7600 * mib},
		{55104, 98776, 106472}}
	v := Judge(&record.Run{Samples: record.NewSamples(names, values)}, Options{})
	if v.Verdict != HostGrowth || v.Tier != Suspected || v.RestsOn != ByMagnitude {
		t.Errorf("%s %s by %s", v.Verdict, v.Tier, v.RestsOn)
	}
	for _, want := range []string{"host heap or driver, unresolved", "outside both pools", "decelerating",
		"3.66 MiB", "1.19 MiB", "a step"} {
		if !strings.Contains(v.Summary, want) {
			t.Errorf("%q is missing in: %s", want, v.Summary)
		}
	}
	values[2] = []float64{319 * mib, 330 * mib, 331 * mib}
	if v := Judge(&record.Run{Samples: record.NewSamples(names, values)}, Options{}); v.Verdict != Undecided {
		t.Errorf("three rows with little growth: %s", v.Verdict)
	}
}

func TestTheWorstOfSeveralProcessesDecides(t *testing.T) {
	t.Parallel()
	const n = 800
	p := newProgram(n).healthy()
	p.set(record.ColPID, func(i int) float64 { return float64(100 + i%2) })
	p.set(record.ColRSS, func(i int) float64 { return 500*mib + float64(i%2*i)*64*kib })
	v := p.judge()
	if v.PID != 101 || len(v.Processes) != 2 || v.Processes[0].Verdict != None || v.Verdict != DriverGrowth {
		t.Errorf("pid %d, %s, processes %+v", v.PID, v.Verdict, v.Processes)
	}
}

func TestAGrowthThatDwarfsAnotherDecides(t *testing.T) {
	t.Parallel()
	process := func(c Class, of series.Key, confidence, size float64) *settled {
		return &settled{decision: decision{class: c, primary: of, size: size, confidence: confidence}}
	}
	surely := process(HostGrowth, series.Host, .98, 8*mib)
	for name, c := range map[string]struct {
		other *settled
		worse bool
	}{
		"likely, eighty times as large":          {process(AppLeak, series.Live, .94, 640*mib), true},
		"of unknown owner, eighty times":         {process(Undecided, series.Device, 0, 640*mib), true},
		"likely, twice as large":                 {process(AppLeak, series.Live, .94, 16*mib), false},
		"as sure, twice as large":                {process(AppLeak, series.Live, .97, 16*mib), true},
		"surer, of an eightieth":                 {process(AppLeak, series.Live, .99, mib/10), false},
		"open whether anything grows":            {process(Undecided, series.Keys, 0, 640*mib), false},
		"surer, of handles without bytes of its": {process(DriverGrowth, series.Handles, .99, 0), false},
		"none, much of which is no growth":       {process(None, series.Keys, .99, 640*mib), false},
	} {
		if got := c.other.worse(surely); got != c.worse {
			t.Errorf("%s: worse %v, want %v", name, got, c.worse)
		}
		if c.other.worse(surely) == surely.worse(c.other) {
			t.Errorf("%s: the order is none", name)
		}
	}
}

func TestUnifiedMemoryIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	leak := func() *program {
		return newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 128*kib).grows(record.ColGPU, 100*mib, 0, 128*kib).
			grows(record.ColFootprint, 900*mib, 16*kib, 128*kib)
	}
	yes := true
	p := leak()
	p.meta.UnifiedMemory = &yes
	if v := p.judge(); v.Verdict != AppLeak || rowOf(v, Host).Shape == trend.Growing {
		t.Errorf("unified by run.json: %s, host %s", v.Verdict, rowOf(v, Host).Shape)
	}
	if v := Judge(leak().run(), Options{Unified: account.UnifiedYes}); rowOf(v, Host).Shape == trend.Growing {
		t.Errorf("unified by option: host %s", rowOf(v, Host).Shape)
	}
}

func TestSameInputGivesSameBytesAndIsNotChanged(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().grows(record.ColLive, 60*mib, 256*kib, 60*kib)
	run := p.run()
	before := append([]float64(nil), run.Samples.Column(record.ColLive)...)
	a, err := json.Marshal(Judge(run, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(Judge(run, Options{}))
	if !bytes.Equal(a, b) {
		t.Error("two verdicts on one run differ")
	}
	for i, v := range run.Samples.Column(record.ColLive) {
		if v != before[i] {
			t.Fatal("the run was changed")
		}
	}
}

func TestForecastIsGivenOnlyForSureGrowth(t *testing.T) {
	t.Parallel()
	p := newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
	p.meta.CapacityBytes = map[string]int64{"device memory": 8 << 30}
	v := p.judge()
	if v.Forecast == nil {
		t.Fatal("no forecast")
	}
	truth := (8*gib - (700*mib + 600*64*kib)) / (64 * kib * 20.)
	if math.Abs(v.Forecast.P50/truth-1) > .05 || v.Forecast.P10 > v.Forecast.P50 || v.Forecast.P50 > v.Forecast.P90 {
		t.Errorf("%+v, truth %.0f s", v.Forecast, truth)
	}
	q := newProgram(600).healthy()
	q.meta.CapacityBytes = p.meta.CapacityBytes
	if v := q.judge(); v.Forecast != nil {
		t.Errorf("a forecast for a healthy run: %+v", v.Forecast)
	}
}

func TestMissingColumnsAreNamedAndNotTakenAsZero(t *testing.T) {
	t.Parallel()
	p := newProgram(600)
	p.flat(record.ColRSS, 500*mib, 0)
	v := p.judge()
	if v.Verdict != None || len(v.Accounts) != 1 {
		t.Errorf("%s with accounts %+v", v.Verdict, v.Accounts)
	}
	if !strings.Contains(strings.Join(v.Missing, "\n"), record.ColGPU) {
		t.Errorf("missing: %v", v.Missing)
	}
}

func TestTheSummaryStandsAlone(t *testing.T) {
	t.Parallel()
	leak := newProgram(600).healthy().grows(record.ColLive, 60*mib, 0, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
	for _, c := range []struct{ summary, begins string }{
		{leak.judge().Summary, "app-leak (confirmed, 99 %): memory the program still references grows by "},
		{newProgram(600).healthy().judge().Summary, "none (confirmed, 99 %): no account grows ("},
		{newProgram(2).healthy().judge().Summary, "undecided: 2 samples are too few"},
		{newProgram(1).healthy().judge().Summary, "undecided: one sample is not enough"},
		{Diff(newProgram(600).healthy().run(), leak.run(), Options{}).Summary,
			"app-leak: memory the program still references grows by "},
	} {
		if !strings.HasPrefix(c.summary, c.begins) || !strings.HasSuffix(c.summary, ".") {
			t.Errorf("%q does not begin with %q or is no sentence", c.summary, c.begins)
		}
	}
	if s := leak.judge().Summary; !strings.Contains(s, " MiB in 29.9 s, 21.3 KiB a step") {
		t.Errorf("time watched and cost are missing: %s", s)
	}
}

func TestUndecidedSaysHowMuchLonger(t *testing.T) {
	t.Parallel()
	p := newProgram(20).healthy()
	s := 0.
	p.set(record.ColRSS, func(int) float64 { s += 2*mib + 3*mib*p.r.NormFloat64(); return 500*mib + s })
	v := p.judge()
	if v.Verdict != Undecided || v.MoreMinutes == nil || *v.MoreMinutes <= 0 {
		t.Errorf("%s, more minutes %v: %s", v.Verdict, v.MoreMinutes, v.Summary)
	}
}

func TestAGrowthThatWasSeenAtTheBeginningAloneIsUndecided(t *testing.T) {
	t.Parallel()
	for until, want := range map[int]Class{200: Undecided, 600: HostGrowth} {
		p := newProgram(600).healthy().set(record.ColRSS, func(i int) float64 { return 500*mib + 64*kib*float64(i) })
		for i := until; i < 600; i++ {
			p.cols[record.ColRSS][i] = math.NaN()
		}
		delete(p.cols, record.ColHostHeap)
		if v := p.judge(); v.Verdict != want {
			t.Errorf("host memory known for %d of 600 rows: %s, want %s: %s", until, v.Verdict, want, v.Summary)
		}
	}
}
