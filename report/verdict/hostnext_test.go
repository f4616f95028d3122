package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestWhatNoNameLeadsToIsLookedForWhereItWasFilled(t *testing.T) {
	t.Parallel()
	held := []record.Holder{{Path: "list train.kept", Bytes: 40 * mib, Count: 400, OverMs: 30_000}}
	unseen := []record.Holder{
		{Path: "Tokenizer objects below serve.tenants", Count: 89, Length: 215, Filled: "/srv/app/serve.py:9 load"},
	}
	const hint = "ind out whether Tokenizer objects below serve.tenants, made at app/serve.py:9 in load, hold it: " +
		"89 more came, and Python does not see what they hold"
	ended := slices.Clone(unseen)
	ended[0].Gone, ended[0].OverMs = true, 12_000
	trifle := append([]record.Holder{{Path: "list serve.numbers", Bytes: 180 * kib, Count: 5}}, unseen...)
	beside := append([]record.Holder{{Path: "list serve.kept", Bytes: mib, Count: 4}}, unseen...)
	for name, c := range map[string]struct {
		library  string
		answered bool
		holders  []record.Holder
		want     string
	}{
		"PyTorch filled it":      {"libtorch_cpu", true, nil, "detach what is carried on"},
		"the interpreter did":    {"python3.12", true, nil, "a reference that C code keeps"},
		"nobody was asked":       {"python3.12", false, nil, ""},
		"somebody has it":        {"python3.12", true, held, ""},
		"another library's it ":  {"libz", true, nil, ""},
		"an extension's objects": {"tokenizers", true, unseen, hint},
		"of a function's end":    {"tokenizers", true, ended, hint},
		"and PyTorch filled it":  {"libtorch_cpu", true, unseen, "detach what is carried on"},
		"beside what has bytes":  {"tokenizers", true, append(held, unseen...), ""},
		"beside a trifle":        {"tokenizers", true, trifle, hint},
		"and beside a little":    {"tokenizers", true, beside, ""},
		"ctypes called it":       {"libffi", true, nil, "asked of a C library through ctypes"},
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
			c.want == "" && (strings.Contains(v.Next, "no name was found") || strings.Contains(v.Next, hint)) {
			t.Errorf("%s: %s: %s", name, v.Verdict, v.Next)
		}
		const came = "; meanwhile 89 more Tokenizer objects below serve.tenants came, made at app/serve.py:9 in load"
		if c.want == hint && !strings.Contains(v.Answer, came) || c.holders == nil && strings.Contains(v.Answer, "came") {
			t.Errorf("%s: %s", name, v.Answer)
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

func TestOfAProgramWithoutADeviceTheNextStepSpeaksOfNone(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int]string{
		10: "look for what the program keeps; after a run of 20 s the answer often says where it was filled",
		40: "look for what the program keeps, and for what native code that it calls never gives back",
	} {
		p := newProgram(20*seconds).grows(record.ColRSS, 500*mib, 64*kib, mib)
		v := p.judge()
		if v.Verdict != HostGrowth || v.Next != want {
			t.Errorf("%d s: %s: %q, want %q", seconds, v.Verdict, v.Next, want)
		}
	}
}

func TestOfALanguageWithToolsOfItsOwnTheNextStepNamesThem(t *testing.T) {
	t.Parallel()
	for library, want := range map[string]string{
		"node": "--heapsnapshot-signal", "libruby-3.1": "objspace", "php8.2": "memory_get_usage", "perl": "Devel::MAT",
		"lua5.4": "collectgarbage", "libjvm": "GC.class_histogram", "server": "what native code",
	} {
		p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, 128*kib)
		p.events = append(p.events, record.Event{TMs: 20_000, Kind: record.KindFirstTouch, FirstTouch: &record.FirstTouch{
			Seconds: 6, Judgement: "growth", Owners: []record.TouchOwner{{Library: library, Share: .9}}}})
		if v := p.judge(); v.Verdict != HostGrowth || !strings.Contains(v.Next, want) {
			t.Errorf("%s: %s: %q, want %q in it", library, v.Verdict, v.Next, want)
		}
	}
}
