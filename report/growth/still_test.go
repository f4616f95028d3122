package growth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// firstUses is host memory in MiB of a program without a fault in the first seconds of its device, as it was
// seen on an H200: seconds, and what it had from then on.
var firstUses = [][2]float64{{0, 959.5}, {.1, 961}, {.3, 962.6}, {.8, 966.6}, {1.5, 967.9}, {2.2, 967.1}, {3, 968.7},
	{3.5, 968.9}}

// hostOfYoungDevice is the trend of such memory times a factor, judged after so many seconds.
func hostOfYoungDevice(seconds, factor float64) *trend.Growth {
	return hostBeside(seconds, firstUses, factor, func(float64) float64 { return 700 * mib })
}

// hostBeside is the trend of host memory that is seen so, times a factor, beside a device or none.
func hostBeside(seconds float64, seen [][2]float64, factor float64, device func(t float64) float64) *trend.Growth {
	rows := int(seconds * 28)
	clock, held, host := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	at := 0
	for i := range rows {
		t := float64(i) / 28
		for at+1 < len(seen) && seen[at+1][0] <= t {
			at++
		}
		clock[i], host[i] = 1000*t, mib*(seen[0][1]+factor*(seen[at][1]-seen[0][1]))
		if device != nil {
			held[i] = device(t)
		}
	}
	names, columns := []string{record.ColTime, record.ColRSS}, [][]float64{clock, host}
	if device != nil {
		names, columns = append(names, record.ColGPU), append(columns, held)
	}
	run := &record.Run{Samples: record.NewSamples(names, columns)}
	x := Examine(series.Clean(series.TracksOf(run)[0], run, series.Indexed(nil), "", mib), trend.ForReport())
	return &x.Grow[series.Host]
}

// The first uses of libraries are noise on the host while a device is young: that is no growth unseen, unless
// it is large.
func TestHostMemoryOfAYoungDeviceStandsStillWhereAGrowthWouldHaveBeenSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seconds, factor float64
		want            trend.Shape
	}{
		"as it was": {5.5, 1, trend.Flat},
		"30 times":  {5.5, 30, trend.ShapeUndecided},
	} {
		if g := hostOfYoungDevice(c.seconds, c.factor); g.Shape != c.want {
			t.Errorf("%s: %s, %+v", name, g.Shape, g)
		}
	}
}

// firstKernels is host memory in MiB of a program that compiles its kernels with CuPy for 6 s of its device, as
// it was seen there.
var firstKernels = [][2]float64{{0, 155}, {2.5, 158}, {3.1, 164}, {3.6, 187}, {3.9, 197}, {4.3, 226}, {4.8, 295},
	{5.3, 336}, {5.7, 337.2}, {6.7, 337.6}, {7.6, 338.2}, {9.3, 338.3}}

// creeps is host memory in MiB of another that creeps for 20 s, as it was seen there.
var creeps = [][2]float64{{0, 415.3}, {1.9, 418.4}, {2.4, 419.8}, {4.6, 420.1}, {4.9, 420.6}, {6, 420.7}, {9.2, 420.8},
	{10.2, 420.9}, {11.7, 422.5}, {18.1, 422.6}}

