//go:build unix

package report

import (
	"fmt"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pages are the pages that a browser is shown, by name.
func pages(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, q := range questions {
		out[q.name] = render(t, HTML, q.run(), q.v(), Options{Producer: "gpumem 0.1.0"})
	}
	out["hostile"] = render(t, HTML, hostileRun(), hostileVerdict(), Options{Title: hostile, Producer: hostile})
	out["what-the-peak-is-made-of"] = render(t, HTML, leakRun(1200), peakVerdict(t), Options{})
	out["what-changed"] = renderDiff(t, HTML)
	return out
}

func onDisk(t testing.TB, name, page string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// windows are the two sizes: a phone held upright and a desk.
var windows = []struct {
	name       string
	wide, high int
}{{"phone", 390, 844}, {"desk", 1280, 900}}

// TestPagesAreFitForEveryReader opens each page from disk without a network, in
// both sizes and both themes: nothing complains, nothing is wider than the
// window, every chart lives, and axe-core finds no violation.
func TestPagesAreFitForEveryReader(t *testing.T) {
	t.Parallel()
	b, script := startBrowser(t), axe(t)
	for name, page := range pages(t) {
		path, figures := onDisk(t, name, page), strings.Count(page, `<figure class="chart"`)
		for _, w := range windows {
			for _, theme := range []string{"light", "dark"} {
				t.Run(name+"/"+w.name+"/"+theme, func(t *testing.T) {
					p := b.newTab(t)
					p.size(w.wide, w.high)
					p.theme(theme, "screen")
					p.open(path)
					keep(t, name+"-"+w.name+"-"+theme, p.picture(""))
					if got := p.text(`document.documentElement.dataset.charts || "0"`); got != fmt.Sprint(figures) {
						t.Errorf("%s charts live, the page has %d", got, figures)
					}
					noOverflow(p)
					p.quiet()
					p.eval(script, nil)
					for _, v := range violations(p) {
						t.Error(v)
					}
				})
			}
		}
	}
}

// violations are what axe-core finds, with the places.
func violations(p *tab) (out []string) {
	p.t.Helper()
	p.eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
		v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))`, &out)
	return out
}

// noOverflow fails the test for whatever reaches beyond the window and does not
// scroll in a box of its own.
func noOverflow(p *tab) {
	p.t.Helper()
	var out []string
	p.eval(`(() => {
		const wide = document.documentElement.clientWidth, out = [];
		if (document.scrollingElement.scrollWidth > wide) out.push("the page is " + document.scrollingElement.scrollWidth + " wide, the window " + wide);
		for (const e of document.body.querySelectorAll("*")) {
			if (e.closest(".scroll, pre, svg, .u-wrap, .said, .skip")) continue;
			const r = e.getBoundingClientRect();
			if (r.width > 0 && r.right > wide + 1) out.push(e.tagName + "." + e.className + " ends at " + r.right + " of " + wide);
		}
		return out.slice(0, 5);
	})()`, &out)
	for _, text := range out {
		p.t.Error(text)
	}
}

// deskPage shows the page of the leak on a desk.
func deskPage(t *testing.T) *tab {
	t.Helper()
	p := startBrowser(t).newTab(t)
	p.size(1280, 900)
	p.theme("light", "screen")
	p.open(onDisk(t, "leak", render(t, HTML, leakRun(1200), leakVerdict(), Options{})))
	unfold(p)
	return p
}

// unfold opens what is folded away, and waits until it is drawn.
func unfold(p *tab) {
	p.t.Helper()
	p.eval(`document.querySelectorAll("details").forEach(d => { d.open = true; });
		document.documentElement.dataset.charts && new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil)
}

// shown is the part of the axis that a chart shows.
func shown(p *tab, figure string) (from, to float64) {
	p.t.Helper()
	var at [2]float64
	p.eval(fmt.Sprintf(`(() => {const d = document.querySelector(%q).dataset; return [+d.from, +d.to]})()`, figure), &at)
	return at[0], at[1]
}

