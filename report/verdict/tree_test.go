package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// tree is a run of 45 s of a program and of workers that live from one second to
// another, each with so much of the device.
func tree(held float64, lives ...[2]float64) *record.Run {
	names := []string{record.ColTime, record.ColPID, record.ColFootprint, record.ColGPU, record.ColLive, record.ColIdle}
	cols := make([][]float64, len(names))
	row := func(v ...float64) {
		for i, x := range v {
			cols[i] = append(cols[i], x)
		}
	}
	for i := range 900 {
		at := float64(i) / 20
		row(at*1000, 100, 80*mib, 0, 0, 0)
		for n, life := range lives {
			if at >= life[0] && at < life[1] {
				row(at*1000, float64(200+n), 333*mib, 520*mib+held, held, 0)
			}
		}
	}
	return &record.Run{Meta: record.Meta{PID: 100}, Samples: record.NewSamples(names, cols)}
}

func TestWorkersThatNobodyEndsAreAFindingAndOthersAreNot(t *testing.T) {
	t.Parallel()
	const run = 45.
	var left, pass, atOnce, late, ring [][2]float64
	for i := range 7 {
		from := 2 + 6*float64(i)
		left = append(left, [2]float64{from, run})
		pass = append(pass, [2]float64{from, from + 5.5})
		atOnce = append(atOnce, [2]float64{1 + float64(i)/10, run})
		late = append(late, [2]float64{24 + float64(i)/10, run})
		ring = append(ring, [2]float64{from, from + 14}) // two or three at a time
	}
	for name, c := range map[string]struct {
		lives [][2]float64
		want  Class
	}{
		"one each six seconds":     {left, AppLeak},
		"one after the other":      {pass, None},
		"all at the start":         {atOnce, None},
		"all at once, later":       {late, None},
		"each for fourteen":        {ring, None},
		"two that come and stay":   {left[2:4], None},
		"three that come and stay": {left[4:], None},
		"four that come and stay":  {left[3:], AppLeak},
	} {
		v := Judge(tree(128*mib, c.lives...), Options{})
		if v.Verdict != c.want {
			t.Errorf("%s: %s", name, v.Summary)
		}
		if c.want != AppLeak {
			continue
		}
		if v.RestsOn != ByProcesses || v.PID != 100 || len(v.Causes) == 0 || v.Causes[0].ID != cause.Workers {
			t.Errorf("%s: by %s, process %d, causes %+v", name, v.RestsOn, v.PID, v.Causes)
		}
		if !strings.Contains(v.Summary, "none of them ended") || v.DrivenBy != nil || v.Forecast != nil {
			t.Errorf("%s: %s, driven by %+v, forecast %+v", name, v.Summary, v.DrivenBy, v.Forecast)
		}
	}
}

func TestWorkersHoldWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	var lives [][2]float64
	for i := range 7 {
		lives = append(lives, [2]float64{2 + 6*float64(i), 45})
	}
	if v := Judge(tree(0, lives...), Options{}); v.Verdict != DriverGrowth {
		t.Errorf("workers with a context alone: %s", v.Summary)
	}
}
