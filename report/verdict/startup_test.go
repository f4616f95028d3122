package verdict

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// importing fills the host columns of a program that reads libraries in for so
// many rows and then holds what it has.
func importing(rows, loads int) *program {
	p := newProgram(rows)
	level := func(i int) float64 { return float64(min(i, loads)) }
	p.set(record.ColRSSFile, func(i int) float64 { return 10*mib + 5*mib*level(i) })
	p.set(record.ColRSS, func(i int) float64 { return 30*mib + 9*mib*level(i) + 16*kib*p.r.NormFloat64() })
	return p
}

func TestReadingCodeInIsNoGrowth(t *testing.T) {
	t.Parallel()
	if v := importing(100, 100).judge(); v.Verdict != Undecided || !strings.Contains(v.Summary, "still loading its code") {
		t.Errorf("a program that only starts: %s", v.Summary)
	}
	if v := importing(400, 100).judge(); v.Verdict != None {
		t.Errorf("a program that starts and then works: %s", v.Summary)
	}
	p := importing(600, 100)
	p.set(record.ColRSS, func(i int) float64 {
		return 30*mib + 9*mib*float64(min(i, 100)) + 256*kib*float64(max(0, i-100)) + 16*kib*p.r.NormFloat64()
	})
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("a program that starts and then leaks: %s", v.Summary)
	}
}

func TestAStartIsOverBeforeLong(t *testing.T) {
	t.Parallel()
	s := judgeAll(importing(100, 100).run(), Options{}, trend.ForReport())[0]
	g := &s.Grow[series.Host]
	g.Shape, g.Known, g.Rho, g.Limit, g.Upper = trend.ShapeUndecided, true, .9, 1, 8
	so := (s.Judged.Clock[len(s.Judged.Clock)-1] - s.Judged.Clock[0]) / 60
	for why, most := range map[string]float64{s.why: 2, "": 63} {
		s.why = why
		if more := s.moreMinutes(); more == nil || math.Abs(*more-most*so) > .01*most*so {
			t.Errorf("%q after %.2f minutes: %v more, want %.2f", why, so, *more, most*so)
		}
	}
}

// A list of many objects is given back over a few samples, which may fall
// anywhere in it.
func TestAGrowthThatTheExitingProgramGivesBackIsAGrowth(t *testing.T) {
	t.Parallel()
	for _, last := range [][]float64{{.1}, {.76, .1}, {.76, .1, .1, .1}, {.97, .7, .1}, {.95, .76, .12, .12, .12}} {
		const rows = 168
		p := newProgram(rows)
		p.set(record.ColRSS, func(i int) float64 {
			kept := 1.
			if i >= rows-len(last) {
				kept = last[i-(rows-len(last))]
			}
			return 20*mib + kept*mib*float64(i) + 16*kib*p.r.NormFloat64()
		})
		if v := p.judge(); v.Verdict != HostGrowth {
			t.Errorf("the last rows are %.2f of what was held: %s", last, v.Summary)
		}
	}
}

func TestAProgramThatEndsWhileItStartsIsNotAccused(t *testing.T) {
	t.Parallel()
	short := newProgram(12).grows(record.ColRSS, 20*mib, 4*kib, 2*mib)
	if v := short.judge(); v.Verdict != HostGrowth {
		t.Errorf("a table that does not say when the program began: %s", v.Summary)
	}
	short.meta.Command = []string{"sort", "numbers"}
	if v := short.judge(); v.Verdict != Undecided || !strings.Contains(v.Summary, "while it starts") {
		t.Errorf("half a second of a program: %s", v.Summary)
	}
	short.set(record.ColStep, func(i int) float64 { return float64(i) })
	if v := short.judge(); v.Verdict != HostGrowth {
		t.Errorf("half a second with a step in each row: %s", v.Summary)
	}
	long := newProgram(120).grows(record.ColRSS, 20*mib, 4*kib, 2*mib)
	long.meta.Command = short.meta.Command
	if v := long.judge(); v.Verdict != HostGrowth {
		t.Errorf("six seconds of a program: %s", v.Summary)
	}
}

