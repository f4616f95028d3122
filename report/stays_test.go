package report

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

func TestWhatStaysIsShownByLineWithWhoCalledIt(t *testing.T) {
	t.Parallel()
	run, v := leakRun(1200), fullVerdict()
	v.Stays = []verdict.SiteRow{
		{Site: "/srv/app/model.py:36 forward", Caller: "/srv/app/train.py:64 main", Bytes: 30 * mib, Count: 12,
			GrowthBytes: 480 * mib},
		{Site: "/srv/app/model.py:50 cells", Bytes: 2 * mib, Count: 2, GrowthBytes: 32 * mib}}
	text := render(t, Text, run, v, Options{Width: 200})
	for _, want := range []string{"What stays, by the line that asks for it", "called at", "would come to", "+480 MiB",
		"/srv/app/model.py:36 forward", "/srv/app/train.py:64 main", "/srv/app/model.py:50 cells"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	v.Stays[0].Caller = ""
	if text := render(t, Text, run, v, Options{Width: 200}); strings.Contains(text, "called at") {
		t.Errorf("nobody tells who called:\n%s", text)
	}
	v.Stays = nil
	if text := render(t, Text, run, v, Options{Width: 200}); strings.Contains(text, "What stays, by") {
		t.Errorf("nothing was sampled:\n%s", text)
	}
}

// A pool asks the driver at some line for what other lines use.
func TestSitesOfAPoolAreCalledSo(t *testing.T) {
	t.Parallel()
	run, v := leakRun(1200), fullVerdict()
	for pool, want := range map[bool]string{true: "by the line at which it asked; other lines use that memory",
		false: "by the line that allocated it"} {
		v.PoolSites = pool
		text := strings.Join(strings.Fields(render(t, Text, run, v, Options{Width: 200})), " ")
		if !strings.Contains(text, want) {
			t.Errorf("of a pool %v: %q is missing", pool, want)
		}
	}
	v.Sites[0].Caller = "/srv/app/train.py:64 main"
	if text := render(t, Text, run, v, Options{Width: 200}); !strings.Contains(text, "/srv/app/train.py:64 main") {
		t.Errorf("who called the first line is missing:\n%s", text)
	}
}
