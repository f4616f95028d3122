package account_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// recordings are traces of every kind: synthetic ones, ones made to mislead, and
// real ones.
func recordings(t *testing.T) []*corpus.Trace {
	t.Helper()
	real, err := corpus.Real()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(corpus.Generate(7, 150), corpus.Adversarial(7)[:60], real)
}

func ledgerOf(s *record.Samples, u account.Unified) *account.Ledger {
	return account.New(func(name string) []float64 { return account.Column(s, name) }, u)
}

func cell(v []float64, row int) float64 {
	if v == nil {
		return math.NaN()
	}
	return v[row]
}

func TestTheAccountsSumToWhatWasMeasuredInEveryRow(t *testing.T) {
	t.Parallel()
	rows := 0
	for _, trace := range recordings(t) {
		s := trace.Run.Samples
		for _, u := range []account.Unified{account.UnifiedNo, account.UnifiedYes, account.UnifiedAuto} {
			l := ledgerOf(s, u)
			footprint := ledgerOf(s, account.UnifiedNo).Host
			for i := range s.Len() {
				device := cell(l.Device, i)
				sum := cell(l.Untracked, i)
				for _, v := range [][]float64{l.Live, l.Idle} {
					if v != nil {
						sum += v[i]
					}
				}
				if l.HasDevice() && sum == sum && sum != device {
					t.Fatalf("%s, %s, row %d: live, idle and untracked are %.0f of %.0f", trace.Kind, u, i, sum, device)
				}
				if sum != sum && device == device && cell(l.Live, i) == cell(l.Live, i) &&
					cell(l.Idle, i) == cell(l.Idle, i) && l.Live != nil && l.Idle != nil {
					t.Fatalf("%s, row %d: all parts are known and their sum is not", trace.Kind, i)
				}
				host := cell(l.Host, i)
				if l.Unified && (l.HasDevice() || l.Owned()) {
					host += held(l, i)
				}
				if want := cell(footprint, i); host == host && host != want {
					t.Fatalf("%s, %s, row %d: host and the device's part are %.0f of %.0f",
						trace.Kind, u, i, host, want)
				}
				rows++
			}
		}
	}
	if rows < 100_000 {
		t.Fatalf("only %d rows were looked at", rows)
	}
}

// held is what the device holds of the footprint.
func held(l *account.Ledger, row int) float64 {
	if l.HasDevice() {
		return cell(l.Device, row)
	}
	if l.Idle != nil {
		return l.Live[row] + l.Idle[row]
	}
	return l.Live[row]
}

func TestASingleRowIsChargedAsTheSeriesIs(t *testing.T) {
	t.Parallel()
	for _, trace := range recordings(t) {
		s := trace.Run.Samples
		l := ledgerOf(s, account.UnifiedNo)
		var latest account.Latest
		for i := range s.Len() {
			whole := true
			for _, name := range s.Names() {
				v := s.Column(name)[i]
				if v != v {
					whole = false
					continue
				}
				latest.Take(record.Cell{Column: name, Value: int64(v)})
			}
			if !whole || !integers(s, i) {
				continue
			}
			got := latest.Row(false)
			for name, c := range map[string][2]float64{
				"device": {got.Device, cell(l.Device, i)}, "live": {got.Live, cell(l.Live, i)},
				"idle":      {got.Idle, cell(l.Idle, i)},
				"untracked": {got.Untracked, cell(l.Untracked, i)}, "host": {got.Host, cell(l.Host, i)},
			} {
				if c[0] != c[1] && (c[0] == c[0] || c[1] == c[1]) {
					t.Fatalf("%s, row %d: %s is %.0f live and %.0f in the series", trace.Kind, i, name, c[0], c[1])
				}
			}
		}
	}
}

func integers(s *record.Samples, row int) bool {
	return !slices.ContainsFunc(s.Names(), func(name string) bool {
		v := s.Column(name)[row]
		return v != math.Trunc(v)
	})
}

func TestWhatNobodyTellsIsUnknownAndNotZero(t *testing.T) {
	t.Parallel()
	var none account.Latest
	for name, v := range map[string]float64{"device": none.Row(true).Device, "live": none.Row(true).Live,
		"untracked": none.Row(false).Untracked, "host": none.Row(true).Host} {
		if v == v {
			t.Errorf("%s of a process that told nothing is %.0f", name, v)
		}
	}
	none.Take(record.Cell{Column: "gpu_bytes@1", Value: 40})
	r := none.Row(false)
	if r.Untracked != 40 || r.Live == r.Live || none.Tells(false).Owned() {
		t.Errorf("bytes without an owner: %+v", r)
	}
}

