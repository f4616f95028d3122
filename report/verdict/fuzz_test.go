package verdict

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// hostileValues are cells no counter should give.
var hostileValues = []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 1e300, -1e300, math.MaxFloat64,
	math.SmallestNonzeroFloat64, 1 << 60, 1 << 62, 4096, 1024, mib}

// hostileRows is how many rows a hostile run has at most: enough for every rule
// to be asked, few enough for many runs a second.
const hostileRows = 96

// hostileRun makes a run out of bytes: which columns it has, how many rows, most
// of them at the most, and a cell for every two bytes.
func hostileRun(data []byte, most int) *record.Run {
	if len(data) < 10 {
		return &record.Run{Samples: &record.Samples{}}
	}
	mask := binary.LittleEndian.Uint64(data)
	rows := int(data[8]) % (most + 1)
	names := []string{record.ColTime}
	for i, n := range series.ColumnsUsed {
		if mask>>i&1 == 1 {
			names = append(names, n)
		}
	}
	if mask>>62&1 == 1 {
		names = append(names, record.ColStep)
	}
	if mask>>63&1 == 1 {
		names = append(names, record.ColPID)
	}
	body := data[9:]
	next := 0
	values := make([][]float64, len(names))
	for c := range values {
		values[c] = make([]float64, rows)
		for r := range values[c] {
			b := body[next%len(body)]
			next++
			switch {
			case int(b) < len(hostileValues):
				values[c][r] = hostileValues[b]
			case c == 0 && b < 200:
				values[c][r] = float64(r*50 + int(b))
			default:
				values[c][r] = float64(int(b)<<16 + r*int(body[c%len(body)])<<10)
			}
		}
	}
	run := &record.Run{Samples: record.NewSamples(names, values)}
	for i, b := range body {
		if i > 8 {
			break
		}
		e := record.Event{TMs: float64(b) * 20, Kind: record.KindPhase,
			Name: []string{"baseline", "released", "exiting", "load"}[b%4]}
		if b%7 == 0 {
			n := int64(b) << 20
			e = record.Event{TMs: e.TMs, Kind: record.KindReceipt, Receipt: &record.Receipt{Action: "purge",
				ClaimedBytes: &n, ReturnedBytes: &n}}
		}
		run.Events = append(run.Events, e)
	}
	return run
}

// sound fails when a verdict could not be printed or says what it must not.
func sound(t *testing.T, v *Verdict) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Fatalf("verdict does not marshal: %v", err)
	}
	if v.Verdict == "" || v.Tier == "" || v.Summary == "" || !(v.Confidence >= 0 && v.Confidence <= 1) {
		t.Fatalf("incomplete verdict: %+v", v)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 40, 20, 30, 40, 50, 60})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 63, 200, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99, 200})
	f.Add([]byte{129, 7, 0, 0, 0, 0, 0, 64, 100, 17, 200, 201, 202, 203})
	f.Fuzz(func(t *testing.T, data []byte) {
		run := hostileRun(data, hostileRows)
		sound(t, Judge(run, Options{}))
	})
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 63, 200, 0, 1, 2, 3, 4, 5, 6, 7, 8},
		[]byte{129, 7, 0, 0, 0, 0, 0, 64, 100, 17, 200, 201, 202})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d := Diff(hostileRun(a, hostileRows/2), hostileRun(b, hostileRows/2), Options{Unified: account.UnifiedYes})
		if _, err := json.Marshal(d); err != nil {
			t.Fatalf("difference does not marshal: %v", err)
		}
		if d.Verdict == "" || d.Summary == "" || !(d.Confidence >= 0 && d.Confidence <= 1) {
			t.Fatalf("incomplete difference: %+v", d)
		}
	})
}

func FuzzMonitor(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 63, 200, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		run := hostileRun(data, 16) // each row is looked at, three times over
		m := NewMonitor(Options{})
		s := run.Samples
		for i := range 3 * s.Len() { // three times over: time runs backward twice
			row := i % s.Len()
			var cells []record.Cell
			for _, n := range s.Names() {
				if v := s.Column(n)[row]; v == v {
					cells = append(cells, record.Cell{Column: n, Value: int64(v)})
				}
			}
			m.Add(i%2, s.Column(record.ColTime)[row], cells...)
			for _, a := range m.Look() {
				sound(t, a.Verdict)
			}
		}
	})
}

