package report

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		first := render(t, f, leakRun(1200), leakVerdict(), Options{})
		if again := render(t, f, leakRun(1200), leakVerdict(), Options{}); again != first {
			t.Errorf("%s differs from itself", f)
		}
	}
}

func TestEveryFormatIsFoundByItsName(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("pdf"); err == nil || !strings.Contains(err.Error(), "markdown") {
		t.Errorf("the error of an unknown format does not list the known ones: %v", err)
	}
	if err := Write(&strings.Builder{}, "pdf", nil, leakVerdict(), Options{}); err == nil {
		t.Error("an unknown format was written")
	}
	if err := Write(&strings.Builder{}, Text, nil, nil, Options{}); err == nil {
		t.Error("a report without a verdict was written")
	}
}

type brokenWriter struct{}

var errBroken = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		if err := Write(brokenWriter{}, f, leakRun(50), leakVerdict(), Options{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestJSONReadsBackAsTheVerdict(t *testing.T) {
	t.Parallel()
	var back verdict.Verdict
	text := render(t, JSON, leakRun(10), leakVerdict(), Options{})
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if again := render(t, JSON, nil, &back, Options{}); again != text {
		t.Errorf("read back and written again it differs:\n%s\n%s", text, again)
	}
	bad := leakVerdict()
	bad.Confidence = math.NaN()
	if err := Write(&strings.Builder{}, JSON, nil, bad, Options{}); err == nil {
		t.Error("a confidence that is no number was written")
	}
	if text := render(t, JSON, nil, &verdict.Verdict{}, Options{}); !strings.Contains(text, `"accounts": []`) {
		t.Errorf("accounts that are none must be []: %s", text)
	}
}

func TestCSVReadsBackAsTheSamples(t *testing.T) {
	t.Parallel()
	run := leakRun(300)
	s, warnings, err := record.ReadCSV(strings.NewReader(render(t, CSV, run, leakVerdict(), Options{})), "x.csv")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", err, warnings)
	}
	for _, name := range run.Samples.Names() {
		if !same(s.Column(name), run.Samples.Column(name)) {
			t.Errorf("column %s differs", name)
		}
	}
}

func TestTextFitsItsWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{0, 40, 60, 72, 100, 160} {
		for _, text := range []string{
			render(t, Text, leakRun(1200), leakVerdict(), Options{Width: width}),
			render(t, Text, hostileRun(), hostileVerdict(), Options{Width: width}),
		} {
			limit := width
			if width == 0 {
				limit = 100
			}
			report, _, _ := strings.Cut(text, "\nReproduce\n") // the command line is to be copied whole
			for _, line := range strings.Split(report, "\n") {
				if n := cells(line); n > limit {
					t.Errorf("%d columns of %d: %q", n, limit, line)
				}
			}
		}
	}
}

func TestColourIsOnlyThereWhenAllowed(t *testing.T) {
	t.Parallel()
	plain := render(t, Text, leakRun(100), leakVerdict(), Options{})
	if strings.Contains(plain, "\x1b") {
		t.Error("escape in a report without colour")
	}
	colour := render(t, Text, leakRun(100), leakVerdict(), Options{Color: true})
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colour, ""); got != plain {
		t.Error("colour changes more than colour")
	}
}

func TestHostileStringsStayStrings(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{Text, Markdown, HTML} {
		text := render(t, f, hostileRun(), hostileVerdict(), Options{Title: hostile, Producer: hostile})
		if !utf8.ValidString(text) {
			t.Errorf("%s is not UTF-8", f)
		}
		for _, r := range text {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == 0x202e || r == 0x2028) {
				t.Errorf("%s holds %U", f, r)
				break
			}
		}
		limit := 1 << 20
		if f == Markdown {
			limit = 4 * maxMarkdown
		}
		if len(text) > limit {
			t.Errorf("%s has %d bytes", f, len(text))
		}
		if !strings.Contains(text, "…") {
			t.Errorf("%s does not show that something was cut", f)
		}
	}
	if n := utf8.RuneCountInString(render(t, Markdown, hostileRun(), hostileVerdict(), Options{})); n > maxMarkdown {
		t.Errorf("markdown has %d characters", n)
	}
}

func TestHostileStringsMakeNoElement(t *testing.T) {
	t.Parallel()
	plain := leakVerdict()
	plain.Verdict = verdict.Undecided // names no account, as a class that nobody knows does
	quiet := render(t, HTML, leakRun(200), plain, Options{})
	loud := render(t, HTML, hostileRun(), hostileVerdict(), Options{Title: hostile, Producer: hostile})
	for _, element := range []string{"script", "img", "style", "iframe", "object", "link", "meta"} {
		tag := regexp.MustCompile(`(?i)<` + element + `[\s>]`)
		if want, got := len(tag.FindAllString(quiet, -1)), len(tag.FindAllString(loud, -1)); got != want {
			t.Errorf("%d <%s>, %d in a page without hostile strings", got, element, want)
		}
	}
	for _, bad := range []string{"onerror=alert(2)>", "<img src=x"} {
		if strings.Contains(loud, bad) {
			t.Errorf("%q is in the page as it is", bad)
		}
	}
	md := render(t, Markdown, hostileRun(), hostileVerdict(), Options{Title: hostile})
	outside := regexp.MustCompile("(?s)`{3,}\n.*?\n`{3,}\n").ReplaceAllString(md, "")
	for _, bad := range []string{"<script", "<img", "@all", "#1 "} {
		if strings.Contains(outside, bad) {
			t.Errorf("markdown acts upon %q", bad)
		}
	}
}

