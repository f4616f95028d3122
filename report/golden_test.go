package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// questions are the cases that every format answers.
var questions = []struct {
	name string
	run  func() *record.Run
	v    func() *verdict.Verdict
}{
	{"whose-memory-grows", func() *record.Run { return leakRun(1200) }, leakVerdict},
	{"what-was-left-over", retentionRun, retentionVerdict},
	{"what-is-not-known", func() *record.Run { return nil }, undecidedVerdict},
	{"which-statement-grows", traceRun, traceVerdict},
	{"which-of-several-processes", processesRun, processesVerdict},
}

func TestEveryFormatAnswersItsQuestion(t *testing.T) {
	t.Parallel()
	for _, q := range questions {
		for _, f := range []Format{Text, JSON, Markdown, HTML, CSV, PProf} {
			t.Run(q.name+"."+string(f), func(t *testing.T) {
				t.Parallel()
				run, v := q.run(), q.v()
				if f == PProf && len(v.Sites) == 0 {
					return // TestPProfWithoutSitesIsAnError
				}
				if f == CSV && run != nil && run.Samples.Len() > 100 {
					run.Samples = head(run.Samples, 20)
				}
				got := render(t, f, run, v, Options{Producer: "gpumem 0.1.0"})
				compare(t, filepath.Join("testdata", q.name+"."+string(f)+".golden"), readable(t, f, got))
			})
		}
	}
}