const (
	deviceChart = "#growth figure.chart:nth-of-type(1)"
	hostChart   = "#growth figure.chart:nth-of-type(2)"
)

func TestAChartIsReadAndZoomedByKeyboard(t *testing.T) {
	t.Parallel()
	p := deskPage(t)
	for range 60 { // as a reader gets there who has no mouse
		p.key("Tab")
		if p.text(`document.activeElement.className`) == "live-plot" {
			break
		}
	}
	if got := p.text(`document.activeElement.className`); got != "live-plot" {
		t.Fatalf("Tab does not reach the chart, but %q", got)
	}
	live := `document.querySelector('.legend li[data-line="live"] b').textContent`
	last := p.text(live)
	p.key("ArrowRight")
	first, said := p.text(live), p.text(`document.querySelector(".said").textContent`)
	if first == last || !strings.Contains(said, "live "+first) {
		t.Errorf("the first value reads %q after %q, and is said as %q", first, last, said)
	}
	if place := p.text(`document.querySelector(".place").textContent`); !strings.HasPrefix(place, "at ") {
		t.Errorf("the place reads %q", place)
	}
	from, to := shown(p, deviceChart)
	p.key("+")
	if a, b := shown(p, deviceChart); !(b-a < (to-from)*.6) {
		t.Errorf("+ shows %v to %v of %v to %v", a, b, from, to)
	}
	if a, b := shown(p, hostChart); !(b-a < (to-from)*.6) {
		t.Errorf("the other chart shows %v to %v", a, b)
	}
	p.key("0")
	if a, b := shown(p, deviceChart); a != from || b != to {
		t.Errorf("0 shows %v to %v of %v to %v", a, b, from, to)
	}
	p.quiet()
}

func TestAChartIsReadAndZoomedByMouse(t *testing.T) {
	t.Parallel()
	p := deskPage(t)
	over := p.rectOf(deviceChart + " .u-over")
	live := `document.querySelector('.legend li[data-line="live"] b').textContent`
	last := p.text(live)
	p.mouse("mouseMoved", over.X+over.Width/4, over.Y+over.Height/2)
	if got := p.text(live); got == last {
		t.Errorf("the value under the mouse reads %q, as the last one does", got)
	}
	from, to := shown(p, deviceChart)
	p.mouse("mousePressed", over.X+over.Width/4, over.Y+over.Height/2)
	p.mouse("mouseMoved", over.X+over.Width/2, over.Y+over.Height/2)
	p.mouse("mouseReleased", over.X+over.Width/2, over.Y+over.Height/2)
	for _, figure := range []string{deviceChart, hostChart} {
		a, b := shown(p, figure)
		if want := from + (to-from)/4; math.Abs(a-want) > (to-from)/50 || math.Abs(b-a-(to-from)/4) > (to-from)/50 {
			t.Errorf("%s shows %v to %v after the second quarter of %v to %v was dragged over", figure, a, b, from, to)
		}
	}
	p.eval(`Array.from(document.querySelectorAll(".hint button")).find(b => b.textContent === "All").click()`, nil)
	if a, b := shown(p, deviceChart); a != from || b != to {
		t.Errorf("All shows %v to %v of %v to %v", a, b, from, to)
	}
	p.quiet()
}

func TestALineIsToggledByItsLegend(t *testing.T) {
	t.Parallel()
	p := deskPage(t)
	li := deviceChart + ` .legend li[data-line="live"]`
	colour := colourOf(p, li)
	before := count(p.picture(deviceChart+" .live-plot"), colour)
	p.eval(fmt.Sprintf(`document.querySelector(%q).focus()`, li+" button"), nil)
	p.key("Enter")
	if got := p.text(fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-pressed")`,
		li+" button")); got != "false" {
		t.Errorf("aria-pressed is %s", got)
	}
	if after := count(p.picture(deviceChart+" .live-plot"), colour); before < 200 || after > before/20 {
		t.Errorf("%d pixels have the line's colour, %d when it is off", before, after)
	}
	p.key(" ")
	if again := count(p.picture(deviceChart+" .live-plot"), colour); again < before*9/10 {
		t.Errorf("%d pixels have the line's colour, %d when it is on again", before, again)
	}
	p.quiet()
}

