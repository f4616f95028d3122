package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// A pool takes memory from the driver at any line, and hands it out to others.
func TestThePlaceOfAPoolsMemoryIsCalledSo(t *testing.T) {
	t.Parallel()
	asked := record.Event{Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: "train.py:20 load", Bytes: 900 * mib, Count: 9},
		{Site: "embed.py:41 embed", Bytes: 350 * mib, Count: 17, GrowthBytes: 230 * mib, Caller: "train.py:31 step"},
		{Site: "loader.py:7 stage [pinned memory]", Bytes: 3 * mib, Count: 1},
	}}
	rises := func(i int) float64 { return 100*mib + mib*float64(i) }
	held := record.Event{Kind: record.KindHolders, Holders: []record.Holder{{Path: "list train.kept", Bytes: 390 * mib,
		Count: 390, Filled: "train.py:9 step"}}}
	for _, c := range []struct {
		column string
		more   []record.Event
		want   string
	}{
		{record.ColIdle, nil, "; taken from the driver at embed.py:41 in embed, called at train.py:31 in step"},
		{record.ColLive, nil, "; taken from the driver at embed.py:41 in embed, called at train.py:31 in step"},
		{record.ColLive, []record.Event{held}, ""},
		{record.ColRSS, nil, ""},
	} {
		p := newProgram(400).flat(record.ColRSS, 300*mib, 0).flat(record.ColIdle, 0, 0).flat(record.ColLive, 8*mib, 0)
		if c.column == record.ColRSS {
			p.flat(record.ColGPU, 100*mib, 0)
		} else {
			p.set(record.ColGPU, rises)
		}
		p.set(c.column, rises)
		p.events = append(append(p.events, asked), c.more...)
		v := p.judge()
		_, place, _ := strings.Cut(v.Answer, "; taken")
		if place != "" {
			place = "; taken" + place
		}
		place, _, _ = strings.Cut(place, "; cause")
		if strings.TrimSuffix(place, ".") != c.want || strings.Contains(v.Answer, "allocated") {
			t.Errorf("%s: %q, want the place %q", c.column, v.Answer, c.want)
		}
	}
}

func TestWhereHandlesThatGrowWereMadeIsTold(t *testing.T) {
	t.Parallel()
	p := counted(400, record.ColEvents, func(i int) float64 { return float64(2 * i) })
	p.events = append(p.events, record.Event{Kind: record.KindDriverSites, Sites: []record.Site{
		{Site: "train.py:20 load", Bytes: 900 * mib, Count: 9},
		{Site: "libcublas.so.13+0x10 (build id 3f94), called by step.py:12 step [event]", Count: 18},
		{Site: "timing.py:7 begin [event]", Count: 780},
	}})
	if v := p.judge(); v.Verdict != DriverGrowth || !strings.Contains(v.Answer, "; made at timing.py:7 in begin") {
		t.Errorf("%s", v.Answer)
	}
}

// A pool that records sites says who had its idle buffers last.
func TestTheGrowthOfAPoolHasTheLineThatUsedItsBuffersLast(t *testing.T) {
	t.Parallel()
	sites := record.Event{Kind: record.KindSites, Sites: []record.Site{
		{Site: "model.go:9 Load (weights)", Bytes: 900 * mib, Count: 9},
		{Site: record.IdleSite("attention.go:116 attention (scores)"), Bytes: 210 * mib, Count: 1277},
	}}
	for column, want := range map[string]string{record.ColIdle: "; last used at attention.go:116", record.ColLive: "; allocated at model.go:9"} {
		p := newProgram(400).flat(record.ColRSS, 300*mib, 0).flat(record.ColIdle, 0, 0).flat(record.ColLive, 8*mib, 0)
		rises := func(i int) float64 { return 100*mib + mib*float64(i) }
		p.set(record.ColGPU, rises).set(column, rises)
		p.events = append(p.events, sites)
		if v := p.judge(); len(v.Sites) != 1 || !strings.Contains(v.Answer, want) {
			t.Errorf("%s: %s, sites %+v", column, v.Answer, v.Sites)
		}
	}
}

// What a pool of the driver keeps idle was given back; the place that had most of it is known.
func TestTheGrowthOfADriversPoolHasThePlaceThatUsedMostOfIt(t *testing.T) {
	t.Parallel()
	const mib64 = 64 * mib
	const ordered = " [stream-ordered memory]"
	for site, want := range map[string]string{
		record.GoneSite("server+0x61ce (anonymous namespace)::run_batch" + ordered): "in run_batch (server+0x61ce)",
		"/app/batch.cc:41 run_batch" + ordered:                                      "at /app/batch.cc:41 in run_batch",
		"server+0x61ce run_batch [event]":                                           "",
	} {
		p := newProgram(400).flat(record.ColFootprint, 100*mib, 0).flat(record.ColDriverProgramBytes, 300*mib, 0)
		idle := func(i int) float64 { return float64(i) * mib }
		p.set(record.ColDriverPoolIdle, idle).
			set(record.ColDriverPoolReserved, idle).flat(record.ColDriverAllocBytes, 300*mib, 0).
			set(record.ColGPU, func(i int) float64 { return 800*mib + idle(i) })
		p.events = append(p.events, record.Event{Kind: record.KindDriverSites, Sites: []record.Site{
			{Site: "server+0x10 load_weights", Bytes: 300 * mib, Count: 1},
			{Site: site, Bytes: mib64, Count: 3},
		}})
		v := p.judge()
		_, place, _ := strings.Cut(v.Answer, "; most of what was in use was allocated ")
		place, _, _ = strings.Cut(place, "; cause")
		if v.Verdict != PoolGrowth || strings.TrimSuffix(place, ".") != want {
			t.Errorf("%s: %q, want %q", site, v.Answer, want)
		}
	}
}
