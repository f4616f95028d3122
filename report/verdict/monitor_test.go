package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/verdict/corpus"
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
	leak := newProgram(1500).healthy().grows(record.ColLive, 60*mib, 64*kib, 32*kib).grows(record.ColGPU, 700*mib, 0, 32*kib)
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
		p := newProgram(720+i).healthy().grows(record.ColLive, 60*mib, 256*kib, 64*kib).grows(record.ColGPU, 700*mib, 0, 64*kib)
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
	if n := len(m.procs[1].values[0]); n >= monitorRows {
		t.Errorf("%d rows kept", n)
	}
}
