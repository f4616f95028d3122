package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// A working set that is emptied again and again has more at a look than the list that
// leaks beside it.
func TestAListThatIsEmptiedStepsBackBehindOneThatKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	const kept, working = "list train() local kept", "list train() local working"
	judged := func(stayed int64, looks int) *Verdict {
		p := newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, 256*kib).
			set(record.ColGPU, func(i int) float64 { return 700*mib + 256*kib*float64(i) })
		for at, over := 3., 2.; looks > 0; at, over, looks = at+over, 2*over, looks-1 {
			bytes, n := int64(over*20*256*kib), int64(over*20)
			p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders,
				Holders: []record.Holder{
					{Path: working, Bytes: bytes * 3 / 2, Count: n, Length: int64(at * 20), OverMs: over * 1000,
						Before: 10, Stayed: stayed},
					{Path: kept, Bytes: bytes, Count: n, Length: int64(at * 20), OverMs: over * 1000,
						Before: 10, Stayed: 10},
				}})
		}
		return p.judge()
	}
	for _, looks := range []int{2, 3} {
		v := judged(0, looks)
		if v.Verdict != AppLeak || !strings.Contains(v.Answer, kept) || strings.Contains(v.Answer, working) {
			t.Errorf("%d looks, emptied: %s", looks, v.Answer)
		}
		for _, c := range v.Causes {
			if strings.Contains(strings.Join(c.Evidence, " "), working) {
				t.Errorf("%d looks, cause %s: %q", looks, c.ID, c.Evidence)
			}
		}
		if v := judged(10, looks); !strings.Contains(v.Answer, working) {
			t.Errorf("%d looks, none is emptied: %s", looks, v.Answer)
		}
	}
}

// Where nothing else keeps what grew, arrays that are replaced by longer ones are the leak.
func TestAListOfReplacedArraysIsStillBlamedAlone(t *testing.T) {
	t.Parallel()
	p := newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, 256*kib).
		lookedAt("list train() local caches", 256*kib, 0)
	for i := range p.events {
		p.events[i].Holders[0].Before = 10
	}
	if v := p.judge(); !strings.Contains(v.Answer, "list train() local caches") {
		t.Error(v.Answer)
	}
}
