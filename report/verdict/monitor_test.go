package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// feed gives a monitor one row of a program.
func feed(m *Monitor, pid int, p *program, row int) {
	var cells []record.Cell
	for _, n := range []string{record.ColRSS, record.ColGPU, record.ColLive, record.ColIdle} {
		cells = append(cells, record.Cell{Column: n, Value: int64(p.cols[n][row])})
	}
	m.Add(pid, p.cols[record.ColTime][row], cells...)
}

func TestMonitorAlarmsOnTheProcessThatLeaksAndOnNoOther(t *testing.T) {
	t.Parallel()
	m := NewMonitor(Options{})
	leak := newProgram(1500).healthy().grows(record.ColLive, 60*mib, 64*kib, 32*kib).grows(record.ColGPU,
		700*mib, 0, 32*kib)
	var healthy []*program
	for i := 0; i < 8; i++ {
		healthy = append(healthy, newProgram(1500+i).healthy())
	}
	var last []Alarm
	for row := 0; row < 1500; row++ {
		feed(m, 1, leak, row)
		for i, p := range healthy {
			feed(m, 10+i, p, row)
		}
		last = m.Look()
	}
	if len(last) != 1 || last[0].PID != 1 || last[0].Class != AppLeak || last[0].Account != Live {
		t.Fatalf("alarms %+v", last)
	}
	if last[0].SinceMs <= 0 || last[0].Verdict == nil {
		t.Errorf("alarm without time or verdict: %+v", last[0])
	}
	m.Forget(1)
	if a := m.Look(); len(a) != 0 {
		t.Errorf("alarms of a forgotten process: %+v", a)
	}
}

func TestAnAlarmThatGoesAwayIsClosed(t *testing.T) {
	t.Parallel()
	m := NewMonitor(Options{})
	p := newProgram(6000).healthy()
	p.set(record.ColRSS, func(i int) float64 { return 500*mib + float64(min(i, 600))*64*kib + 64*kib*p.r.NormFloat64() })
	opened := false
	var last []Alarm
	for row := 0; row < 6000; row++ {
		feed(m, 1, p, row)
		last = m.Look()
		opened = opened || len(last) > 0
	}
	if !opened || len(last) != 0 {
		t.Errorf("opened %v, at the end %+v", opened, last)
	}
}

// A scan of 84 processes, six of which grow plainly: of the open alarms at most
// one in twenty may be false, and the looks of one process must not stop those
// of another.
func TestAScanHoldsTheFalseDiscoveryRate(t *testing.T) {
	t.Parallel()
	m := NewMonitor(Options{})
	regimes := []string{"white", "ar.9", "ar.99", "walk", "sawtooth", "spikes"}
	type process struct {
		s     *record.Samples
		grows bool
	}
	var all []process
	for i := 0; len(all) < 78; i++ {
		if s := corpus.HealthyOne(corpus.Publish+9, regimes[i%len(regimes)], i).Run.Samples; s.Len() == 720 {
			all = append(all, process{s, false})
		}
	}
	for i := range 6 {
		p := newProgram(720+i).healthy().grows(record.ColLive, 60*mib, 256*kib, 64*kib).grows(record.ColGPU,
			700*mib, 0, 64*kib)
		all = append(all, process{p.run().Samples, true})
	}
	var last []Alarm
	for row := range 720 {
		for pid, p := range all {
			var cells []record.Cell
			for _, n := range p.s.Names() {
				if v := p.s.Column(n)[row]; v == v && n != record.ColTime {
					cells = append(cells, record.Cell{Column: n, Value: int64(v)})
				}
			}
			m.Add(pid, p.s.Column(record.ColTime)[row], cells...)
		}
		last = m.Look()
	}
	found, wrong := 0, 0
	for _, a := range last {
		if all[a.PID].grows {
			found++
		} else {
			wrong++
		}
	}
	if found != 6 || wrong > 1 {
		t.Errorf("%d of 6 growing processes have an alarm, and %d of 78 healthy ones", found, wrong)
	}
}

func TestAClockThatJumpsBackDoesNotMakeEverySampleALook(t *testing.T) {
	t.Parallel()
	m := NewMonitor(Options{})
	for i := range 3000 {
		tm := float64(i%2) * 1e12
		m.Add(1, tm, record.Cell{Column: record.ColRSS, Value: int64(500*mib + i)})
		m.Look()
	}
	if n := m.procs[1].looks; n == 0 || n > 40 {
		t.Errorf("%d looks at 3000 samples", n)
	}
}

func TestMonitorKeepsABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	m := NewMonitor(Options{})
	for i := 0; i < 100_000; i++ {
		m.Add(1, float64(i), record.Cell{Column: record.ColRSS, Value: int64(i)})
	}
	w := m.procs[1]
	if n := len(w.values[0]); n >= monitorRows || n < monitorRows/3 {
		t.Errorf("%d rows kept", n)
	}
	for level, rows := range w.waiting {
		if len(rows) > 2 {
			t.Errorf("%d rows wait at level %d", len(rows), level)
		}
	}
	for i, v := range w.values[1] {
		if v != w.values[0][i] || i > 0 && v <= w.values[1][i-1] {
			t.Fatalf("row %d: time %v, value %v: columns went apart", i, w.values[0][i], v)
		}
	}
}

// watchADay feeds a monitor a day of samples a second.
func watchADay(bytes func(i int) float64) (alarms []Alarm, w *watched) {
	m := NewMonitor(Options{})
	for i := range 86_400 {
		m.Add(1, float64(i)*1000, record.Cell{Column: record.ColRSS, Value: int64(bytes(i))})
		if i%16 == 0 {
			alarms = m.Look()
		}
	}
	return alarms, m.procs[1]
}

// One row in 81 would show nothing of it: the noise is half as large as the leak.
func TestASlowLeakOfADayIsFoundUnderItsNoise(t *testing.T) {
	t.Parallel()
	for _, leak := range []float64{0, 16 * mib} {
		r := rand.New(rand.NewPCG(1, 99))
		alarms, _ := watchADay(func(i int) float64 { return 800*mib + leak*float64(i)/86_400 + 8*mib*r.NormFloat64() })
		if found := len(alarms) == 1 && alarms[0].Account == Host; found != (leak > 0) {
			t.Errorf("a leak of %s a day: alarms %+v", units.Bytes(leak), alarms)
		}
	}
}

func TestWhatIsKeptOfALongWatchIsItsUsualLevel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 99))
	_, w := watchADay(func(int) float64 {
		if r.Float64() < .2 {
			return 900 * mib // a moment's work
		}
		return 800 * mib
	})
	peaks := 0
	for _, v := range w.values[1] {
		if v != 800*mib {
			peaks++
		}
	}
	if n := len(w.values[1]); peaks > n/50 {
		t.Errorf("%d of %d rows are peaks that one sample in five has", peaks, n)
	}
}

func TestAColumnThatComesLateIsUnknownBefore(t *testing.T) {
	t.Parallel()
	m := NewMonitor(Options{})
	for i := range 10_000 {
		cells := []record.Cell{{Column: record.ColRSS, Value: 500 * mib}}
		if i >= 5_000 {
			cells = append(cells, record.Cell{Column: record.ColGPU, Value: 700 * mib})
		}
		m.Add(1, float64(i), cells...)
	}
	w := m.procs[1]
	for i, v := range w.values[w.column(record.ColGPU)] {
		if at := w.values[0][i]; (v == v) != (at >= 5_000) && math.Abs(at-5_000) > 100 || v == v && v != 700*mib {
			t.Errorf("at %v ms the column is %v", at, v)
		}
	}
}
