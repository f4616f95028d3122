package record

import (
	"slices"
	"testing"
)

func TestThinnedRowsAreBoundedAndCoverTheWholeTime(t *testing.T) {
	t.Parallel()
	const most = 1024
	rows := NewThinned(most)
	for i := range 100 * most {
		rows.Add(float64(i), cells("pool_live_bytes", i))
		if rows.Len() >= most {
			t.Fatalf("%d rows are kept after %d, want fewer than %d", rows.Len(), i+1, most)
		}
	}
	s := rows.Samples()
	if s.Len() < most/4 || s.Len() != rows.Len() {
		t.Errorf("%d rows are left of %d", s.Len(), rows.Len())
	}
	at, values := s.Column(ColTime), s.Column(ColLive)
	for i := range at {
		if at[i] != values[i] {
			t.Fatalf("row %d is torn: time %v, value %v", i, at[i], values[i])
		}
	}
	if first, last := at[0], at[len(at)-1]; first > most || last < 99*most {
		t.Errorf("the rows kept go from %v to %v", first, last)
	}
}

func TestAColumnThatComesLaterIsUnknownBefore(t *testing.T) {
	t.Parallel()
	rows := NewThinned(100)
	rows.Add(0, cells("rss_bytes", 1))
	rows.Add(1, cells("step", 7, "rss_bytes", 2, "step", 8))
	rows.Add(2, nil)
	if !slices.Equal(rows.Names(), []string{ColTime, ColRSS, ColStep}) || rows.Column(ColGPU) != nil {
		t.Errorf("columns %v", rows.Names())
	}
	if got := show(rows.Samples()); got != "t_ms,rss_bytes,step|0,1,?|1,2,7|2,?,?" {
		t.Errorf("%s", got)
	}
}

func TestACopyOfThinnedRowsDoesNotChange(t *testing.T) {
	t.Parallel()
	rows := NewThinned(4)
	rows.Add(0, cells("step", 1))
	s := rows.Samples()
	for i := range 40 {
		rows.Add(float64(i), cells("step", 5, "refs", 6))
	}
	if got := show(s); got != "t_ms,step|0,1" {
		t.Errorf("%s", got)
	}
}
