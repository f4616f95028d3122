package record

import "testing"

func TestGenerationsAreReadInOrderOfTheirAgeOrNotAtAll(t *testing.T) {
	t.Parallel()
	of := func(kind, detail string) int {
		return len(GenerationsOf(&Event{Kind: kind, Detail: []byte(detail)}))
	}
	const two = `{"generations":[{"ago_ms":1000,"bytes":512,"count":1},{"ago_ms":0,"bytes":0,"count":0}],"cost_us":7}`
	if n := of(KindGenerations, two); n != 2 {
		t.Errorf("%d of 2", n)
	}
	for name, n := range map[string]int{
		"of another kind": of(KindClones, two),
		"no JSON":         of(KindGenerations, `{"generations":`),
		"out of order":    of(KindGenerations, `{"generations":[{"ago_ms":0},{"ago_ms":1000}]}`),
		"less than none":  of(KindGenerations, `{"generations":[{"ago_ms":0,"bytes":-1}]}`),
	} {
		if n != 0 {
			t.Errorf("%s: %d", name, n)
		}
	}
}

func TestPoolsAreToldByCompositionsAndLooksAtBlocks(t *testing.T) {
	t.Parallel()
	detail := []byte(`{"generations":[],"pools":[{"kind":"large","stream":7,"idle_bytes":4096}]}`)
	for _, kind := range []string{KindComposition, KindGenerations} {
		got := PoolsOf(&Event{Kind: kind, Detail: detail})
		if len(got) != 1 || got[0].Stream != 7 || got[0].Idle != 4096 {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	for name, e := range map[string]Event{"of another kind": {Kind: KindSites, Detail: detail},
		"without": {Kind: KindGenerations, Detail: []byte(`{}`)},
		"broken":  {Kind: KindComposition, Detail: []byte(`{"pools":3`)}} {
		if got := PoolsOf(&e); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