func TestThePageLoadsNothing(t *testing.T) {
	t.Parallel()
	text := render(t, HTML, leakRun(200), leakVerdict(), Options{})
	for _, bad := range []string{"src=", "href=\"http", "@import", "url(", "style=\"", " onclick", "unsafe-inline"} {
		page := strings.ReplaceAll(text, uplotJS, "")
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	policy := html.UnescapeString(text)
	if !strings.Contains(policy, "default-src 'none'") {
		t.Error("the page has no policy")
	}
	style := text[strings.Index(text, "<style>")+len("<style>") : strings.Index(text, "</style>")]
	if !strings.Contains(policy, hashOf(style)) {
		t.Error("the policy does not allow the page's own style")
	}
	at := strings.LastIndex(text, "<script>")
	script := text[at+len("<script>") : at+strings.Index(text[at:], "</script>")]
	if !strings.Contains(policy, hashOf(script)) {
		t.Error("the policy does not allow the page's own script")
	}
}

func TestNothingIsInventedForWhatIsUnknown(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{Text, Markdown} {
		text := render(t, f, nil, undecidedVerdict(), Options{})
		if regexp.MustCompile(`\b0 (B|%|samples? a)`).MatchString(text) {
			t.Errorf("%s shows a zero for an unknown:\n%s", f, text)
		}
		if !strings.Contains(text, units.Unknown) {
			t.Errorf("%s shows no %q:\n%s", f, units.Unknown, text)
		}
	}
}

func TestTheChangesOfAnyTableSumToWhatWasMeasured(t *testing.T) {
	t.Parallel()
	run := leakRun(1200)
	for _, u := range []account.Unified{account.UnifiedYes, account.UnifiedNo, account.UnifiedAuto} {
		v := verdict.Judge(run, verdict.Options{Unified: u})
		foot, sum := v.Measured.Bytes, int64(0)
		for _, row := range v.Accounts {
			sum += *row.ChangeBytes
		}
		if sum != foot {
			t.Errorf("%s: the accounts changed by %d, the process by %d", u, sum, foot)
		}
		if want := units.Growth(float64(foot)); !strings.Contains(render(t, Text, run, v, Options{}), want) {
			t.Errorf("%s: the report does not say %s", u, want)
		}
	}
}

func TestPeaksSurviveDecimation(t *testing.T) {
	t.Parallel()
	const n = 100_000
	x, v := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	v[77_777], v[33_333] = 1e9, -5
	r := reduce(x, v, 0, n-1, buckets)
	lo, hi := rangeOf(r.y)
	if len(r.y) != 2*buckets || lo != -5 || hi != 1e9 {
		t.Errorf("%d points between %v and %v", len(r.y), lo, hi)
	}
}

func TestALineBreaksWhereNobodyLooked(t *testing.T) {
	t.Parallel()
	var x, v []float64
	for i := range 100 {
		at := float64(i)
		if i >= 50 {
			at += 400
		}
		x, v = append(x, at), append(v, 1)
	}
	for i := 20; i < 32; i++ {
		v[i] = math.NaN()
	}
	v[60] = math.NaN()
	starts := 0
	r := reduce(x, v, 0, 499, buckets)
	r.each(func(_, _ float64, gap bool) {
		if gap {
			starts++
		}
	})
	if starts != 2 {
		t.Errorf("%d parts: one unknown cell must not break the line, twelve must", starts)
	}
}

func TestChartsAreOfTheProcessTheVerdictIsAbout(t *testing.T) {
	t.Parallel()
	one := ofVerdict(processesRun(), processesVerdict())
	if rss := one.Samples.Column(record.ColRSS); len(rss) != 40 || rss[0] != 50*mib || rss[39] != 89*mib {
		t.Errorf("%d rows: %v", len(rss), rss)
	}
}

func TestManyMarksLeaveTheReceipts(t *testing.T) {
	t.Parallel()
	run := leakRun(200)
	receipts := 0
	for _, e := range run.Events {
		if e.Kind == record.KindReceipt {
			receipts++
		}
	}
	var phases []record.Event
	for i := range 500 {
		phases = append(phases, record.Event{TMs: float64(i), Kind: record.KindPhase, Name: "epoch"})
	}
	run.Events = append(append(phases, run.Events...), record.Event{TMs: 9900, Kind: record.KindPhase,
		Name: record.PhaseReleased})
	marks, more := marksOf(run)
	if len(marks) != maxMarks || more != len(run.Events)-maxMarks || receipts == 0 {
		t.Errorf("%d marks and %d more of %d events", len(marks), more, len(run.Events))
	}
	if last := marks[len(marks)-receipts-1:]; !last[0].receipt || last[len(last)-1].label != record.PhaseReleased {
		t.Errorf("the last marks are %v", last)
	}
}

func TestUnitsReadWell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{units.Bytes(0), "0 B"}, {units.Bytes(1023), "1023 B"}, {units.Bytes(1024), "1 KiB"},
		{units.Bytes(1237442560), "1.15 GiB"},
		{units.Growth(-49152), "−48.0 KiB"}, {units.Growth(4 * mib), "+4 MiB"}, {units.Bytes(math.NaN()), "–"},
		{units.Count(-1234567), "−1,234,567"}, {units.Count(12), "12"}, {units.Percent(0.9999), "> 99.9 %"},
		{units.Percent(0.0001), "< 0.1 %"}, {units.Percent(0.97), "97 %"},
		{units.Seconds(0), "0 s"}, {units.Seconds(0.05), "50.0 ms"}, {units.Seconds(90), "90.0 s"},
		{units.Seconds(17650), "4.90 h"}, {units.Seconds(86400 * 10), "10.0 days"},
		{intervalText(nil), "–"}, {plain(&verdict.Interval{Value: 4 * mib, Low: 3.5 * mib, High: 4.5 * mib}),
			"+4.0 MiB (3.5 … 4.5)"},
		{shellLine([]string{"a b", "it's", "", "x=1"}), `'a b' 'it'\''s' '' x=1`},
		{clean("a\x1b[1m\n\tb\u202e", 100), "a\uFFFD[1m b\uFFFD"}, {clean("abcdef", 4), "abc…"},
		{clean("abcd", 4), "abcd"}, {clean("  ab  ", 9), "ab"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func plain(iv *verdict.Interval) string { return strings.ReplaceAll(intervalText(iv), noBreak, " ") }

func TestSitesBecomeFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		site, file string
		line       int64
		name       string
	}{
		{"train.py:41 step", "train.py", 41, "step"},
		{"/a b/x.go:7:3 f", "", 0, "/a b/x.go:7:3 f"},
		{"x.go:7:3 pkg.f", "x.go", 7, "pkg.f"},
		{`C:\src\x.cu:9 k`, `C:\src\x.cu`, 9, "k"},
		{"/src/a.py:3 <module>", "/src/a.py", 3, "a.py:<module>"},
		{"x.go:7", "x.go", 7, "x.go:7"},
		{"just a name", "", 0, "just a name"},
		{":5 f", "", 0, ":5 f"},
		{"", "", 0, ""},
	} {
		if f, l, n := functionOf(c.site); f != c.file || l != c.line || n != c.name {
			t.Errorf("%q: %q, %d, %q", c.site, f, l, n)
		}
	}
}