func TestTheSentenceIsCopiedWhole(t *testing.T) {
	t.Parallel()
	p := deskPage(t)
	// The clipboard belongs to the machine; what would be put there is seen.
	p.eval(`navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }`, nil)
	p.eval(`document.querySelector(".copy").click()`, nil)
	want := "app-leak (confirmed, 98 %): " + leakVerdict().Summary
	if got := p.text(`window.copied || ""`); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	if got := p.text(`document.querySelector(".copy").textContent`); got != "Copied" {
		t.Errorf("the button says %q", got)
	}
}

func TestThePageSaysTheSameWithoutScripts(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	path := onDisk(t, "leak", render(t, HTML, leakRun(1200), leakVerdict(), Options{}))
	words := func(scripts bool) string {
		p := b.newTab(t)
		p.size(1280, 900)
		p.scripts(scripts)
		p.open(path)
		noOverflow(p)
		if got := p.text(`getComputedStyle(document.querySelector("svg.plot")).display`); (got == "none") != scripts {
			t.Errorf("with scripts %v the drawn chart is %q", scripts, got)
		}
		p.quiet()
		return p.text(`Array.from(document.querySelectorAll("h1, h2, h3, header p:not(.hint), dt, dd, th, td, li, main p:not(.hint), pre")).map(e => e.textContent.trim()).join("\n")`)
	}
	if with, without := words(true), words(false); with != without {
		t.Errorf("with scripts:\n%s\nwithout:\n%s", with, without)
	}
}

// TestBothDrawingsOfAChartAgree compares the chart that uPlot draws with the
// one drawn without scripts, pixel by pixel of each line's colour: across its
// width a line is at the same height in both.
func TestBothDrawingsOfAChartAgree(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	path := onDisk(t, "leak", render(t, HTML, leakRun(1200), leakVerdict(), Options{}))
	for _, w := range windows {
		for _, theme := range []string{"light", "dark"} {
			shape := func(scripts bool, selector string) map[string][]float64 {
				p := b.newTab(t)
				p.size(w.wide, w.high)
				p.theme(theme, "screen")
				p.scripts(scripts)
				p.open(path)
				unfold(p)
				out, img := map[string][]float64{}, p.picture(deviceChart+" "+selector)
				keep(t, fmt.Sprintf("drawing-%s-%s-%v", w.name, theme, scripts), img)
				for _, id := range []string{"live", "idle"} {
					out[id] = heights(img, colourOf(p, deviceChart+` .legend li[data-line="`+id+`"]`))
				}
				return out
			}
			canvas, drawn := shape(true, ".live-plot"), shape(false, "svg.plot")
			for id := range drawn {
				for k := range drawn[id] {
					if d := math.Abs(canvas[id][k] - drawn[id][k]); !(d < 6) {
						t.Errorf("%s, %s, %s: at %d/10 of its width the line is at %.1f and %.1f", w.name, theme, id, k,
							canvas[id][k], drawn[id][k])
					}
				}
			}
		}
	}
}

func TestPrintIsOnWhiteWithTheDrawnCharts(t *testing.T) {
	t.Parallel()
	p := deskPage(t)
	p.theme("dark", "print")
	keep(t, "print", p.picture(""))
	if got := p.text(`getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s", got)
	}
	for selector, want := range map[string]string{"svg.plot": "block", ".live-plot": "none", ".hint": "none",
		".copy": "none", ".toc": "none"} {
		if got := p.text(fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).display`, selector)); got != want {
			t.Errorf("%s is %q in print, want %q", selector, got, want)
		}
	}
	if got := p.text(`(() => {document.querySelectorAll("main details").forEach(d => { d.open = false; });
		return Array.from(document.querySelectorAll("main details")).filter(d => d.querySelector("dl, figure").getBoundingClientRect().height < 10).map(d => d.textContent.slice(0, 40)).join("; ")})()`); got != "" {
		t.Errorf("folded on paper: %s", got)
	}
	var pdf struct{ Data string }
	p.do("Page.printToPDF", map[string]any{}, &pdf)
	if len(pdf.Data) < 10_000 {
		t.Errorf("the printed pages have %d characters", len(pdf.Data))
	}
}