func TestHostMemoryThatStoodStillAfterAStartIsNotOpen(t *testing.T) {
	t.Parallel()
	level := func(float64) float64 { return 700 * mib }
	taken := func(t float64) float64 { return (700 + 8*max(0, t-8)) * mib }
	goesOn := slices.Concat(firstKernels[:9], [][2]float64{{7, 339}, {8, 341}, {9, 342}, {9.8, 343}})
	for name, c := range map[string]struct {
		seconds, factor float64
		seen            [][2]float64
		device          func(t float64) float64
		want            trend.Shape
	}{
		"kernels, then nothing":        {10, 1, firstKernels, level, trend.Step},
		"the device takes more since":  {10, 1, firstKernels, taken, trend.ShapeUndecided},
		"it rises by more than a heap": {10, 1, goesOn, level, trend.ShapeUndecided},
		"it stood still for too short": {8, 1, firstKernels, level, trend.ShapeUndecided},
		"a heap that creeps for 20 s":  {20, 1, creeps, level, trend.Flat},
		"one that rises by far more":   {20, 9, creeps, level, trend.ShapeUndecided},
		"without a device":             {20, 1, creeps, nil, trend.Flat},
		"kernels without a device":     {10, 1, firstKernels, nil, trend.ShapeUndecided},
	} {
		if g := hostBeside(c.seconds, c.seen, c.factor, c.device); g.Shape != c.want {
			t.Errorf("%s: %s, upper %.2f MiB, limit %.2f", name, g.Shape, g.Upper/mib, g.Limit/mib)
		}
	}
}

// swaying is what is live of a program that answers in bursts, with so many bytes more a second, beside a
// device of so many seconds.
func swaying(seed uint64, seconds, more float64) *Examined {
	rows, r, sway := int(seconds*28), rand.New(rand.NewPCG(seed, 5)), 0.
	clock, held, live := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		t := float64(i) / 28
		if sway = .97*sway + .5*mib*r.NormFloat64(); t < 4 {
			sway = 0
		}
		clock[i], held[i], live[i] = 1000*t, 768*mib, 32*mib*min(1, t/4)+sway+more*t
	}
	run := &record.Run{Samples: record.NewSamples([]string{record.ColTime, record.ColGPU, record.ColLive},
		[][]float64{clock, held, live})}
	return Examine(series.Clean(series.TracksOf(run)[0], run, series.Indexed(nil), "", mib), trend.ForReport())
}

func TestWhatSwaysIsNotOpenWhereAGrowthWouldHaveBeenSeenSoon(t *testing.T) {
	t.Parallel()
	if g := swaying(4, 20, 0).Grow[series.Live]; g.Shape != trend.Bounded {
		t.Errorf("what only sways: %s", g.Shape)
	}
	for _, more := range [...]float64{mib, 3 * mib} {
		if g := swaying(4, 20, more).Grow[series.Live]; g.Shape != trend.ShapeUndecided && !g.Growing() {
			t.Errorf("%g MiB more a second: %s", more/mib, g.Shape)
		}
	}
}

