package series

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// everyRow is how many milliseconds lie between two rows.
const everyRow = 50.

// trackOf is the track of a process that recorded some columns by row.
func trackOf(t *testing.T, rows int, columns map[string]func(i int) float64) *Track {
	t.Helper()
	names, values := []string{record.ColTime}, [][]float64{make([]float64, rows)}
	for name, f := range columns {
		v := make([]float64, rows)
		for i := range v {
			v[i] = f(i)
		}
		names, values = append(names, name), append(values, v)
	}
	for i := range values[0] {
		values[0][i] = everyRow * float64(i)
	}
	all := TracksOf(&record.Run{Samples: record.NewSamples(names, values)})
	if len(all) != 1 || len(all[0].Clock) != rows {
		t.Fatalf("%d tracks", len(all))
	}
	return all[0]
}

// waiting is a program that works up to a row and then waits for its end; its footprint
// moves by so many bytes a row from then on.
func waiting(t *testing.T, end int, moves float64) *Track {
	t.Helper()
	return trackOf(t, 600, map[string]func(i int) float64{
		record.ColAllocs: func(i int) float64 { return float64(6 + 3*min(i, end)) },
		record.ColLive:   func(i int) float64 { return float64(60*mib + mib*min(i, end)) },
		record.ColFootprint: func(i int) float64 {
			return 500*mib + moves*float64(max(0, i-end-15))
		},
	})
}

func TestAWaitForTheEndIsLeftOutWhereNothingMoves(t *testing.T) {
	t.Parallel()
	const end = 545
	if k := waiting(t, end, 0); len(k.untilWorkEnds().Clock) != end+2 {
		t.Errorf("%d rows are left, want %d: it stands still in the last one", len(k.untilWorkEnds().Clock),
			end+2)
	}
	if k := waiting(t, end, mib); k.untilWorkEnds() != k {
		t.Error("what still moves while it waits was left out")
	}
	if k := waiting(t, 400, 0); k.untilWorkEnds() != k {
		t.Error("a wait of a third of the run was left out")
	}
}

func TestWhatIsLetGoOfBeforeTheExitIsLeftOut(t *testing.T) {
	t.Parallel()
	const exit = 590
	for name, c := range map[string]struct {
		falls, want int // rows
	}{
		"three rows before": {exit - 3, exit - 3},
		"in the row before": {exit - 1, exit - 1},
		"not at all":        {math.MaxInt, exit},
	} {
		k := trackOf(t, 600, map[string]func(i int) float64{record.ColRSS: func(i int) float64 {
			if i >= c.falls {
				return 100 * mib
			}
			return 120 * mib
		}})
		if got := k.untilReturned(exit); got != c.want {
			t.Errorf("%s: the rows end at %d, want %d", name, got, c.want)
		}
	}
}

// givingBack is a program that asks the driver for one block a row up to a row, and then gives
// back so many a row until it ends.
func givingBack(t *testing.T, end int, back float64) *Track {
	t.Helper()
	return trackOf(t, 600, map[string]func(i int) float64{
		record.ColDriverAllocs: func(i int) float64 { return float64(min(i, end)) },
		record.ColDriverProgramCount: func(i int) float64 {
			return math.Max(0, float64(min(i, end))-back*float64(max(0, i-end)))
		},
	})
}

// comingAndGoing is a program that asks the driver for a block each so many rows up to a row,
// keeps each third one, and gives the others back twelve rows later.
func comingAndGoing(t *testing.T, rows, end int) *Track {
	t.Helper()
	asked := func(i int) float64 { return float64(min(i, end-1)/rows + 1) }
	return trackOf(t, 600, map[string]func(i int) float64{
		record.ColDriverAllocs: asked,
		record.ColDriverProgramCount: func(i int) float64 {
			return asked(i) - math.Floor(asked(max(0, i-12))*2/3)
		},
	})
}