func TestHostileColumnsGiveAVerdictAndNoPanic(t *testing.T) {
	t.Parallel()
	for rows := 0; rows < 70; rows++ {
		for _, v := range hostileValues {
			cols := func() ([]string, [][]float64) {
				names := append([]string{record.ColTime, record.ColStep, record.ColPID},
					series.ColumnsUsed[:]...)
				values := make([][]float64, len(names))
				for c := range values {
					values[c] = make([]float64, rows)
					for r := range values[c] {
						values[c][r] = v
					}
				}
				return names, values
			}
			names, values := cols()
			sound(t, Judge(&record.Run{Samples: record.NewSamples(names, values)}, Options{}))
			names, values = cols()
			for r := range values[0] {
				values[0][r] = float64(rows - r) // reversed
			}
			sound(t, Judge(&record.Run{Samples: record.NewSamples(names, values)}, Options{}))
		}
	}
	sound(t, Judge(nil, Options{}))
	sound(t, Judge(&record.Run{}, Options{}))
	sound(t, Judge(&record.Run{Samples: record.NewSamples([]string{"x"}, [][]float64{{1}})}, Options{}))
}

func TestRowsWithoutInformationAreUndecidedWithTheReason(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, s := range map[string]*record.Samples{
		"no rows": {},
		"one row": record.NewSamples([]string{record.ColTime, record.ColRSS}, [][]float64{{0}, {mib}}),
		"all cells empty": record.NewSamples([]string{record.ColTime, record.ColRSS},
			[][]float64{make([]float64, 50), repeat(nan, 50)}),
		"no usable time": record.NewSamples([]string{record.ColTime, record.ColRSS},
			[][]float64{repeat(nan, 50), repeat(mib, 50)}),
		"time stands": record.NewSamples([]string{record.ColTime, record.ColRSS},
			[][]float64{repeat(5, 50), repeat(mib, 50)}),
		"negative counter": record.NewSamples([]string{record.ColTime, record.ColRSS}, [][]float64{upTo(50), repeat(-5, 50)}),
	} {
		v := Judge(&record.Run{Samples: s}, Options{})
		if v.Verdict != Undecided || len(v.Summary) < len("undecided: ")+5 {
			t.Errorf("%s: %s: %s", name, v.Verdict, v.Summary)
		}
	}
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func upTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i) * 50
	}
	return out
}

// The figures the issue asks for, on a small part of the corpus, with room for
// the sample's size; the scoreboard measures them on more.
func TestFiguresHoldOnASmallPartOfTheCorpus(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	var healthy, alarms, sure, growing, found, said int
	for _, tr := range corpus.Generate(corpus.Publish+7, 390) {
		v := Judge(tr.Run, Options{})
		alarm := v.Verdict != None && v.Verdict != Undecided
		if tr.Truth == corpus.None {
			healthy++
			if alarm {
				alarms++
				if v.Tier == Confirmed {
					sure++
				}
			}
			continue
		}
		if alarm {
			said++
		}
		if tr.Sigmas >= 6 {
			growing++
			if tr.Right(string(v.Verdict)) {
				found++
			}
		}
	}
	if alarms > healthy*3/100 || sure > 1 {
		t.Errorf("%d false alarms, %d confirmed, on %d healthy traces", alarms, sure, healthy)
	}
	if found < growing*90/100 {
		t.Errorf("%d of %d growths found", found, growing)
	}
}

func TestTracesMadeToMisleadAreNotCalledWrong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	wrong := map[string]int{}
	for _, tr := range corpus.Adversarial(corpus.Publish + 7) {
		if v := Judge(tr.Run, Options{}); !tr.Right(string(v.Verdict)) {
			wrong[tr.Kind]++
		}
	}
	for kind, n := range wrong {
		if n > 2 {
			t.Errorf("%s: %d of 20 wrong", kind, n)
		}
	}
}
