package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// planted fills every string below v, also those of fields that are yet to be
// added, with a word that stands nowhere else.
func planted(v reflect.Value, next func() string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		planted(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				planted(v.Field(i), next)
			}
		}
	case reflect.String:
		v.SetString(next())
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		planted(key, next)
		planted(value, next)
		m.SetMapIndex(key, value)
		v.Set(m)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(fmt.Sprintf(`{%q:[%q,{"bytes":7}]}`, next(), next())))
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // a byte of a time's zone
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			planted(v.Index(i), next)
		}
	}
}

// names are the forms that a name comes in; %d makes it its own.
var names = []string{"Zq%dAlice", "zq%dlab.example.org", "/home/zq%d/src/zq%d.py:41 zq%d.Fit",
	`C:\Zq%d\x.cu:9 k`, "zq%d-\u4e2d\u6587", "said %q: zq%d", "Zq%d's \"own\" <b>"}

func plantedRun() *record.Run {
	n := 0
	next := func() string {
		n++
		return strings.ReplaceAll(strings.ReplaceAll(names[n%len(names)], "%d", fmt.Sprint(n)), "%q",
			fmt.Sprintf(`"zq%d"`, n))
	}
	run := leakRun(200)
	columns := append([]string(nil), run.Samples.Names()...)
	var cols [][]float64
	for i, name := range columns {
		cols = append(cols, run.Samples.Column(name))
		if name == "gpumem_extra" {
			columns[i] = next()
		}
	}
	run.Samples = record.NewSamples(columns, cols)
	planted(reflect.ValueOf(&run.Meta).Elem(), next)
	for _, kind := range []string{record.KindPhase, record.KindStatement, record.KindReceipt, record.KindWarning,
		record.KindSites, record.KindHolders, record.KindFirstTouch, record.KindEvent} {
		var e record.Event
		planted(reflect.ValueOf(&e).Elem(), next)
		e.Kind, e.TMs = kind, 3000
		for i := range e.Sites {
			e.Sites[i].Bytes, e.Sites[i].Count = mib, 1
		}
		run.Events = append(run.Events, e)
	}
	run.Events = append(run.Events, record.Event{TMs: 10, Kind: record.KindPhase, Name: "load_zq99999"})
	var w record.Warning
	planted(reflect.ValueOf(&w).Elem(), next)
	run.Warnings, run.Path = []record.Warning{w}, next()
	return run
}

