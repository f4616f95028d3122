package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
)

// bodyOf is the page without its style and scripts.
func bodyOf(t *testing.T, v *verdict.Verdict) string {
	t.Helper()
	page := render(t, HTML, leakRun(1200), v, Options{})
	return page[strings.Index(page, "<body>"):strings.LastIndex(page, "<script>")]
}

func TestThePageBeginsWithTheAccountThatGrows(t *testing.T) {
	t.Parallel()
	for class, want := range map[verdict.Class]string{verdict.AppLeak: "Live memory: handed out",
		verdict.PoolGrowth: "Idle memory: kept", verdict.HostGrowth: "Host memory outside",
		verdict.None: "Device memory"} {
		v := leakVerdict()
		v.Verdict = class
		body := bodyOf(t, v)
		first := body[strings.Index(body, "<figcaption>"):]
		if !strings.HasPrefix(first, "<figcaption>"+want) {
			t.Errorf("%s: the first picture is %.80q, want %q", class, first, want)
		}
		open := regexp.MustCompile(`(?s)<details>.*?</details>`).ReplaceAllString(body, "")
		if n := strings.Count(open, `<figure class="chart"`); n != 1 {
			t.Errorf("%s: %d charts are open, want the first alone", class, n)
		}
		if next := strings.Index(body, "What to do"); next < 0 || next > strings.Index(body, "<figcaption>") {
			t.Errorf("%s: what to do does not stand before the first picture", class)
		}
		if n := strings.Count(body, "<figcaption>Device memory<"); n != 1 {
			t.Errorf("%s: device memory is drawn %d times", class, n)
		}
	}
}

func TestWhatTellsOfTheMethodIsFoldedAtTheEnd(t *testing.T) {
	t.Parallel()
	body := bodyOf(t, leakVerdict())
	at := strings.Index(body, `<section id="reproduce"`)
	for _, id := range []string{"environment", "sampling", "glossary"} {
		next := strings.Index(body, `<div id="`+id+`"`)
		if next < at {
			t.Errorf("%s stands at %d, before %d", id, next, at)
		}
		at = next
		if !strings.Contains(body, `href="#`+id+`"`) {
			t.Errorf("no link leads to %s", id)
		}
	}
	if n := strings.Count(body, "handed out and still referenced by the program</dd>"); n != 1 {
		t.Errorf("live is explained %d times", n)
	}
}

func TestNoRowOfThePageIsAllZeroAndNoneUnknownIsHidden(t *testing.T) {
	t.Parallel()
	v := leakVerdict()
	v.Accounts[1] = verdict.AccountRow{Account: verdict.Idle, Shape: trend.Flat, ChangeBytes: ptr(int64(0)),
		Bytes: ptr(int64(0)), BytesLow: ptr(int64(-60_000)), BytesHigh: ptr(int64(60_000)), Share: ptr(0.0)}
	v.Accounts[2] = verdict.AccountRow{Account: verdict.Untracked, Shape: trend.ShapeUndecided}
	v.Sites = append(v.Sites, verdict.SiteRow{Site: "libcublas.so.13+0x583e39 [event]", Count: 36})
	body := bodyOf(t, v)
	growth := body[strings.Index(body, `<section id="growth"`):]
	growth = growth[:strings.Index(growth, "</section>")]
	if strings.Contains(growth, `<th scope="row">idle</th>`) || !strings.Contains(growth, "No change: idle.") {
		t.Errorf("idle has a row, or nothing says that it did not change:\n%s", growth)
	}
	if !strings.Contains(body, "such as events and modules: 1.") || strings.Contains(body, "[event]") {
		t.Error("a site of handles without bytes has a row, or nothing says how many there are")
	}
	for _, name := range []string{"live", "untracked"} {
		if !strings.Contains(growth, `<th scope="row">`+name+`</th>`) {
			t.Errorf("%s has no row", name)
		}
	}
}