// TestAHostThatGrowsWhileTheDeviceComesToLifeMayBeLoading: on a busy machine a program
// imports its libraries for ten seconds and more.
func TestAHostThatGrowsWhileTheDeviceComesToLifeMayBeLoading(t *testing.T) {
	t.Parallel()
	judged := func(deviceFrom int) *Verdict {
		p := newProgram(250) // 12.5 s
		p.meta = record.Meta{Command: []string{"python3", "train.py"}, Driver: "580.159",
			Versions: map[string]string{"python": "3.12"}}
		rises := func(level, step float64) func(i int) float64 {
			return func(i int) float64 { return level + step*float64(i) + 5*mib*p.r.NormFloat64() }
		}
		p.set(record.ColRSS, rises(280*mib, 200*kib)).set(record.ColHostHeap, rises(180*mib, 200*kib))
		p.set(record.ColGPU, func(i int) float64 {
			if i < deviceFrom {
				return math.NaN()
			}
			return 500 * mib
		})
		return p.judge()
	}
	for from, want := range map[int]Class{250: Undecided, 120: Undecided, 0: HostGrowth} {
		if v := judged(from); v.Verdict != want {
			t.Errorf("device from row %d: %s", from, v.Answer)
		}
	}
}

func TestWhatComesWhileADeviceIsYoungIsLeftOpenUnlessItIsSure(t *testing.T) {
	t.Parallel()
	// What is live rises ever more slowly while caches fill, from a device's first memory on.
	judged := func(rows int, tau, noise float64) *Verdict {
		live := func(i int) float64 { return 400 * mib * (1 - math.Exp(-float64(i)/tau)) }
		p := newProgram(rows).healthy()
		p.set(record.ColLive, func(i int) float64 { return live(i) + noise*p.r.NormFloat64() }).
			set(record.ColGPU, func(i int) float64 { return 700*mib + live(i) })
		run := p.run()
		run.Meta.Versions = map[string]string{"python": "3.12"}
		return Judge(run, Options{})
	}
	open := 0
	for tau := 100.; tau < 400; tau += 20 {
		v := judged(130, tau, 2*mib)
		if v.Verdict != None && v.Verdict != Undecided && v.Tier != Confirmed {
			t.Errorf("after 6.5 s: %s", v.Summary)
		}
		if strings.Contains(v.Summary, "the device has been in use for only") {
			open++
		}
	}
	if open == 0 {
		t.Error("none was left open for the age of its device")
	}
	if v := judged(130, 4000, 0); v.Verdict != AppLeak || v.Tier != Confirmed {
		t.Errorf("a straight growth of as short a time: %s", v.Summary)
	}
}

