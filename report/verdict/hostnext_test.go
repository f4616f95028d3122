package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestWhatNoNameLeadsToIsLookedForWhereItWasFilled(t *testing.T) {
	t.Parallel()
	held := []record.Holder{{Path: "list train.kept", Bytes: 40 * mib, Count: 400, OverMs: 30_000}}
	for name, c := range map[string]struct {
		library  string
		answered bool
		holders  []record.Holder
		want     string
	}{
		"PyTorch filled it":     {"libtorch_cpu", true, nil, "detach what is carried on"},
		"the interpreter did":   {"python3.12", true, nil, "a reference that C code keeps"},
		"nobody was asked":      {"python3.12", false, nil, ""},
		"somebody has it":       {"python3.12", true, held, ""},
		"another library's it ": {"libz", true, nil, ""},
		"ctypes called it":      {"libffi", true, nil, "asked of a C library through ctypes"},
	} {
		p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
		owners := []record.TouchOwner{{Library: c.library, Share: .9}}
		p.events = append(p.events, record.Event{TMs: 20_000, Kind: record.KindFirstTouch,
			FirstTouch: &record.FirstTouch{Seconds: 6, Judgement: "growth", Owners: owners}})
		if c.answered {
			p.events = append(p.events, record.Event{TMs: 39_000, Kind: record.KindHolders, Holders: c.holders})
		}
		v := p.judge()
		if v.Verdict != HostGrowth || c.want != "" && !strings.Contains(v.Next, c.want) ||
			c.want == "" && strings.Contains(v.Next, "no name was found") {
			t.Errorf("%s: %s: %s", name, v.Verdict, v.Next)
		}
	}
}

func TestAHolderIsNotToldWhatHelpsAgainstAHeapThatIsInPieces(t *testing.T) {
	t.Parallel()
	h := &HolderRow{Path: "list train.records", Filled: "/srv/train.py:30 receive"}
	pieces := Cause{ID: cause.Fragmented, Confidence: .8, Next: "trim it"}
	kept := Cause{ID: cause.Results, Confidence: .6, Next: "bound it"}
	unsure := Cause{ID: cause.Results, Confidence: .2, Next: "bound it"}
	for want, causes := range map[string][]Cause{
		"at list train.records, filled at /srv/train.py:30 in receive: bound it":                      {pieces, kept},
		"bound list train.records, filled at /srv/train.py:30 in receive, or let go of what it keeps": {pieces, unsure},
	} {
		if got := atHostHolder(h, causes); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
