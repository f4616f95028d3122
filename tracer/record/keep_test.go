package record

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// littleRoom is a bound that a test reaches soon.
const littleRoom = 1 << 20

func TestTheEndsOfSlotsOfALevelAreAmongThoseOfTheLevelBelow(t *testing.T) {
	t.Parallel()
	for level := range 14 {
		last, widths := slotOf(level, 0), map[int64]int{}
		begin := int64(0)
		for us := int64(0); us < 40_000_000; us += 500 {
			slot := slotOf(level, us)
			if slot < last || slot > last+1 {
				t.Fatalf("level %d: slot %d follows %d", level, slot, last)
			}
			if same := parted(us-500, us) <= level; us > 0 && same != (slot == last) {
				t.Fatalf("level %d at %d: parted says %v", level, us, same)
			}
			if slot > last {
				if level > 0 && slotOf(level-1, us) == slotOf(level-1, us-500) {
					t.Fatalf("level %d has an end at %d that the level below has not", level, us)
				}
				if last > slotOf(level, 0) {
					widths[us-begin]++
				}
				begin, last = us, slot
			}
		}
		if level >= 4 && level <= 10 && len(widths) < 4 {
			t.Errorf("level %d: slots of %d widths", level, len(widths))
		}
	}
}

// longRun writes a run of many rows of some processes under a small bound.
func longRun(t *testing.T, w *Writer, rows, processes int) {
	t.Helper()
	for i := range rows {
		at := time.Duration(i) * 50 * time.Millisecond
		for p := range processes {
			held := int64(1<<30 + i*100 + 1000*(i*7%13))
			if i == rows/3 && p == 0 {
				held = 5 << 30
			}
			if i == rows/4 && p == 0 {
				held = 1 << 20
			}
			if err := w.Sample(Row{T: at, Cells: []Cell{{ColPID, int64(100 + p)}, {ColStep, int64(i / 10)},
				{ColRSS, held / 2}, {ColGPU, held}, {ColFootprint, held/2 + int64(i%5)}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// folderSize is what the files of a folder take, in bytes.
func folderSize(t testing.TB, dir string) (n int64) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

func TestALongRunStaysWithinItsBoundAndKeepsItsExtremesAndItsEnds(t *testing.T) {
	t.Parallel()
	w, err := Create(filepath.Join(t.TempDir(), "run"), Meta{PID: 100}, CreateOptions{Keep: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	const rows, processes = 100_000, 2
	longRun(t, w, rows, processes)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := folderSize(t, w.Dir()); n > 2<<20 {
		t.Errorf("the folder takes %d bytes", n)
	}
	run, err := Open(w.Dir())
	if err != nil || len(run.Warnings) > 0 {
		t.Fatal(err, run.Warnings)
	}
	s := run.Samples
	at, pid, gpu := s.Column(ColTime), s.Column(ColPID), s.Column(ColGPU)
	t.Logf("%d of %d rows stay", s.Len(), rows*processes)
	if s.Len() < 2000 || int64(s.Len())+run.Meta.Sampling.ThinnedRows != rows*processes {
		t.Errorf("%d rows stay, %d were left out", s.Len(), run.Meta.Sampling.ThinnedRows)
	}
	if slices.Max(gpu) != 5<<30 || slices.Min(gpu) != 1<<20 {
		t.Errorf("from %v to %v", slices.Min(gpu), slices.Max(gpu))
	}
	if at[0] != 0 || pid[0] != 100 || at[1] != 0 || pid[1] != 101 || at[s.Len()-1] != (rows-1)*50 {
		t.Error("the first or the last rows have gone")
	}
	if !slices.IsSorted(at) {
		t.Error("the rows are out of order")
	}
	checkSpread(t, s, (rows-1)*50)
}

// checkSpread checks that the even samples cover the past of each process evenly.
func checkSpread(t *testing.T, s *Samples, end float64) {
	t.Helper()
	at, pid, extreme := s.Column(ColTime), s.Column(ColPID), s.Column(ColThinned)
	for _, p := range []float64{100, 101} {
		var parts [8]int
		marked, past := 0, 0
		for i := range at {
			if pid[i] != p || at[i] > end*.8 {
				continue
			}
			if past++; extreme[i] == Extreme {
				marked++
				continue
			}
			parts[int(at[i]/(end*.8)*7.999)]++
		}
		if least, most := slices.Min(parts[:]), slices.Max(parts[:]); float64(least) < .7*float64(most) {
			t.Errorf("process %v: %v samples in eight parts of the past", p, parts)
		}
		if marked == 0 || marked > past/2 {
			t.Errorf("process %v: %d of %d rows of the past are extremes", p, marked, past)
		}
	}
}

func TestTheRowsAroundAPhaseStayAsTheyWere(t *testing.T) {
	t.Parallel()
	w, err := Create(filepath.Join(t.TempDir(), "run"), Meta{PID: 100}, CreateOptions{Keep: littleRoom})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Event(Event{TMs: 60_000, Kind: KindPhase, Name: PhaseBaseline}); err != nil {
		t.Fatal(err)
	}
	longRun(t, w, 60_000, 1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var near []float64
	for _, at := range run.Samples.Column(ColTime) {
		if math.Abs(at-60_000) <= 250 {
			near = append(near, at)
		}
	}
	if len(near) != 11 {
		t.Errorf("around the phase are %v", near)
	}
}

func TestThinningTwiceIsThinningOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "run"), Meta{}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	longRun(t, w, 30_000, 2)
	thin := func(from string, level int) string {
		t.Helper()
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		th := &thinner{size: int64(len(data)), room: int64(10 * len(data)), last: 30_000 * 50_000,
			stop: never, in: strings.NewReader(string(data))}
		if err := th.plan(); err != nil {
			t.Fatal(err)
		}
		th.level, th.extremes, th.lasts = level, nil, nil
		if err := th.peaks(); err != nil {
			t.Fatal(err)
		}
		to := fmt.Sprintf("%s-%d", from, level)
		header, _, _ := strings.Cut(string(data), "\n")
		if !strings.Contains(header, ColThinned) {
			header += "," + ColThinned
		}
		out, err := os.Create(to)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if err := th.write(out, []byte(header+"\n")); err != nil {
			t.Fatal(err)
		}
		return to
	}
	whole := filepath.Join(w.Dir(), FileSamples)
	once, twice := thin(whole, 12), thin(thin(whole, 9), 12)
	a, _ := os.ReadFile(once)
	b, _ := os.ReadFile(twice)
	if string(a) != string(b) || len(a) < 10_000 {
		t.Errorf("%d and %d bytes", len(a), len(b))
	}
}

func TestManyProcessesThatCameAndWentDoNotBreakTheBound(t *testing.T) {
	t.Parallel()
	w, err := Create(filepath.Join(t.TempDir(), "run"), Meta{PID: 1}, CreateOptions{Keep: littleRoom})
	if err != nil {
		t.Fatal(err)
	}
	const processes = 100_000
	for i := range processes {
		at := time.Duration(i) * 200 * time.Millisecond
		for _, pid := range []int64{1, int64(10 + i)} {
			if err := w.Sample(Row{T: at, Cells: []Cell{{ColPID, pid}, {ColRSS, int64(i)}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := folderSize(t, w.Dir()); n > littleRoom {
		t.Errorf("the folder takes %d bytes", n)
	}
	run, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	mine, others := 0, 0
	for i, pid := range run.Samples.Column(ColPID) {
		if run.Samples.Column(ColTime)[i] > processes*200-600_000 {
			continue
		}
		if pid == 1 {
			mine++
		} else {
			others++
		}
	}
	if mine < 256 || others == 0 {
		t.Errorf("%d rows of the program, %d of its children stay of the past", mine, others)
	}
}

func TestAFollowerHasEveryRowOnceWhileThePastIsThinned(t *testing.T) {
	t.Parallel()
	w, err := Create(filepath.Join(t.TempDir(), "run"), Meta{PID: 1, Start: time.Now()},
		CreateOptions{Keep: littleRoom})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	f := Follow(w.Dir(), time.Time{}, Taker{Row: func(_ int, _ float64, cells []Cell) {
		got = append(got, cells[0].Value)
	}})
	defer f.Close()
	const rows = 60_000
	for i := range rows {
		row := Row{T: time.Duration(i) * 50 * time.Millisecond, Cells: []Cell{{ColRSS, int64(i)}}}
		if i > rows/2 { // a column comes up
			row.Cells = append(row.Cells, Cell{ColLive, 1})
		}
		if err := w.Sample(row); err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 {
			all(t, f)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all(t, f)
	if w.Stats().ThinnedRows == 0 {
		t.Fatal("nothing was thinned")
	}
	if len(got) != rows {
		t.Fatalf("%d rows", len(got))
	}
	for i, v := range got {
		if v != int64(i) {
			t.Fatalf("row %d is %d", i, v)
		}
	}
}

func TestEnoughOfAThinnedRunIsTheSameSampleAsOfTheWhole(t *testing.T) {
	t.Parallel()
	const rows, most = 60_000, 1000
	at, step, held := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		at[i], step[i], held[i] = float64(i)*50, float64(i), float64(i*7919%1000)
	}
	whole := NewSamples([]string{ColTime, ColStep, ColGPU}, [][]float64{at, step, held})
	events := []Event{{TMs: 1_000_000, Kind: KindPhase, Name: PhaseBaseline}, {TMs: 2_990_000, Kind: KindReceipt}}
	thinned, err := Thin(whole, events, 200_000)
	if err != nil || thinned.Len() > rows/5 || thinned.Len() < 2*most {
		t.Fatal(thinned.Len(), err)
	}
	even := func(s *Samples) (steps []float64) {
		all := make([]int, s.Len())
		for i := range all {
			all[i] = i
		}
		for _, i := range EvenRows(s.Column(ColTime), s.Column(ColThinned), all, MarksOf(events), most) {
			steps = append(steps, s.Column(ColStep)[i])
		}
		return steps
	}
	if a, b := even(whole), even(thinned); !slices.Equal(a, b) || len(a) < most/2 {
		t.Errorf("%d rows of the whole, %d of what is left", len(a), len(b))
	}
}

// slotOf is the slot of a level that a time lies in, in microseconds.
func slotOf(level int, micros int64) int64 {
	slot := micros / slotMicros
	for l := range level {
		slot = above(l, slot)
	}
	return slot
}