// readable takes out of HTML the library that is the same in every page, and
// prints a profile.
func readable(t *testing.T, f Format, got string) string {
	switch f {
	case HTML:
		for _, lib := range []struct{ text, name string }{{uplotJS, "uplot.min.js"}, {pageJS, "page.js"},
			{uplotCSS, "uplot.min.css"}, {pageCSS, "page.css"}, {inAttribute(hashOf(uplotCSS + pageCSS)),
				"hash of the style"}, {inAttribute(hashOf(uplotJS + "\n" + pageJS)), "hash of the script"}} {
			if !strings.Contains(got, lib.text) && lib.name != "uplot.min.js" && lib.name != "page.js" {
				t.Errorf("the page lacks %s", lib.name)
			}
			got = strings.Replace(got, lib.text, "[["+lib.name+"]]", 1)
		}
		long := regexp.MustCompile(`[-ML0-9. ]{400,}|[-0-9.,e+]{400,}`)
		got = long.ReplaceAllStringFunc(got, func(s string) string {
			return s[:100] + "[[" + hashOf(s) + "]]" +
				s[len(s)-100:]
		})
	case PProf:
		p, err := profile.ParseData([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		return p.String()
	}
	return got
}

func head(s *record.Samples, n int) *record.Samples {
	var cols [][]float64
	for _, name := range s.Names() {
		cols = append(cols, s.Column(name)[:n])
	}
	return record.NewSamples(s.Names(), cols)
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs from line %d on (-update writes it anew):\n got %.300q\nwant %.300q", path, i+1,
				at(g, i), at(w, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "end of file"
}

// traceRun is a log of statements without times.
func traceRun() *record.Run {
	return &record.Run{
		Path: "mem_trace.log",
		Meta: record.Meta{Schema: 1, Versions: map[string]string{"recording": "tl-mem-trace"},
			Flags: map[string]string{"steps-per-line": "1500"}},
		Samples: record.NewSamples([]string{record.ColStep, record.ColRSS, record.ColLive, record.ColLiveCount},
			[][]float64{
				{1500, 3000, 4500}, {319 * mib, 5812 * mib, 7600 * mib}, {55104, 98776, 106472}, {70, 312, 356}}),
		Events: []record.Event{
			{Kind: record.KindStatement, Name: "While", At: "n_queens.tl:31:5",
				Detail: []byte(`{"rss_delta_bytes":7634681856,"count":4500}`)},
			{Kind: record.KindStatement, Name: "Let", At: "n_queens.tl:12:5",
				Detail: []byte(`{"rss_delta_bytes":-1048576,"count":3}`)},
			{Kind: record.KindStatement, Name: "Let", At: "own mark"},
		},
		Warnings: []record.Warning{{File: "mem_trace.log", Text: "the log has no times: growth a second is unknown"}},
	}
}

func traceVerdict() *verdict.Verdict {
	return &verdict.Verdict{Schema: 1, Verdict: verdict.DriverGrowth, Tier: verdict.Suspected, Confidence: 0.7,
		RestsOn: verdict.ByMagnitude,
		Answer: "driver-growth (suspected, 70 %): host memory outside both pools grows by 7.11 GiB, decelerating: " +
			"3.66 MiB, then 1.19 MiB a step.",
		Summary: "driver-growth (suspected, 70 %): host memory outside both pools grows by 7.11 GiB, decelerating: " +
			"3.66 MiB, then 1.19 MiB a step.",
		Claim:  "host memory outside both pools grows by 7.11 GiB, decelerating: 3.66 MiB, then 1.19 MiB a step.",
		Window: verdict.Window{Samples: 3, Steps: 3000},
		Accounts: []verdict.AccountRow{
			{Account: verdict.Live, Shape: trend.ShapeUndecided, Count: ptr(int64(286))},
			{Account: verdict.Host, Shape: trend.Growing, ChangeBytes: ptr(int64(7281 * mib)),
				Bytes: ptr(int64(7281 * mib))},
		},
		Warnings: []string{"the log has no times: growth a second is unknown"},
	}
}

// processesRun has two processes, of which the second ends before the run.
func processesRun() *record.Run {
	names := []string{record.ColTime, record.ColPID, record.ColRSS, record.ColGPU + "@0", record.ColGPU + "@1"}
	cols := make([][]float64, len(names))
	add := func(row ...float64) {
		for c, x := range row {
			cols[c] = append(cols[c], x)
		}
	}
	for i := range 40 {
		t := float64(i) * 100
		add(t, 100, float64(50+i)*mib, 10*mib, record.Unknown())
		if i < 20 {
			add(t, 101, 200*mib, record.Unknown(), 30*mib)
		}
	}
	return &record.Run{Meta: record.Meta{Schema: 1, Workload: "serve", IntervalMs: 100,
		UnifiedMemory: ptr(false)}, Samples: record.NewSamples(names, cols)}
}

func processesVerdict() *verdict.Verdict {
	return &verdict.Verdict{Schema: 1, Verdict: verdict.HostGrowth, Tier: verdict.Likely, Confidence: 0.85,
		RestsOn: verdict.ByTrend,
		Answer:  "host-growth (likely, 85 %): host memory grows by 39 MiB.",
		Summary: "host-growth (likely, 85 %): host memory grows by 39 MiB.", PID: 100,
		Claim:  "host memory grows by 39 MiB.",
		Window: verdict.Window{ToMs: 3900, Samples: 40},
		Measured: &verdict.Measured{FromMs: ptr(0.0), ToMs: ptr(3900.0), Bytes: 39 * mib,
			FootprintBytes: ptr(int64(39 * mib))},
		Accounts: []verdict.AccountRow{{Account: verdict.Host, Shape: trend.Growing, ChangeBytes: ptr(int64(39 * mib)),
			Bytes: ptr(int64(39 * mib)), PerSecond: &verdict.Interval{Value: 10 * mib, Low: 9.9 * mib,
				High: 10.1 * mib}}},
		Processes: []verdict.ProcessRow{{PID: 100, Verdict: verdict.HostGrowth, Tier: verdict.Likely,
			Confidence: 0.85}, {PID: 101, Verdict: verdict.None, Tier: verdict.Confirmed, Confidence: 0.96}},
	}
}

func TestPProfWithoutSitesIsAnError(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := Write(&b, PProf, retentionRun(), retentionVerdict(), Options{})
	if err == nil || b.Len() > 0 {
		t.Errorf("error %v, %d bytes", err, b.Len())
	}
}

// inAttribute is a hash as html/template writes it into an attribute.
func inAttribute(hash string) string { return strings.ReplaceAll(hash, "+", "&#43;") }
