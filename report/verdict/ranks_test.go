package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheLastIntroductionOfAProcessCounts(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	row := ProcessRow{PID: 7}
	row.introduce(series.Indexed([]record.Event{
		{Kind: record.KindProcess, PID: 7, Name: "python train.py"},
		{Kind: record.KindProcess, PID: 8, Name: "another", Rank: &one},
		{Kind: record.KindEvent, PID: 7, Name: "no introduction"},
		{Kind: record.KindProcess, PID: 7, Name: "SpawnProcess-1", Rank: &one},
		{Kind: record.KindProcess, PID: 7, Rank: &two},
	}))
	if row.Name != "SpawnProcess-1" || row.Rank == nil || *row.Rank != 2 {
		t.Errorf("%+v", row)
	}
}