// TestLinesAreSeenOnTheirBackground: 3 to 1 is what WCAG 2.1 asks of graphics.
func TestLinesAreSeenOnTheirBackground(t *testing.T) {
	t.Parallel()
	p := deskPage(t)
	for _, theme := range []string{"light", "dark"} {
		p.theme(theme, "screen")
		for _, name := range []string{"live", "idle", "untracked", "host", "total", "heap", "file", "bad", "open",
			"good", "soft"} {
			var c [2][3]float64
			p.eval(fmt.Sprintf(`(() => {const s = getComputedStyle(document.documentElement), c = document.createElement("canvas").getContext("2d");
				return ["--%s", "--bg"].map(v => {c.fillStyle = s.getPropertyValue(v).trim(); c.fillRect(0, 0, 1, 1); return Array.from(c.getImageData(0, 0, 1, 1).data).slice(0, 3)})})()`, name), &c)
			if r := contrast(c[0], c[1]); r < 3 {
				t.Errorf("%s: --%s has a contrast of %.2f", theme, name, r)
			}
		}
	}
}

// contrast is WCAG's ratio of two colours.
func contrast(a, b [3]float64) float64 {
	light := func(c [3]float64) float64 {
		for i, v := range c {
			if v /= 255; v <= .04045 {
				c[i] = v / 12.92
			} else {
				c[i] = math.Pow((v+.055)/1.055, 2.4)
			}
		}
		return .2126*c[0] + .7152*c[1] + .0722*c[2]
	}
	x, y := light(a), light(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// colourOf is the colour of a legend's key.
func colourOf(p *tab, li string) (c [3]float64) {
	p.t.Helper()
	text := p.text(fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).stroke`, li+" .key line"))
	if _, err := fmt.Sscanf(text, "rgb(%f, %f, %f)", &c[0], &c[1], &c[2]); err != nil {
		p.t.Fatalf("%q: %v", text, err)
	}
	return c
}

func like(img image.Image, x, y int, c [3]float64) bool {
	r, g, b, _ := img.At(x, y).RGBA()
	return math.Abs(float64(r>>8)-c[0])+math.Abs(float64(g>>8)-c[1])+math.Abs(float64(b>>8)-c[2]) < 40
}

// count is how many pixels have about this colour.
func count(img image.Image, c [3]float64) (n int) {
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			if like(img, x, y, c) {
				n++
			}
		}
	}
	return n
}

// heights are how far above the picture's lower end the pixels of a colour lie,
// on average, in each tenth of the width that they span.
func heights(img image.Image, c [3]float64) []float64 {
	size := img.Bounds()
	x0, x1 := size.Max.X, size.Min.X
	for x := size.Min.X; x < size.Max.X; x++ {
		for y := size.Min.Y; y < size.Max.Y; y++ {
			if like(img, x, y, c) {
				x0, x1 = min(x0, x), max(x1, x+1)
			}
		}
	}
	sum, n := make([]float64, 10), make([]float64, 10)
	for x := x0; x < x1; x++ {
		for y := size.Min.Y; y < size.Max.Y; y++ {
			if like(img, x, y, c) {
				k := (x - x0) * 10 / (x1 - x0)
				sum[k], n[k] = sum[k]+float64(size.Max.Y-y), n[k]+1
			}
		}
	}
	for k := range sum {
		sum[k] /= n[k]
	}
	return sum
}