func TestARemainderBelowZeroStaysInTheLedgerAndIsNotShownOnUnifiedMemory(t *testing.T) {
	t.Parallel()
	tells := account.Tells{GPU: true, Live: true, Idle: true, Footprint: true, Unified: true}
	c := account.Unknown()
	c.GPU, c.Live, c.Idle, c.Footprint = 100, 90, 15, 80
	r := tells.Charge(c)
	if r.Untracked != -5 || r.Host != -20 {
		t.Errorf("charged: %+v", r)
	}
	if shown := tells.Shown(r); shown.Host == shown.Host || shown.Untracked != -5 {
		t.Errorf("shown: %+v", shown)
	}
}

func TestADeviceThatARowDoesNotKnowTakesNoPart(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	s := record.NewSamples([]string{"gpu_bytes@0", "gpu_bytes@1"}, [][]float64{{10, nan, 12, nan}, {nan, 20, nan, 22}})
	if v := account.ColumnAt(s, record.ColGPU, []int{1, 3}); !slices.Equal(v, []float64{20, 22}) {
		t.Errorf("of the second process: %v", v)
	}
	if v := account.Column(s, record.ColGPU); v != nil {
		t.Errorf("rows that each lack a part: %v", v)
	}
}

func TestTheChangesSumToWhatWasMeasuredOverAnySpan(t *testing.T) {
	t.Parallel()
	spans := 0
	for i, trace := range recordings(t) {
		for _, u := range []account.Unified{account.UnifiedNo, account.UnifiedYes, account.UnifiedAuto} {
			l := ledgerOf(trace.Run.Samples, u)
			n := trace.Run.Samples.Len()
			from := i % max(n/2, 1)
			c, ok := l.Between(from, n-1)
			if !ok {
				continue
			}
			if c.First < from || c.Last >= n || c.First >= c.Last {
				t.Fatalf("%s: rows %d to %d of %d to %d", trace.Kind, c.First, c.Last, from, n-1)
			}
			if !integers(trace.Run.Samples, c.First) || !integers(trace.Run.Samples, c.Last) {
				continue
			}
			sum := 0.
			for _, v := range []float64{c.Live, c.Idle, c.Untracked, c.Host} {
				if v == v {
					sum += v
				}
			}
			if measured, ok := l.Measured(c); ok && sum != measured {
				t.Fatalf("%s, %s: the accounts sum to %.0f of %.0f", trace.Kind, u, sum, measured)
			}
			spans++
		}
	}
	if spans < 500 {
		t.Fatalf("only %d spans were looked at", spans)
	}
}

func TestASpanBeginsAndEndsWhereEverythingIsKnown(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	s := record.NewSamples([]string{"footprint_bytes", "gpu_bytes"},
		[][]float64{{10, 11, 12, 13, 14}, {nan, 5, nan, 6, nan}})
	l := ledgerOf(s, account.UnifiedNo)
	c, ok := l.Between(0, 4)
	if !ok || c.First != 1 || c.Last != 3 || c.Untracked != 1 || c.Host != 2 || c.Live == c.Live {
		t.Errorf("%+v, %v", c, ok)
	}
	if sum, ok := l.Measured(c); !ok || sum != 3 {
		t.Errorf("measured %v, %v", sum, ok)
	}
	if _, ok := l.Between(2, 4); ok {
		t.Error("a change was told of a span with a single known row")
	}
}

func TestWithoutLiveBytesTheIdleOnesAreStillAPartOfTheDevices(t *testing.T) {
	t.Parallel()
	cells := account.Unknown()
	cells.GPU, cells.Idle, cells.RSS = 700, 200, 1000
	for _, c := range []struct {
		tells           account.Tells
		untracked, host float64
	}{
		{account.Tells{GPU: true, Idle: true, RSS: true}, 500, 1000},
		{account.Tells{GPU: true, Idle: true, RSS: true, Unified: true}, 500, 300},
		{account.Tells{Idle: true, RSS: true, Unified: true}, math.NaN(), 800},
	} {
		r := c.tells.Charge(cells)
		if r.Idle != 200 || r.Host != c.host || r.Untracked != c.untracked && c.untracked == c.untracked {
			t.Errorf("%+v: %+v", c.tells, r)
		}
	}
}