// FuzzReportsOfAnyString writes one format at a time, of a short run: what is
// tested is that any text and any number can be printed.
func FuzzReportsOfAnyString(f *testing.F) {
	formats := [...]Format{Text, Markdown, HTML, CSV, PProf}
	for i := range formats {
		f.Add(hostile, 1.0, int64(5), uint8(i))
		f.Add("", math.Inf(1), int64(math.MinInt64), uint8(i))
	}
	f.Fuzz(func(t *testing.T, s string, x float64, n int64, format uint8) {
		if len(s) > 512 {
			return // more of the same takes longer
		}
		v := leakVerdict()
		v.Verdict, v.Summary, v.Causes[0].ID = verdict.Class(s), s, s
		v.Accounts[0].Bytes, v.Accounts[0].PerSecond = &n, &verdict.Interval{Value: x, Low: -x, High: x}
		v.Sites[0].Site, v.Forecast.P50 = s, x
		run := leakRun(12)
		run.Meta.Command = []string{s}
		run.Samples.Column(record.ColLive)[7] = x
		run.Samples.Column(record.ColTime)[9] = x
		to := formats[int(format)%len(formats)]
		if err := Write(io.Discard, to, run, v, Options{Title: s}); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	})
}

func TestBothDriversOfAGrowthAreToldWithTheirParts(t *testing.T) {
	t.Parallel()
	part := func(v float64) *float64 { return &v }
	v := verdict.Verdict{DrivenBy: &verdict.DrivenBy{
		Per: "step", Interval: verdict.Interval{Value: 2048, Low: 2000, High: 2100}, Share: part(.75),
		And: &verdict.DrivenBy{Per: "second", Interval: verdict.Interval{Value: 1024, Low: 1000, High: 1048},
			Share: part(.25)},
	}}
	text := driverSection(&v).blocks[0].text
	first, second, both := strings.Cut(text, ", and ")
	if !both || !strings.Contains(first, "with every step (75 % of it)") ||
		!strings.Contains(second, "every second (25 % of it).") {
		t.Errorf("%q", text)
	}
}

func TestTheCostOfAGrowingNumberIsNotInBytes(t *testing.T) {
	t.Parallel()
	v := verdict.Verdict{DrivenBy: &verdict.DrivenBy{Per: "second", Of: "events",
		Interval: verdict.Interval{Value: 194, Low: 190, High: 199}}}
	if text := driverSection(&v).blocks[0].text; text != "+194 events every second." {
		t.Errorf("%q", text)
	}
}
