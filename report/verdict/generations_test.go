package verdict

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// block is memory of a simulated allocator: who lives at one look and at the next is
// told by where.
type block struct {
	where     int
	from, to  float64 // seconds
	bytes     float64
	recurring float64 // the chance that it lives at a look; 0: from its birth to its end
}

// forGood is the end of a block that is kept.
const forGood = 1e9

// aged adds looks at blocks as the agent takes them, from two seconds on each at half as
// much again of the age of the one before, and what they hold to what is live, below a
// sawtooth of so many bytes whose valleys are not all as low.
func (p *program) aged(saw float64, blocks []block) *program {
	p.meta.Versions = map[string]string{"python": "3.11.2"}
	var looks []float64
	born, end := map[int]int{}, float64(p.rows)/20
	for at := 2.; at < end; at *= 1.5 {
		looks = append(looks, at)
		now, list := map[int]int{}, make([]record.Generation, len(looks))
		for i, t := range looks {
			list[i].AgoMs = math.Round(1000 * (at - t))
		}
		for _, b := range blocks {
			lives := b.from <= at && at < b.to
			if b.recurring > 0 {
				lives = p.r.Float64() < b.recurring
			}
			if !lives {
				continue
			}
			g, known := born[b.where]
			if !known {
				g = len(looks) - 1
			}
			now[b.where] = g
			list[g].Bytes, list[g].Count = list[g].Bytes+int64(b.bytes), list[g].Count+1
		}
		born = now
		detail, _ := json.Marshal(record.Generations{Generations: list})
		p.events = append(p.events, record.Event{TMs: 1000 * at, Kind: record.KindGenerations,
			Detail: detail})
	}
	tooth, valley := 0., 0.
	live := make([]float64, p.rows)
	for i := range live {
		at := float64(i) / 20
		if i%37 == 0 {
			tooth, valley = saw*p.r.Float64(), saw/1024*p.r.Float64()
		}
		live[i] = 60*mib + valley + tooth*float64(i%37)/37
		for _, b := range blocks {
			if b.recurring == 0 && b.from <= at && at < b.to {
				live[i] += b.bytes
			}
		}
	}
	return p.set(record.ColLive, func(i int) float64 { return live[i] }).
		set(record.ColGPU, func(i int) float64 { return 4*gib + 700*mib }).
		set(record.ColIdle, func(i int) float64 { return 4*gib - live[i] })
}

// each makes so many blocks, one after the other.
func each(n int, make func(i int) block) (list []block) {
	for i := range n {
		b := make(i)
		b.where = i + 1
		list = append(list, b)
	}
	return list
}

// without are the same rows without the looks.
func (p *program) without() *Verdict {
	p.events = nil
	return p.judge()
}

func TestEachGenerationThatLeavesSurvivorsIsALeakBelowASawtoothOfGigabytes(t *testing.T) {
	t.Parallel()
	kept := each(450, func(i int) block {
		return block{from: float64(i) / 10, to: forGood,
			bytes: 512 * kib}
	})
	p := newProgram(900).healthy().aged(2*gib, kept)
	v := p.judge()
	if v.Verdict != AppLeak || v.RestsOn != ByObjects ||
		!strings.Contains(v.Summary, "each of 4 generations of blocks left survivors") {
		t.Errorf("%s by %s", v.Summary, v.RestsOn)
	}
	if r := rowOf(v, Live); r.Shape != trend.Growing {
		t.Errorf("live is %s", r.Shape)
	}
	if v := p.without(); v.Verdict == AppLeak {
		t.Errorf("the trend alone tells: %s", v.Summary)
	}
}

func TestNoGenerationThatLeavesSurvivorsIsHealth(t *testing.T) {
	t.Parallel()
	p := newProgram(900).healthy().aged(2*gib, each(450, func(i int) block {
		return block{from: float64(i) / 10, to: float64(i)/10 + .35, bytes: 512 * kib}
	}))
	v := p.judge()
	if v.Verdict != None || v.RestsOn != ByObjects ||
		!strings.Contains(v.Summary, "blocks come and go, and none of those handed out between ") {
		t.Errorf("%s by %s", v.Summary, v.RestsOn)
	}
	if v := p.without(); v.Verdict != None || v.RestsOn == ByObjects {
		t.Errorf("without looks, by %s: %s", v.RestsOn, v.Summary)
	}
}