func TestNoNameIsLeftInARedactedRun(t *testing.T) {
	t.Parallel()
	original := plantedRun()
	run := NewRedactor([]byte("salt")).Run(original)
	v := verdict.Judge(run, verdict.Options{})
	all, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?i)zq\d+|\x{4e2d}`)
	texts := map[string]string{"run": string(all)}
	for _, f := range Formats() {
		texts[string(f)] = render(t, f, run, v, Options{})
	}
	z, err := gzip.NewReader(strings.NewReader(texts[string(PProf)]))
	if err != nil {
		t.Fatal(err)
	}
	profile, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	texts[string(PProf)] = string(profile)
	for what, text := range texts {
		if left := name.FindAllString(text, 5); left != nil {
			t.Errorf("%s still has %q", what, left)
		}
	}
	if all, err = json.Marshal(original); err != nil || len(name.FindAll(all, -1)) < 50 {
		t.Errorf("the original run has lost its names, %v", err)
	}
}

func TestARedactedRunDoesNotTellWhenItsMachineWasStarted(t *testing.T) {
	t.Parallel()
	run, booted, memory := leakRun(20), time.Date(2026, 11, 1, 7, 8, 9, 0, time.UTC), int64(1<<34)
	run.Meta.Machine = &record.Machine{Booted: &booted, Processors: 8, MemoryBytes: &memory}
	m := NewRedactor([]byte("salt")).Run(run).Meta.Machine
	if m == nil || m.Booted != nil || m.Processors != 8 || *m.MemoryBytes != memory {
		t.Errorf("%+v", m)
	}
	if run.Meta.Machine.Booted == nil {
		t.Error("the original has lost it")
	}
}

// TestACycleIsToldOfARedactedRunAsWell: what it is by is no word of a path.
func TestACycleIsToldOfARedactedRunAsWell(t *testing.T) {
	t.Parallel()
	held := []record.Holder{{Path: "Lodger objects: a reference cycle through .flat", Kind: "reference-cycle"},
		{Path: "Tensor (4, 8) torch.float32 cpu: a reference cycle or native code"}, {Path: "t.x", Kind: "Lodger"}}
	r := NewRedactor([]byte("a"))
	got := r.event(&record.Event{Kind: record.KindHolders, Holders: held}).Holders
	if got[0].Kind != held[0].Kind || got[1].Path != held[1].Path || got[2].Kind != "" ||
		!regexp.MustCompile(`^x[0-9a-f]{10} objects: a reference cycle through \.x[0-9a-f]{10}$`).MatchString(got[0].Path) {
		t.Errorf("%+v", got)
	}
}

func TestRedactionIsConsistentUnderOneSaltOnly(t *testing.T) {
	t.Parallel()
	a, same, b := NewRedactor([]byte("a")), NewRedactor([]byte("a")), NewRedactor([]byte("b"))
	const site = "/home/alice/train.py:41 Alice.step"
	if a.text(site) != same.text(site) || a.text(site) == b.text(site) {
		t.Errorf("%q, %q, %q", a.text(site), same.text(site), b.text(site))
	}
	if got := a.text(site); !regexp.MustCompile(`^/home/x[0-9a-f]{10}/train\.py:41 x[0-9a-f]{10}\.step$`).MatchString(got) {
		t.Errorf("%q", got)
	}
	for _, c := range []struct{ in, want string }{
		{"cuda:0 NVIDIA GeForce RTX 4090", "cuda:0 NVIDIA GeForce RTX 4090"}, {"NVIDIA H200", "NVIDIA H200"},
		{"Apple M3 Max", "Apple M3 Max"},
		{"", ""},
	} {
		if got := a.device(c.in); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, in := range []string{"10.1.22.3", "fe80::1:2:3:4", "00:1b:44:11:3a:b7"} {
		if got := a.text("at " + in); strings.Contains(got, in) || !strings.HasPrefix(got, "at ") {
			t.Errorf("%q became %q", in, got)
		}
	}
	for _, in := range []string{record.KindStep, record.KindPhase, record.KindScope, record.KindStatement,
		record.KindEvent, record.KindReceipt, record.KindSites,
		record.KindHolders, record.KindWarning, record.KindDriverSites, record.KindFirstTouch, record.PhaseBaseline,
		record.PhaseReleased, record.PhaseExiting,
		record.ActionCollect, record.ActionPurge, record.ActionTrim, record.ActionSync, record.LimitDevice,
		record.LimitCgroup, record.LimitHost,
		"live", "idle", "host", "untracked", "growth", "churn", "mixed", "undecided", RedactedNote,
		record.Holder{Gone: true, Graph: "outputs"}.String()} {
		if got := a.text(in); got != in {
			t.Errorf("%q, a word of the format, became %q", in, got)
		}
	}
	for _, in := range []string{"2.11.0+cu130", "50ms", "4 KiB", "v0.1.0", "go1.26.8", "rss_bytes", "libcuda",
		"libnvidia-glcore"} {
		if got := a.text(in); got[:3] != in[:3] {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestARedactedRunHasTheSameVerdict(t *testing.T) {
	t.Parallel()
	for _, q := range questions {
		run := q.run()
		if run == nil {
			continue
		}
		run.Meta.Env = nil
		want, got := verdict.Judge(run, verdict.Options{}), verdict.Judge(NewRedactor([]byte("s")).Run(run),
			verdict.Options{})
		if got.Verdict != want.Verdict || got.Tier != want.Tier || got.Confidence != want.Confidence ||
			!reflect.DeepEqual(got.Accounts, want.Accounts) || len(got.Causes) != len(want.Causes) {
			t.Errorf("%s: %s, want %s", q.name, got.Summary, want.Summary)
		}
		if !strings.Contains(render(t, Text, NewRedactor(nil).Run(run), got, Options{Width: 300}), RedactedNote) {
			t.Errorf("%s does not say that it is redacted", q.name)
		}
	}
}

// A kind of event under another name would tell its readers nothing.
func TestARedactedRunKeepsTheKindsOfItsEvents(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../tracer/record/record.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`(?m)^\tKind\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(kinds) < 20 {
		t.Fatalf("%d kinds are found", len(kinds))
	}
	run, r := leakRun(60), NewRedactor([]byte("s"))
	run.Events = nil
	for _, kind := range kinds {
		run.Events = append(run.Events, record.Event{Kind: kind[1], Detail: json.RawMessage(`{"seconds":2.5}`)})
	}
	redacted := r.Run(run).Events // with a note at their end
	for i, kind := range kinds {
		e := &redacted[i]
		if e.Kind != kind[1] {
			t.Errorf("an event of the kind %q has the kind %q", kind[1], e.Kind)
		}
		window := e.Kind == record.KindHostSites || e.Kind == record.KindBlockSites
		if window && record.SiteWindowOf(e) != 2.5 {
			t.Errorf("%s: the window has no length: %s", e.Kind, e.Detail)
		}
	}
}

