//go:build unix

package report

import (
	"fmt"
	"testing"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
)

func TestATableIsSortedAndSearched(t *testing.T) {
	t.Parallel()
	v := leakVerdict()
	v.Sites = nil
	for i, b := range []int64{900 * mib, 40 * mib, 3 << 30, 700 << 10, 12 * mib, 5, 80 * mib, 2 * mib, mib} {
		v.Sites = append(v.Sites, verdict.SiteRow{Site: fmt.Sprintf("train.py:%d step", i+1), Bytes: b, Count: 1})
	}
	p := startBrowser(t).newTab(t)
	p.size(1280, 900)
	p.open(onDisk(t, "tables", render(t, HTML, leakRun(1200), v, Options{})))
	order := func() string {
		return p.text(`Array.from(document.querySelectorAll("#sites tbody tr")).filter(r => r.offsetHeight > 0).map(r => r.id.slice(5)).join(" ")`)
	}
	press := func(column int) {
		p.eval(fmt.Sprintf(`document.querySelectorAll("#sites thead button")[%d].click()`, column), nil)
	}
	press(1)
	if got, want := order(), "3 1 7 2 5 8 9 4 6"; got != want {
		t.Errorf("by bytes the rows are %s, want %s", got, want)
	}
	press(1)
	if got, want := order(), "6 4 9 8 5 2 7 1 3"; got != want {
		t.Errorf("from the least bytes on the rows are %s, want %s", got, want)
	}
	if got := p.text(`document.querySelectorAll("#sites thead th")[1].getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("a reader of the screen is told %q", got)
	}
	p.eval(`(() => {const i = document.querySelector("#sites .find input"); i.value = "PY:7"; i.dispatchEvent(new Event("input"))})()`, nil)
	if got := order(); got != "7" {
		t.Errorf("searched, the rows are %s, want 7", got)
	}
	p.quiet()
}

func TestAMomentOfTheWindowShowsWhatLivedThen(t *testing.T) {
	t.Parallel()
	v := peakVerdict(t)
	p := startBrowser(t).newTab(t)
	p.size(1280, 900)
	p.open(onDisk(t, "peak", render(t, HTML, leakRun(1200), v, Options{})))
	legend := `Array.from(document.querySelectorAll(".stack .legend li")).map(e => e.textContent).join("; ") + document.querySelector(".moment").textContent`
	atPeak := p.text(legend)
	at := p.rectOf(".stack svg.plot")
	p.mouse("mousePressed", at.X+2, at.Y+at.Height/2)
	p.mouse("mouseReleased", at.X+2, at.Y+at.Height/2)
	first := v.Peak.Timeline[0]
	if got := p.text(`document.querySelector(".choose input").value`); got != "0" {
		t.Errorf("a click at the left end chooses moment %s", got)
	}
	if got := p.text(`document.querySelector(".stack .legend b").textContent`); got != units.Bytes(first.Bytes[0]) {
		t.Errorf("%s has %s there, want %s", v.Peak.Categories[0].Name, got, units.Bytes(first.Bytes[0]))
	}
	p.eval(`document.querySelector(".choose button").click()`, nil)
	if got := p.text(legend); got != atPeak {
		t.Errorf("back at the peak the legend reads %q, want %q", got, atPeak)
	}
	p.quiet()
}