func TestWhatIsGivenBackPieceByPieceAtTheEndIsLeftOut(t *testing.T) {
	t.Parallel()
	const end = 560
	if k := givingBack(t, end, 10).untilGivenBack(); len(k.Clock) != end+1 {
		t.Errorf("%d rows are left, want %d", len(k.Clock), end+1)
	}
	pinned := givingBack(t, end, 10)
	pinned.Cols[record.ColPinnedCount] = pinned.Cols[record.ColDriverProgramCount]
	pinned.Cols[record.ColDriverProgramCount] = make([]float64, len(pinned.Clock))
	if k := pinned.untilGivenBack(); len(k.Clock) != end+1 {
		t.Errorf("%d rows are left of pinned memory, want %d", len(k.Clock), end+1)
	}
	if k := givingBack(t, end, 1); k.untilGivenBack() != k {
		t.Error("a program that keeps most of it was cut")
	}
	if k := givingBack(t, 400, 10); k.untilGivenBack() != k {
		t.Error("a third of the run was left out")
	}
	if k := comingAndGoing(t, 4, end+1); len(k.untilGivenBack().Clock) != end+1 {
		t.Errorf("%d rows are left of a service that lets its last requests end, want %d",
			len(k.untilGivenBack().Clock), end+1)
	}
	if k := comingAndGoing(t, 80, end); k.untilGivenBack() != k {
		t.Error("a service between two requests was cut")
	}
}

func TestTheSteepestFallBeforeTheEndIsLeftOut(t *testing.T) {
	t.Parallel()
	const rows, end = 600, 591
	falling := func(each float64) *Track {
		return trackOf(t, rows, map[string]func(i int) float64{
			record.ColDriverAllocs: func(i int) float64 { return float64(min(i, end)) },
			record.ColDriverProgramCount: func(i int) float64 { // teeth of 40 blocks, and one each ten rows that stays
				return 200 + float64(min(i, end)/10) + float64(40-min(i, end)%40) - each*float64(max(0, i-end))
			},
		})
	}
	if k := falling(6).untilSteepFall(true); len(k.Clock) != end+1 {
		t.Errorf("%d rows are left, want %d", len(k.Clock), end+1)
	}
	for what, k := range map[string]*Track{"as steep before": falling(.5), "it rises": falling(-1)} {
		if k.untilSteepFall(true) != k {
			t.Errorf("%s: cut", what)
		}
	}
	if k := falling(6); k.untilSteepFall(false) != k {
		t.Error("a program that goes on was cut")
	}
}

// stepping is a program that takes a step in every fourth row up to one, with some host memory more,
// and in each row from then on writes down what it found.
func stepping(t *testing.T, last int, writes float64) *Track {
	t.Helper()
	return trackOf(t, 600, map[string]func(i int) float64{
		record.ColStep: func(i int) float64 { return float64(min(i, last) / 4) },
		record.ColFootprint: func(i int) float64 {
			return 500*mib + mib/8*float64(min(i, last)) + writes*float64(max(0, i-last))
		},
	})
}

func TestWhatAProgramWritesDownAfterItsLastStepIsLeftOut(t *testing.T) {
	t.Parallel()
	const last = 560
	if k := stepping(t, last, 4*mib).untilStepsEnd(true); len(k.Clock) != last+1 {
		t.Errorf("%d rows are left, want %d", len(k.Clock), last+1)
	}
	for name, k := range map[string]*Track{
		"nothing is written":          stepping(t, last, 0),
		"a third comes after it":      stepping(t, 400, 4*mib),
		"as it rose with the steps":   stepping(t, last, mib/16),
		"no longer than a step takes": stepping(t, 596, 4*mib),
	} {
		if k.untilStepsEnd(true) != k {
			t.Errorf("%s: rows were left out", name)
		}
	}
	few := stepping(t, last, 4*mib)
	for i := range few.Step {
		if few.Step[i] = few.Step[i] - 130; few.Step[i] <= 0 { // it is unknown until the first
			few.Step[i] = math.NaN()
		}
	}
	if few.untilStepsEnd(true) != few {
		t.Error("rows of a program that took few steps were left out")
	}
	if k := stepping(t, last, 4*mib); k.untilStepsEnd(false) != k {
		t.Error("rows of a program that goes on were left out")
	}
}
