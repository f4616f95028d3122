//go:build unix

package report

import (
	"testing"
	"time"
)

// BenchmarkFirstPaint opens the page of a million rows in Chromium and prints
// when its first words were there, and when all charts lived, since the
// navigation began.
func BenchmarkFirstPaint(b *testing.B) {
	run, v := longRun(1_000_000, 20), leakVerdict()
	v.Window.ToMs = 50_000_000
	path := onDisk(b, "million", render(b, HTML, run, v, Options{}))
	p := startBrowser(b).newTab(b)
	p.size(1280, 900)
	var paint, ready float64
	for b.Loop() {
		p.open(path)
		var at struct{ Paint, Ready float64 }
		for at.Paint == 0 { // a paint is told a moment after it was
			p.eval(`(() => {const f = performance.getEntriesByName("first-contentful-paint")[0];
				return {Paint: f ? f.startTime : 0, Ready: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd}})()`, &at)
			time.Sleep(time.Millisecond)
		}
		paint, ready = paint+at.Paint, ready+at.Ready
	}
	b.ReportMetric(paint/float64(b.N), "first-paint-ms")
	b.ReportMetric(ready/float64(b.N), "charts-live-ms")
}
