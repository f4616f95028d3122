package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// building is a native program that builds up 400 MiB in 7 s and frees them, time after time, and
// keeps one block of 4 MiB each so many seconds.
func building(each float64) *program {
	const rows = 800
	tooth := func(i int) float64 { return 4 * mib * float64(i%140) / 1.4 }
	kept := func(i int) float64 { return 4 * mib * float64(int(float64(i)/20/each)) }
	p := newProgram(rows).flat(record.ColRSS, 300*mib, 64*kib)
	p.set(record.ColDriverProgramBytes, func(i int) float64 { return 100*mib + tooth(i) + kept(i) })
	p.set(record.ColDriverAllocBytes, func(i int) float64 { return 100*mib + tooth(i) + kept(i) })
	p.set(record.ColDriverProgramCount, func(i int) float64 { return 1 + tooth(i)/4/mib + kept(i)/4/mib })
	return p.set(record.ColGPU, func(i int) float64 { return 600*mib + tooth(i) + kept(i) })
}

// lookedAtSites adds looks at which one place has so many blocks of 4 MiB.
func (p *program) lookedAtSites(blocks func(second float64) int64) *program {
	for _, at := range []float64{2.1, 3.2, 4.7, 7.1, 10.6, 15.8, 23.7, 35.6, 39.9} {
		n := blocks(at)
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindDriverSites,
			Name: record.NameLook, Sites: []record.Site{{Site: "/app/mesh.cc:7 load", Bytes: 100 * mib, Count: 1},
				{Site: "/app/mesh.cc:44 add_register", Bytes: n * 4 * mib, Count: n}}})
	}
	return p
}

func TestAPlaceThatKeepsALittleBelowLongTeethIsFound(t *testing.T) {
	t.Parallel()
	every := func(each float64) func(float64) int64 {
		return func(second float64) int64 { return int64(second / each) }
	}
	v := building(2.2).lookedAtSites(every(2.2)).judge()
	if v.Verdict != AppLeak || v.RestsOn != ByObjects ||
		!strings.Contains(v.Answer, "device memory that is allocated at /app/mesh.cc:44 in add_register grows evenly") {
		t.Errorf("one block each 2.2 s: %s by %s", v.Answer, v.RestsOn)
	}
	ended := building(2.2).lookedAtSites(every(2.2)) // and gave back some before the last look
	last := &ended.events[len(ended.events)-1]
	last.TMs, last.Sites[1].Count, last.Sites[1].Bytes = 41_000, 14, 14*4*mib
	end := time.Now()
	ended.meta.End = &end
	if v := ended.judge(); v.Verdict != AppLeak || v.RestsOn != ByObjects {
		t.Errorf("one block each 2.2 s, and some given back at the end: %s by %s", v.Answer, v.RestsOn)
	}
	if v := building(8).lookedAtSites(every(8)).judge(); v.Verdict == None {
		t.Errorf("one block each 8 s: %s", v.Answer)
	}
	for name, blocks := range map[string]func(float64) int64{
		"one that stays":      func(float64) int64 { return 3 },
		"a set that fills":    func(second float64) int64 { return min(int64(second), 12) },
		"one that sways":      func(second float64) int64 { return int64(second) % 7 },
		"one that came once":  func(second float64) int64 { return 1 + 9*min(int64(second/20), 1) },
		"one that came early": func(second float64) int64 { return min(4, int64(second*2)) },
	} {
		v := building(1e9).lookedAtSites(blocks).judge()
		if v.Verdict == AppLeak || strings.Contains(v.Answer, "grows evenly") {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

func TestWhatIsFreedBeforeTheEndIsAllocatedWhereItGrew(t *testing.T) {
	t.Parallel()
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib)
	level := func(i int) float64 { return 100*mib + float64(min(i, 780))*256*kib }
	for _, column := range [...]string{record.ColDriverProgramBytes, record.ColDriverAllocBytes} {
		p.set(column, level)
	}
	p.set(record.ColDriverProgramCount, func(i int) float64 { return 1 + float64(i)/16 })
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + level(i) })
	p.lookedAtSites(func(second float64) int64 { return int64(second * 20 / 16) })
	last := &p.events[len(p.events)-1]
	last.Sites = last.Sites[:1] // it gave back what it had
	if v := p.judge(); v.Verdict != AppLeak || !strings.Contains(v.Answer, "/app/mesh.cc:44 in add_register") {
		t.Errorf("%s", v.Answer)
	}
}

// TestAnEndThatTakesSamplesIsNoPartOfTheGrowth has a program that gives back one block after the
// other for a second before it ends, and a look that was made meanwhile.
func TestAnEndThatTakesSamplesIsNoPartOfTheGrowth(t *testing.T) {
	t.Parallel()
	const works = 780
	blocks := func(i int) float64 { return 100 + float64(min(i, works)) - 35*math.Max(0, float64(i-works)) }
	p := newProgram(800).flat(record.ColRSS, 300*mib, 64*kib).set(record.ColDriverProgramCount, blocks)
	p.set(record.ColDriverAllocs, func(i int) float64 { return 100 + float64(min(i, works)) })
	for _, column := range [...]string{record.ColDriverProgramBytes, record.ColDriverAllocBytes} {
		p.set(column, func(i int) float64 { return 256 * kib * blocks(i) })
	}
	p.set(record.ColGPU, func(i int) float64 { return 500*mib + 256*kib*math.Max(blocks(i), 600) })
	p.lookedAtSites(func(second float64) int64 { return int64(second * 20 / 16) })
	last := &p.events[len(p.events)-1]
	last.Sites = last.Sites[:1]
	last.Sites[0].Bytes /= 2
	v := p.judge()
	if v.Verdict != AppLeak || !strings.Contains(v.Answer, "device memory that the program asked") ||
		!strings.Contains(v.Answer, "/app/mesh.cc:44 in add_register") || len(v.Sites) != 2 {
		t.Errorf("%s: %+v", v.Answer, v.Sites)
	}
}

func TestADriversPoolThatIsEmptiedWithoutARefusalIsEmptiedOnPurpose(t *testing.T) {
	t.Parallel()
	const rows = 800
	idle := func(i int) float64 { return 128 * mib * float64(i%530) / 530 }
	judged := func(failed float64) *Verdict {
		p := newProgram(rows).flat(record.ColRSS, 300*mib, 64*kib).flat(record.ColDriverProgramBytes, 64*mib, 0)
		p.set(record.ColDriverPoolIdle, idle).grows(record.ColDriverFailed, 0, 0, failed)
		for _, column := range [...]string{record.ColDriverPoolReserved, record.ColDriverAllocBytes} {
			p.set(column, func(i int) float64 { return 64*mib + idle(i) })
		}
		return p.set(record.ColGPU, func(i int) float64 { return 600*mib + idle(i) }).judge()
	}
	if v := judged(0); v.Verdict == PoolGrowth || strings.Contains(v.Summary, "was not recorded") {
		t.Errorf("no request failed: %s", v.Summary)
	}
	if v := judged(.01); v.Verdict != PoolGrowth {
		t.Errorf("requests failed: %s", v.Summary)
	}
}