// How many things are live is open for what has few bytes: not beside bytes that stood still while a device is young.
func TestACountIsNotOpenBesideBytesThatStoodStill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live  trend.Growth
		lived float64
		want  trend.Shape
	}{
		"bytes that stood still": {trend.Growth{Known: true, Shape: trend.Plateau, Span: 16, Upper: 2 * mib}, 20,
			trend.Bounded},
		"bytes by which little is seen": {trend.Growth{Known: true, Shape: trend.Plateau, Span: 16, Upper: 40 * mib}, 20,
			trend.ShapeUndecided},
		"bytes that grow": {trend.Growth{Known: true, Shape: trend.Growing, Span: 16, Upper: 2 * mib}, 20,
			trend.ShapeUndecided},
		"a device used for long": {trend.Growth{Known: true, Shape: trend.Plateau, Span: 16, Upper: 2 * mib}, 30,
			trend.ShapeUndecided},
	} {
		x := swaying(4, c.lived, 0)
		x.Grow[series.Live], x.Grow[series.Count] = c.live, trend.Growth{Known: true, Shape: trend.ShapeUndecided, Span: 16}
		x.settleSwaying()
		if got := x.Grow[series.Count].Shape; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A program that waits for the code of its device takes nothing meanwhile: that is no pause of its growth.
func TestTheFirstCompilersAreThoseOfTheStart(t *testing.T) {
	t.Parallel()
	ran := func(seconds ...float64) float64 {
		var events []record.Event
		for _, second := range seconds {
			events = append(events, record.Event{TMs: 1000 * second, Kind: record.KindProcess, PID: 9,
				Name: "/usr/bin/ptxas /tmp/tempfile-vm"})
		}
		x := &Examined{}
		x.Events = series.Indexed(events)
		return x.firstCompiled()
	}
	if got := ran(); !math.IsInf(got, -1) {
		t.Errorf("without any: %g", got)
	}
	if got := ran(4, 5.5, 4.5, 7, 19, 20); got != 7 {
		t.Errorf("with a later one: %g", got)
	}
}

// Host memory that comes and goes, in a window in which nothing speaks for a growth.
func TestHostMemoryWithHardlyATrendIsNotOpen(t *testing.T) {
	t.Parallel()
	flat := trend.Growth{Known: true, Shape: trend.ShapeUndecided, Span: 30, Delta: mib, Limit: mib, Upper: 1.4 * mib,
		Rate: mib / 100, T: .8}
	for name, c := range map[string]struct {
		change func(g *trend.Growth)
		lasted float64
		want   trend.Shape
	}{
		"as it is":            {func(*trend.Growth) {}, 30, trend.Flat},
		"a short window":      {func(*trend.Growth) {}, 12, trend.ShapeUndecided},
		"more than its error": {func(g *trend.Growth) { g.T = 2 }, 30, trend.ShapeUndecided},
		"a rise that matters": {func(g *trend.Growth) { g.Rate = mib / 40 }, 30, trend.ShapeUndecided},
		"little is seen":      {func(g *trend.Growth) { g.Upper = 2 * mib }, 30, trend.ShapeUndecided},
		"teeth":               {func(g *trend.Growth) { g.Cycle.Drops, g.Limit = 5, 6*mib }, 30, trend.Flat},
		"large teeth": {func(g *trend.Growth) { g.Cycle.Drops, g.Limit, g.Upper = 5, 6*mib, 4*mib }, 30,
			trend.ShapeUndecided},
	} {
		x := swaying(4, c.lasted, 0)
		x.Grow[series.Host] = flat
		c.change(&x.Grow[series.Host])
		x.settleSlight()
		if got := x.Grow[series.Host].Shape; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// keptFree is what the C heap of a program of PyTorch's without a fault had free, in MiB, as it was seen on a
// processor.
var keptFree = [][2]float64{{0, 5.1}, {2.5, 3.5}, {3.9, 7.7}, {9.1, 11.9}, {17, 8.7}, {18.4, 14.5}, {25, 15.4},
	{27.5, 16.4}}

func TestHostMemoryOfWhichOnlyTheHeapsFreePartMovesIsNotOpen(t *testing.T) {
	t.Parallel()
	judged := func(more, factor float64, told bool) trend.Shape {
		const rows = 29 * 28
		clock, host, free, at := make([]float64, rows), make([]float64, rows), make([]float64, rows), 0
		for i := range rows {
			t := float64(i) / 28
			for at+1 < len(keptFree) && keptFree[at+1][0] <= t {
				at++
			}
			clock[i], free[i] = 1000*t, factor*keptFree[at][1]*mib
			host[i] = 270*mib + free[i] + more*t
		}
		names, columns := []string{record.ColTime, record.ColRSS}, [][]float64{clock, host}
		if told {
			names, columns = append(names, record.ColHostHeapFree), append(columns, free)
		}
		run := &record.Run{Samples: record.NewSamples(names, columns)}
		x := Examine(series.Clean(series.TracksOf(run)[0], run, series.Indexed(nil), "", mib), trend.ForReport())
		return x.Grow[series.Host].Shape
	}
	if got := judged(0, 1, true); got != trend.Bounded {
		t.Errorf("as it was: %s", got)
	}
	if got := judged(0, 1, false); got != trend.ShapeUndecided {
		t.Errorf("nobody tells what is free: %s", got)
	}
	if got := judged(mib, 1, true); got == trend.Bounded {
		t.Errorf("the rest grows, too: %s", got)
	}
	if got := judged(0, 8, true); got == trend.Bounded {
		t.Errorf("far more is kept: %s", got)
	}
}
