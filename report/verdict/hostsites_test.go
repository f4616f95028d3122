package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// asked adds a window of the host's heap that ended at a second.
func (p *program) asked(second float64, sites ...record.Site) *program {
	detail, _ := json.Marshal(record.SiteWindow{Seconds: 2.5})
	p.events = append(p.events, record.Event{TMs: second * 1000, Kind: record.KindHostSites, Sites: sites, Detail: detail})
	return p
}

func TestTheLineThatAskedForWhatStaysOfTheHostIsNamed(t *testing.T) {
	t.Parallel()
	const rate = 20 * mib // a second: one a row
	keep := func(seconds float64) record.Site {
		return record.Site{Site: "/srv/app/serve.py:8 keep", Bytes: int64(seconds * rate), Count: 4}
	}
	works := record.Site{Site: "/srv/app/serve.py:3 work", Bytes: rate / 10, Count: 1}
	growing := func() *program { return newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib) }
	const line = "; the Python objects that stay are allocated at app/serve.py:8 in keep"
	for name, c := range map[string]struct {
		p     *program
		named bool
	}{
		"all of it":                      {growing().asked(20, works, keep(2.5)), true},
		"half of it":                     {growing().asked(20, works, keep(1.2)), true},
		"once in two windows":            {growing().asked(20, works).asked(36, keep(5)), true},
		"a tenth of it":                  {growing().asked(20, works, keep(.25)), false},
		"much more, which did not go on": {growing().asked(20, works, keep(25)), false},
		"nothing":                        {growing().asked(20), false},
	} {
		v := c.p.judge()
		if v.Verdict != HostGrowth || strings.Contains(v.Answer, line) != c.named {
			t.Errorf("%s: %s", name, v.Answer)
		}
		if c.named != (v.Next == "find what keeps the Python objects that are allocated at app/serve.py:8 in keep") {
			t.Errorf("%s: next: %s", name, v.Next)
		}
	}
	if v := newProgram(800).flat(record.ColRSS, 500*mib, 64*kib).asked(20, keep(2.5)).judge(); v.Verdict != None {
		t.Errorf("a host that does not grow: %s", v.Answer)
	}
}

func TestTheLineOfTheHostIsToldWithTheOneThatCalledItsFunction(t *testing.T) {
	t.Parallel()
	const rate = 20 * mib // a second: one a row
	p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib)
	v := p.asked(20, record.Site{Site: "/srv/app/serve.py:8 draw", Bytes: 2.5 * rate, Count: 9, TensorBytes: 2.5 * rate,
		Caller: "/srv/app/serve.py:33 main"}).judge()
	const line = "the tensors on the host that %s allocated at app/serve.py:8 in draw, called at app/serve.py:33 in main"
	if !strings.Contains(v.Answer, fmt.Sprintf(line, "stay are")) || !strings.Contains(v.Next, fmt.Sprintf(line, "are")) {
		t.Errorf("%s\nnext: %s", v.Answer, v.Next)
	}
}

func TestWhatNativeCodeKeepsHasTheLineOfTheObjectsBesideIt(t *testing.T) {
	t.Parallel()
	site := func(line string, count int64) record.Site {
		return record.Site{Site: "/srv/app/serve.py:" + line, Bytes: count * 128 * kib, Count: count}
	}
	const line = "; most of the Python objects that stay are allocated at app/serve.py:8 in trace"
	for name, c := range map[string]struct {
		sites []record.Site
		named bool
	}{
		"one line":            {[]record.Site{site("8 trace", 6)}, true},
		"nearly all":          {[]record.Site{site("8 trace", 7), site("3 work", 2)}, true},
		"a half":              {[]record.Site{site("8 trace", 6), site("3 work", 6)}, false},
		"two samples":         {[]record.Site{site("8 trace", 2)}, false},
		"beside what filled":  {[]record.Site{site("8 trace", 6), site("5 fill", 6000)}, false},
		"a library's, no one": {[]record.Site{{Site: "<frozen importlib>", Bytes: mib, Count: 8}}, false},
	} {
		v := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib).asked(20, c.sites...).judge()
		if v.Verdict != HostGrowth || strings.Contains(v.Answer, line) != c.named ||
			strings.HasPrefix(v.Next, "look at app/serve.py:8 in trace: ") != c.named {
			t.Errorf("%s: %s Next: %s", name, v.Answer, v.Next)
		}
	}
}