func FuzzNoWordOfANameStays(f *testing.F) {
	f.Add("alice@lab-07", "{\"a\":\"b\"}")
	f.Add("/srv/\u4e2d/\xffx", "[1e999]")
	r := NewRedactor([]byte("salt"))
	f.Fuzz(func(t *testing.T, s, detail string) {
		if len(s) > 1<<10 || len(detail) > 1<<10 {
			return // more of the same takes longer
		}
		got := r.text(s)
		for _, w := range strings.FieldsFunc(s, func(c rune) bool { return !inWord(c) }) {
			if len(w) > 4 && len(s) < maxRedacted && !r.public[strings.ToLower(w)] && !measure.MatchString(w) &&
				!strings.HasPrefix(w, "x") && strings.Contains(got, w) {
				// A replacement may by chance hold a word of a few digits.
				if strings.Trim(strings.ToLower(w), "0123456789abcdef") != "" {
					t.Errorf("%q is left in %q", w, got)
				}
			}
		}
		if out := r.detail([]byte(detail)); out != nil && !json.Valid(bytes.TrimSpace(out)) {
			t.Errorf("%q became %q", detail, out)
		}
	})
}

func TestNumbersThatStandForNamesAreTakenOut(t *testing.T) {
	t.Parallel()
	r := NewRedactor([]byte("salt"))
	for in, gone := range map[string]string{
		"/home/20140817/train.py:41 step": "20140817", "/home/7/train.py:41": "/7/",
		"/srv/20140817/x.py": "20140817", `C:\Users\123456\x.cu:9 k`: "123456",
		"user 12345678 has none": "12345678", "pw=9081726354": "9081726354", "uid: 100234": "100234",
		`"account": "4711999"`:     "4711999",
		"card 4242 4242 4242 4242": "4242", "card 4242 4242 424": "4242", "4242-4242-4242-4242": "4242",
		"call +1-555-0100-222": "555", "555-0100": "0100", "v1234567890": "1234567890",
		"key 5550001m": "5550001", "job 123e4567-7890-12d3-a456-426614174000": "7890",
		"GPU-123e4567-7890-12d3-a456-426614174000": "7890",
		"100234@cluster": "100234", "bob@5551234": "5551234", "--data=/data/20140817/a": "20140817",
	} {
		if got := r.text(in); strings.Contains(got, gone) {
			t.Errorf("%q became %q", in, got)
		}
	}
	for _, in := range []string{"cuda:0 KEY9X", "ABC123XY", "NVIDIA ZZ9Q8"} {
		if got := r.device(in); strings.Contains(got, "9") && strings.Contains(in, got[len(got)-5:]) ||
			strings.Contains(got, "123XY") {
			t.Errorf("%q became %q", in, got)
		}
	}
	first := r.text("/home/20140817/a")
	if again := r.text("/home/20140817/a"); first != again || r.text("user 12345678") == r.text("user 12345679") {
		t.Error("a number is not replaced alike everywhere, or another is replaced by the same")
	}
}

func TestNumbersThatMeasureStay(t *testing.T) {
	t.Parallel()
	r := NewRedactor([]byte("salt"))
	for _, in := range []string{
		"25276514304 bytes", "process 11254 ended after 12345 samples", "line 4242", "step 1000000", "1024/2048",
		"4 MiB/100 steps", "12.5 s", "50ms", "512 MiB",
		"3.14", "2.11.0", "v0.1.0", "100 to 200", "2026-11-22", "16:30:05", "samples 17 of 9007199254740993", "80GB",
		"-1234", "host memory 4096", "host 4096 KiB", "exit code 137", "home 4096",
		"cuda:0", "1,000 a second", "0 values", "key 12", "4096B",
	} {
		if got := r.text(in); strings.Join(digitRuns(got), " ") != strings.Join(digitRuns(in), " ") {
			t.Errorf("%q became %q", in, got)
		}
	}
	for _, in := range []string{"NVIDIA H200", "AMD MI300X", "NVIDIA L40S", "NVIDIA A100 SXM4 80GB",
		"NVIDIA GeForce RTX 4090", "NVIDIA GH200", "Apple M3 Max", "Tesla V100 SXM2"} {
		if got := r.device(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// digitRuns are the numbers of a text that no letter stands before.
func digitRuns(s string) []string { return regexp.MustCompile(`\b\d+`).FindAllString(s, -1) }
