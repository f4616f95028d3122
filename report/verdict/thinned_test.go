package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestRowsThatStayForTheirExtremesAreNotJudged(t *testing.T) {
	t.Parallel()
	const n = 400
	tm, gpu, live, extreme := make([]float64, 0, n), []float64{}, []float64{}, []float64{}
	add := func(at, bytes, mark float64) {
		tm, extreme = append(tm, at), append(extreme, mark)
		gpu, live = append(gpu, bytes+64<<20), append(live, bytes)
	}
	for i := range n {
		add(float64(i)*1000, 1<<30, record.Unknown())
		// What stays for its greatest value is the higher the later it was.
		add(float64(i)*1000+500, float64(1<<30+i*(1<<20)), record.Extreme)
	}
	run := &record.Run{Samples: record.NewSamples(
		[]string{record.ColTime, record.ColGPU, record.ColLive, record.ColThinned},
		[][]float64{tm, gpu, live, extreme})}
	if v := Judge(run, Options{}); v.Verdict != None || v.Window.Samples > n {
		t.Errorf("%s, of %d samples", v.Answer, v.Window.Samples)
	}
}