// A heap creeps by little in the first seconds of a device, however straight: by more, or later, that is
// a growth.
func TestAHeapCreepsByLittleInTheFirstSecondsOfADevice(t *testing.T) {
	t.Parallel()
	const creeps = "a heap rises by as much"
	judged := func(rows int, each float64) *Verdict {
		p := newProgram(rows).healthy()
		grown := func(from float64) func(i int) float64 {
			return func(i int) float64 { return from + float64(i)*each + 8*kib*p.r.NormFloat64() }
		}
		run := p.set(record.ColRSS, grown(800*mib)).set(record.ColHostHeap, grown(100*mib)).run()
		run.Meta.Versions = map[string]string{"python": "3.12"}
		return Judge(run, Options{})
	}
	if v := judged(300, 10*kib); v.Verdict != Undecided || !strings.Contains(v.Summary, creeps) {
		t.Errorf("15 s, 3 MiB: %s", v.Summary)
	}
	if v := judged(800, 2*kib+256); v.Verdict != Undecided || !strings.Contains(v.Summary, creeps) {
		t.Errorf("40 s, 1.8 MiB: %s", v.Summary)
	}
	for name, v := range map[string]*Verdict{"60 MiB": judged(300, 200*kib), "60 s": judged(1200, 10*kib),
		"40 s, 8 MiB": judged(800, 10*kib), "80 s, 3.5 MiB": judged(1600, 2*kib+256)} {
		if v.Verdict != HostGrowth {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

func TestAWorkerWithoutADeviceIsNotJudgedByItsAge(t *testing.T) {
	t.Parallel()
	// Rows of a program on a device and of its worker, in turn, 70 s of them. The host
	// memory of the worker grows, and faster once others leave it more of the machine.
	p := newProgram(1400)
	p.meta.PID, p.meta.Driver = 100, "nvidia 580"
	p.meta.Versions = map[string]string{"python": "3.12", "torch": "2.11"}
	p.set(record.ColPID, func(i int) float64 { return float64(100 + i%2) })
	p.set(record.ColGPU, func(i int) float64 {
		if i%2 == 0 {
			return 800 * mib
		}
		return math.NaN()
	})
	p.set(record.ColFootprint, func(i int) float64 {
		if i%2 == 0 {
			return 700 * mib
		}
		return 400*mib + float64(i)*.3*mib + float64(max(i-1050, 0))*.5*mib
	})
	if v := p.judge(); v.PID != 101 || v.Verdict != HostGrowth {
		t.Errorf("process %d, %s", v.PID, v.Answer)
	}
}

// TestTheFirstUseOfEverythingIsNoGrowthWhereWorkIsCountedEither: a healthy model on a busy
// machine took 3 MiB in the 1.5 s that it lived, a part with each new shape.
func TestTheFirstUseOfEverythingIsNoGrowthWhereWorkIsCountedEither(t *testing.T) {
	t.Parallel()
	judged := func(bytes float64) *Verdict {
		p := newProgram(30) // 1.5 s
		p.meta = record.Meta{Command: []string{"serve"}, Driver: "580.159"}
		p.set(record.ColStep, func(i int) float64 { return float64(4 * i) })
		p.set(record.ColRSS, func(i int) float64 { return 100*mib + bytes*float64(i)/30 })
		return p.judge()
	}
	if v := judged(3 * mib); v.Verdict != Undecided {
		t.Errorf("3 MiB: %s", v.Answer)
	}
	if v := judged(300 * mib); v.Verdict != HostGrowth {
		t.Errorf("300 MiB: %s", v.Answer)
	}
}

// TestAPoolThatGaveAllBackSettlesNoGrowthOfAStart: a growth that may be the start's is
// left open while it is held, whatever the program's pools gave back.
func TestAPoolThatGaveAllBackSettlesNoGrowthOfAStart(t *testing.T) {
	t.Parallel()
	p := newProgram(57).healthy() // 2.85 s
	p.meta = record.Meta{Command: []string{"serve"}, Driver: "580.159"}
	p.set(record.ColStep, func(i int) float64 { return float64(4 * i) })
	p.set(record.ColRSS, func(i int) float64 { return 100*mib + 6*mib*float64(i)/57 })
	p.set(record.ColLive, func(i int) float64 { return 8 * mib })
	p.phase("baseline", 0).phase("released", 56)
	if v := p.judge(); v.Verdict != Undecided || !strings.Contains(v.Summary, "while it starts") {
		t.Errorf("6 MiB are held: %s by %s: %s", v.Verdict, v.RestsOn, v.Summary)
	}
}

// TestASlowImportIsNoGrowthHoweverStraightItRises: a program that imported PyTorch for 5 s
// on a busy machine, and then failed, was accused of host-growth at 96 %.
func TestASlowImportIsNoGrowthHoweverStraightItRises(t *testing.T) {
	t.Parallel()
	judged := func(seconds float64, python bool) *Verdict {
		rows := int(20 * seconds)
		p := newProgram(rows).grows(record.ColRSS, 20*mib, 16*kib, mib)
		p.meta = record.Meta{Command: []string{"python3", "main.py"}}
		if python {
			p.meta.Versions = map[string]string{"python": "3.11.2"}
		}
		return p.judge()
	}
	if v := judged(5, true); v.Verdict != Undecided || !strings.Contains(v.Summary, "ran for only") {
		t.Errorf("5 s of an interpreter: %s", v.Summary)
	}
	if v := judged(5, false); v.Verdict != HostGrowth || v.Tier != Confirmed {
		t.Errorf("5 s of another program: %s", v.Summary)
	}
	if v := judged(12, true); v.Verdict != HostGrowth || v.Tier != Confirmed {
		t.Errorf("12 s of an interpreter: %s", v.Summary)
	}
}

// recordedShortly is the answer about a program in some language of which only samples are kept.
func recordedShortly(t *testing.T, folder, language string, holders ...record.Event) *Verdict {
	t.Helper()
	run := recordedRun(t, folder)
	run.Meta.Versions, run.Events = map[string]string{language: "3.11.2"}, holders
	return Judge(run, Options{})
}

// recordedRun is a run of which only samples are kept.
func recordedRun(t *testing.T, folder string) *record.Run {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", folder, record.FileSamples))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run, err := record.FromCSV(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// The program of this recording began to work after six seconds, on a busy machine, and kept
// half a MiB a second from then on.
func TestAProgramThatSetItselfUpUntilShortlyBeforeIsNotSaidToHoldStill(t *testing.T) {
	t.Parallel()
	if v := recordedShortly(t, "slow-start", "python"); v.Verdict != Undecided ||
		!strings.Contains(v.Answer, "would not have been seen") {
		t.Errorf("of Python's: %s", v.Answer)
	}
	if v := recordedShortly(t, "slow-start", "node"); v.Verdict != None {
		t.Errorf("without imports it needs no time to start: %s", v.Answer)
	}
}

// This one keeps .8 MiB a second, and gave 4 MiB of its start back after nine seconds.
func TestWhatAProgramGaveBackHidesNoHolderThatGetsLonger(t *testing.T) {
	t.Parallel()
	looked := func(at float64, bytes int64, h record.Holder) record.Event {
		h.Path, h.Bytes, h.Count = "list app.alive", bytes, 1000
		return record.Event{TMs: at, Kind: record.KindHolders, Holders: []record.Holder{h}}
	}
	looks := func(bytes int64, bound int64) []record.Event {
		return []record.Event{looked(4600, bytes/4, record.Holder{Length: 100, OverMs: 1734, Bound: bound}),
			looked(12_000, bytes, record.Holder{Length: 400, OverMs: 6668, Bound: bound})}
	}
	if v := recordedShortly(t, "gave-back", "python", looks(5_798_458, 0)...); v.Verdict != Undecided ||
		!strings.Contains(v.Answer, "list app.alive got longer") {
		t.Errorf("it holds what came: %s", v.Answer)
	}
	for name, looks := range map[string][]record.Event{
		"nobody was seen":  nil,
		"with a bound":     looks(5_798_458, 10_000),
		"by far too small": looks(300_000, 0),
	} {
		if v := recordedShortly(t, "gave-back", "python", looks...); v.Verdict != None {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

func TestAnUndecidedVerdictSaysWhyAlsoWhereNoAccountIsOpen(t *testing.T) {
	t.Parallel()
	s := &settled{}
	s.Judged = &series.Accounts{}
	if text := s.undecidedClaim(&Verdict{}); text != "too little of the program was seen to exclude a growth." {
		t.Errorf("%q", text)
	}
}

// Where a compiler ran until shortly before, what leaks by the epoch has not come by yet.
func TestAProgramThatHasJustCompiledMayHaveLeakedNothingYet(t *testing.T) {
	t.Parallel()
	judged := func(second float64) *Verdict {
		p := newProgram(200).healthy()
		p.meta.Versions = map[string]string{"python": "3.12"}
		p.events = append(p.events, record.Event{TMs: 1000 * second, Kind: record.KindProcess, PID: 7,
			Name: "/usr/local/cuda/bin/ptxas /tmp/tempfile-vm -o /tmp/tempfile"})
		return p.judge()
	}
	if v := judged(9); v.Verdict != Undecided || !strings.Contains(v.Summary, "was compiling code for its device") {
		t.Errorf("a second before: %s", v.Summary)
	}
	if v := judged(3); v.Verdict != None {
		t.Errorf("7 s before: %s", v.Summary)
	}
}

// Where the pace of a growth bends no warm-up ends, and what changed is told from where its trend begins.
func TestABendOfAGrowthIsNoEndOfAWarmUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, bend, want float64 }{
		"none": {0, 0, 199}, "early": {0, .25, 199}, "late": {0, .75, 199}, "after a warm-up": {300, .25, 150},
	} {
		p := newProgram(400).healthy()
		for _, column := range [...]string{record.ColRSS, record.ColRSSAnon, record.ColFootprint, record.ColHostHeap} {
			p.set(column, func(i int) float64 { return 500*mib + mib/2*float64(i) + c.first*mib*min(1, float64(i)/40) })
		}
		s := judgeAll(p.run(), Options{}, trend.ForReport())[0]
		g := &s.Grow[series.Host]
		on := s.Judged.X(g.Axis)
		g.From, g.Settled = 0, c.bend*(on[len(on)-1]-on[0])
		if got, ok := s.change(); !ok || s.class != HostGrowth || math.Abs(got.Host-c.want*mib) > 3*mib {
			t.Errorf("%s: %s, %.1f MiB, want %g", name, s.class, got.Host/mib, c.want)
		}
	}
}

// A few seconds of a program's work do not confirm that nothing grows.
func TestThatNothingGrowsIsNotConfirmedAfterAFewSeconds(t *testing.T) {
	t.Parallel()
	judged := func(rows int) *Verdict {
		p := newProgram(rows)
		for _, column := range [...]string{record.ColRSS, record.ColRSSAnon, record.ColFootprint, record.ColHostHeap} {
			p.flat(column, 200*mib, 16*kib)
		}
		p.meta.Versions = map[string]string{"python": "3.12"}
		return p.judge()
	}
	if v := judged(100); v.Verdict != None || v.Tier != Likely {
		t.Errorf("after 5 s: %s", v.Summary)
	}
	if v := judged(600); v.Verdict != None || v.Tier != Confirmed {
		t.Errorf("after 30 s: %s", v.Summary)
	}
}
