package place

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheFunctionThatAskedIsNamedWhereThereAreNoLines(t *testing.T) {
	t.Parallel()
	row := func(site string) record.Site { return record.Site{Site: site, Bytes: 400 * mib, Count: 100} }
	for site, want := range map[string]string{
		"server+0x1678 cache::remember":                         "in cache::remember (server+0x1678)",
		"server+0x1678 cache::remember(int) (build id 3f94)":    "in cache::remember (server+0x1678)",
		"libkv.so+0x10 kv::grow, called by serve.cpp:16 answer": "in kv::grow (libkv.so+0x10), called by serve.cpp:16 answer",
		"server+0x1678 (anonymous namespace)::grow(int)":        "in grow (server+0x1678)",
		"server+0x1678 (build id 3f94)":                         "at server+0x1678",
		"server+0x1678":                                         "at server+0x1678",
		"server+0x1678 cache::remember (gone at the end)":       "",
		"unknown site": "",
	} {
		if got := Function([]record.Site{row(site)}, 410*mib); got != want {
			t.Errorf("%s: %q, want %q", site, got, want)
		}
	}
	if got := Function([]record.Site{row("server+0x1678 cache::remember")}, 4*gib); got != "" {
		t.Errorf("a tenth of the growth: %q", got)
	}
}

func TestAFunctionIsNamedWithoutTheKindOfItsMemory(t *testing.T) {
	t.Parallel()
	site := record.Site{Site: "desk+0x4fdb (anonymous namespace)::Desk::draw [stream-ordered memory]", Bytes: 9}
	if got, want := Function([]record.Site{site}, 9), "in Desk::draw (desk+0x4fdb)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheLineIsThatOfTheSiteThatGrew(t *testing.T) {
	t.Parallel()
	weights := record.Site{Site: "train.py:20 load", Bytes: 900 * mib, Count: 9}
	leak := record.Site{Site: "train.py:88 forward", Bytes: 300 * mib, Count: 300}
	plan := record.Site{Site: "libcufft.so.11+0x10 (build id 3f94), called by plans.py:33 make",
		Bytes: 300 * mib}
	pinned := record.Site{Site: "loader.py:7 stage [pinned memory]", Bytes: 300 * mib, Count: 3}
	grown := func(row record.Site, by int64) record.Site { row.GrowthBytes = by; return row }
	for name, c := range map[string]struct {
		sites    []record.Site
		orCaller bool
		want     string
	}{
		"what it holds, where nobody looked before": {[]record.Site{weights, leak}, true,
			"train.py:20 in load"},
		"what it holds more": {[]record.Site{grown(weights, 0),
			grown(leak, 190*mib)}, true, "train.py:88 in forward"},
		"what gave back": {[]record.Site{grown(weights, -mib),
			grown(leak, 190*mib)}, true, "train.py:88 in forward"},
		"who called a library":                      {[]record.Site{plan}, true, "plans.py:33 in make"},
		"not who called, where the function counts": {[]record.Site{plan}, false, ""},
		"a kind of memory is no part of a name":     {[]record.Site{pinned}, true, "loader.py:7 in stage"},
	} {
		if got := Line(c.sites, 310*mib, c.orCaller); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestWhatASiteAskedForIsInWords(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]string{
		"desk+0x4fdb Desk::draw [stream-ordered memory]": "stream-ordered memory",
		"/app/cad.cc:7 tessellate [managed memory]":      "managed memory",
		"/app/map.cc:7 upload [array]":                   "memory of arrays",
		"/app/voice.cc:7 begin [stream]":                 "the number of streams",
		"/app/mesh.cc:7 load":                            "device memory",
	} {
		if got := ClassOf(site); got != want {
			t.Errorf("%s: %q, want %q", site, got, want)
		}
	}
}