// What a program sets up stays, and small blocks lie where others did at each look.
func TestTwoGenerationsWithoutSurvivorsAreHealthWhereTheyAreMuchOfTheTime(t *testing.T) {
	t.Parallel()
	aged := func(rows int, kept float64) *program {
		blocks := each(500, func(i int) block {
			from := float64(i) / 10
			return block{from: from, to: from + .35, bytes: 512 * kib}
		})
		for i := range 90 {
			blocks = append(blocks, block{where: 1000 + i, from: float64(i) / 10, to: forGood, bytes: mib},
				block{where: 2000 + i, recurring: .5, bytes: 512})
		}
		for i := range int(kept) {
			blocks = append(blocks, block{where: 3000 + i, from: 10 + .5*float64(i), to: forGood, bytes: mib})
		}
		return newProgram(rows).healthy().aged(2*gib, blocks)
	}
	v := aged(700, 0).judge()
	if v.Verdict != None || v.RestsOn != ByObjects {
		t.Errorf("%s by %s", v.Summary, v.RestsOn)
	}
	if v := aged(700, 40).judge(); v.Verdict == None {
		t.Errorf("two blocks a second stay: %s", v.Summary)
	}
}

func TestAgesOfBlocksAccuseNothingThatGivesThemBack(t *testing.T) {
	t.Parallel()
	const second = 20 // rows
	for name, blocks := range map[string][]block{
		"a cache that is full and replaces what is in it": each(450, func(i int) block {
			return block{from: float64(i) / 10, to: float64(i)/10 + 9, bytes: 4 * mib}
		}),
		"what is collected now and then": each(450, func(i int) block {
			return block{from: float64(i) / 10, to: 12 * math.Ceil((float64(i)/10+.01)/12), bytes: 4 * mib}
		}),
		"a cache that filled up": each(100, func(i int) block {
			return block{from: float64(i) / 10, to: forGood, bytes: 4 * mib}
		}),
		"a cache that fills up more and more slowly": each(60, func(i int) block {
			return block{from: 2 * math.Exp(float64(i)/20), to: forGood, bytes: 4 * mib}
		}),
		"addresses that are used again, at times": each(400, func(i int) block {
			return block{recurring: .2 + .8*float64(i)/400, bytes: mib}
		}),
		"the same, mostly": each(400, func(int) block { return block{recurring: .85, bytes: mib} }),
		"the same of few large ones": each(9, func(int) block {
			return block{recurring: .7,
				bytes: 200 * mib}
		}),
	} {
		for rows := 10 * second; rows <= 90*second; rows += 10 * second {
			p := newProgram(rows).healthy().aged(2*gib, blocks)
			with := p.judge()
			if without := p.without(); with.Verdict == AppLeak && without.Verdict != AppLeak {
				t.Errorf("%s, %d s: %s", name, rows/second, with.Summary)
			}
		}
	}
}

func TestABlockThatIsReplacedByALargerOneIsNoHealth(t *testing.T) {
	t.Parallel()
	// One list of tensors joined again and again: the new block holds what the old one did.
	joined := each(900, func(i int) block {
		return block{from: float64(i) / 20, to: float64(i+1) / 20, bytes: float64(i) * 256 * kib}
	})
	if v := newProgram(900).healthy().aged(2*gib, joined).judge(); v.Verdict == None {
		t.Errorf("%s", v.Summary)
	}
}

func TestAContainerThatFillsUpIsNoLeakThoughItsBlocksStay(t *testing.T) {
	t.Parallel()
	kept := each(450, func(i int) block {
		return block{from: float64(i) / 10, to: forGood,
			bytes: 2560 * kib}
	})
	leak := newProgram(900).healthy().aged(2*mib, kept)
	if v := leak.judge(); v.Verdict != AppLeak {
		t.Fatalf("without a bound: %s", v.Summary)
	}
	// The same blocks, an element of 1.25 MiB each row.
	if v := leak.lookedAt("deque train.replay", 1280*kib, 1200).judge(); v.Verdict != None {
		t.Errorf("with a bound: %s", v.Summary)
	}
}

func TestSurvivorsThatAreMoreThanWhatIsLiveGrewByAreNoLeak(t *testing.T) {
	t.Parallel()
	kept := each(450, func(i int) block { return block{from: float64(i) / 10, to: forGood, bytes: 2 * mib} })
	p := newProgram(900).healthy().aged(0, kept)
	p.set(record.ColLive, func(int) float64 { return 60 * mib }) // the allocator's own count says otherwise
	if v := p.judge(); v.Verdict == AppLeak {
		t.Errorf("%s", v.Summary)
	}
}