func TestArraysThatStayAreToldApart(t *testing.T) {
	t.Parallel()
	const rate = 20 * mib // a second: one a row
	site := func(line string, seconds, arrays float64) record.Site {
		bytes := seconds * rate
		return record.Site{Site: "/srv/app/serve.py:" + line, Bytes: int64(bytes), Count: 8,
			ArrayBytes: int64(arrays * bytes)}
	}
	for name, c := range map[string]struct {
		sites      []record.Site
		says, next string
	}{
		"arrays": {[]record.Site{site("8 keep", 2.5, 1)},
			"; the NumPy arrays that stay are allocated at app/serve.py:8 in keep",
			"find what keeps the NumPy arrays that are allocated at app/serve.py:8 in keep"},
		"arrays, and the objects around them": {[]record.Site{site("8 keep", 1.5, 1), site("8 keep", 1, 0)},
			"; the NumPy arrays that stay are allocated at app/serve.py:8", "find what keeps the NumPy arrays"},
		"objects with small arrays": {[]record.Site{site("8 keep", 2.5, .3), site("3 work", .1, 1)},
			"; the Python objects that stay are allocated at app/serve.py:8", "find what keeps the Python objects"},
		"arrays beside what native code keeps": {[]record.Site{site("8 keep", .1, 1), site("3 work", .01, 0)},
			"; most of the NumPy arrays that stay are allocated at app/serve.py:8",
			"look at app/serve.py:8 in keep: NumPy arrays that stay are allocated there, and native code that is called " +
				"there may keep the rest"},
		"arrays here and objects there": {[]record.Site{site("8 keep", .05, 1), site("3 work", .05, 0)}, "", "look for"},
	} {
		v := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib).asked(20, c.sites...).judge()
		if v.Verdict != HostGrowth || !strings.Contains(v.Answer, c.says) || !strings.HasPrefix(v.Next, c.next) ||
			c.says == "" && strings.Contains(v.Answer, "serve.py") {
			t.Errorf("%s: %s Next: %s", name, v.Answer, v.Next)
		}
	}
}

func TestWhereObjectsWereMadeIsNotWhereWhatTheyHaveWasAskedFor(t *testing.T) {
	t.Parallel()
	const rate = 20 * mib // a second: one a row
	const line = "; the NumPy arrays that stay are allocated at app/serve.py:8 in keep"
	keep := record.Site{Site: "/srv/app/serve.py:8 keep", Bytes: 2.5 * rate, Count: 8, ArrayBytes: 2.5 * rate}
	for name, c := range map[string]struct {
		path, filled string
		named        bool
	}{
		"made elsewhere":                {"Note objects below serve.notes", "/srv/app/serve.py:71 call", true},
		"made at two lines, one of it":  {"Note objects", "/srv/app/serve.py:71 call; /srv/app/serve.py:8 keep", false},
		"a container filled elsewhere":  {"list serve.notes", "/srv/app/serve.py:71 call", true},
		"a container filled there":      {"list serve.notes", "/srv/app/serve.py:8 keep", false},
		"a container without its lines": {"list serve.notes", "", true},
	} {
		p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib).asked(20, keep)
		holder := record.Holder{Path: c.path, Filled: c.filled, Bytes: 180 * mib, Count: 600, OverMs: 10_000}
		p.events = append(p.events, record.Event{TMs: 30_000, Kind: record.KindHolders, Holders: []record.Holder{holder}})
		v := p.judge()
		if !strings.Contains(v.Answer, "held by "+c.path) || strings.Contains(v.Answer, line) != c.named {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

func TestWindowsWithoutALengthSayNothing(t *testing.T) {
	t.Parallel()
	sites := []record.Site{{Site: "/srv/app/serve.py:8 keep", Bytes: 50 * mib, Count: 4}}
	for _, detail := range []string{"", "{}", `{"seconds":0}`, `{"seconds":-1}`, `{"seconds":"2"}`, "no JSON"} {
		p := newProgram(800).grows(record.ColRSS, 500*mib, 64*kib, mib)
		p.events = append(p.events, record.Event{TMs: 20_000, Kind: record.KindHostSites, Sites: sites,
			Detail: json.RawMessage(detail)})
		if v := p.judge(); v.Verdict != HostGrowth || strings.Contains(v.Answer, "serve.py") {
			t.Errorf("%q: %s", detail, v.Answer)
		}
	}
}
