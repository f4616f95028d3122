package pool_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

func TestSurvivorsAreNamedByTheFirstFrameOutsideThePool(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{Sites: true})
	request := pool.Request{Elements: 10, ElementSize: 4, Label: "x"}
	var hs []pool.Handle
	var at int
	for range 3 {
		h, err := p.Get(request)
		at = line() - 1
		must(t, err)
		hs = append(hs, h)
	}
	request.Elements = 100_000
	big, err := p.Get(request)
	bigAt := line() - 1
	must(t, err)

	got := p.Survivors()
	if len(got) != 2 {
		t.Fatalf("survivors %+v", got)
	}
	for i, want := range []struct {
		line  int
		count uint64
		bytes uint64
	}{{bigAt, 1, 400_000}, {at, 3, 120}} {
		v := got[i]
		if v.Line != want.line || v.Count != want.count || v.RequestedBytes != want.bytes ||
			v.Refs != want.count {
			t.Errorf("survivor %d: %+v, want %+v", i, v, want)
		}
		if !strings.HasSuffix(v.File, "site_test.go") ||
			!strings.HasSuffix(v.Function, "pool_test.TestSurvivorsAreNamedByTheFirstFrameOutsideThePool") {
			t.Errorf("survivor %d: %+v", i, v)
		}
		if !strings.Contains(v.Site, "site_test.go:") || !strings.HasSuffix(v.Site, " "+v.Function) {
			t.Errorf("site %q", v.Site)
		}
	}

	for _, h := range hs {
		release(t, h, pool.Returned)
	}
	if got := p.Survivors(); len(got) != 1 || got[0].Line != bigAt {
		t.Errorf("after the release: %+v", got)
	}
	// A reused buffer belongs to whom it was handed out last.
	reused, err := p.Get(pool.Request{Elements: 12, ElementSize: 4, Label: "y"})
	reusedAt := line() - 1
	must(t, err)
	if got := p.Survivors(); len(got) != 2 || got[1].Line != reusedAt || got[1].Label != "y" ||
		p.Stats().Hits != 1 {
		t.Errorf("after the reuse: %+v", got)
	}
	release(t, big, pool.Returned)
	release(t, reused, pool.Returned)
	if got := p.Survivors(); len(got) != 0 {
		t.Errorf("at the end: %+v", got)
	}
}

func TestFramesOfSkippedPackagesArePassedOver(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{
		Sites: true, SkipPackages: []string{"github.com/gpumem/gpumem/pool_test"},
	})
	get(t, p, 1)
	got := p.Survivors()
	if len(got) != 1 || got[0].Function != "testing.tRunner" {
		t.Errorf("survivors %+v", got)
	}
	// A package is its whole path, not what begins like it.
	p = newPool(t, newFake(), named(t, "default"), pool.Options{
		Sites: true, SkipPackages: []string{"github.com/gpumem/gpumem/pool_te", "testing"},
	})
	get(t, p, 1)
	if got := p.Survivors(); len(got) != 1 || !strings.HasSuffix(got[0].Function, "pool_test.get") {
		t.Errorf("survivors %+v", got)
	}
}

// deep calls f below n frames.
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

func TestACallerBelowManySkippedFramesIsFound(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{
		Sites: true, SkipPackages: []string{"github.com/gpumem/gpumem/pool_test"},
	})
	deep(30, func() { get(t, p, 1) })
	if got := p.Survivors(); len(got) != 1 || got[0].Function != "testing.tRunner" {
		t.Errorf("survivors %+v", got)
	}
	// Beyond the depth that is looked at the site is unknown, not wrong.
	deep(100, func() { get(t, p, 100_000) })
	if got := p.Survivors(); len(got) != 2 || got[0].Site != "" {
		t.Errorf("survivors %+v", got)
	}
}

func TestWithoutSitesSurvivorsHaveLabels(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	get(t, p, 1)
	get(t, p, 2)
	got := p.Survivors()
	if len(got) != 1 || got[0].Site != "" || got[0].Label != "tensor" || got[0].Count != 2 {
		t.Errorf("survivors %+v", got)
	}
}

func TestIdleBuffersAreNamedByWhoHadThemLastAndStayKnownWhenTheyAreGivenBack(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{Sites: true})
	request := pool.Request{Elements: 100_000, ElementSize: 4, Label: "scores"}
	held, err := p.Get(pool.Request{Elements: 1, ElementSize: 4}) // or the pool would come to rest
	must(t, err)
	defer release(t, held, pool.Returned)
	first, err := p.Get(request)
	must(t, err)
	release(t, first, pool.Returned)
	second, err := p.Get(request) // the same buffer, at another line
	at := line() - 1
	must(t, err)
	if got, _ := p.Idle(); len(got) != 0 {
		t.Errorf("nothing is idle: %+v", got)
	}
	release(t, second, pool.Returned)
	if got, _ := p.Idle(); len(got) != 1 || got[0].Line != at || got[0].Count != 1 || got[0].Label != "scores" {
		t.Errorf("idle: %+v", got)
	}
	p.Purge()
	if got, _ := p.Idle(); len(got) != 0 {
		t.Errorf("after the purge: %+v", got)
	}
	if _, got := p.Idle(); len(got) != 1 || got[0].Line != at || got[0].PageBytes == 0 {
		t.Errorf("what the purge gave back: %+v", got)
	}
	plain := newPool(t, newFake(), named(t, "default"), pool.Options{})
	h, err := plain.Get(request)
	must(t, err)
	release(t, h, pool.Returned)
	plain.Purge()
	if _, got := plain.Idle(); got != nil {
		t.Errorf("without sites: %+v", got)
	}
}
