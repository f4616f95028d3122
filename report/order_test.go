package report

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// fullVerdict has every part that verdict.json can have, with words that stand
// nowhere else.
func fullVerdict() *verdict.Verdict {
	v := leakVerdict()
	v.PID, v.Processes = 100, processesVerdict().Processes
	v.Accounts[0].LeftoverBytes = ptr(int64(401 * mib))
	v.MoreMinutes = ptr(7.0)
	return v
}

// sayings are words of the parts of verdict.json by the name of the part.
var sayings = map[string][]string{
	"verdict": {"app-leak"}, "tier": {"confirmed"}, "confidence": {"98 %"},
	"answer":      {"Live memory grows by 4.00 MiB a step"},
	"next":        {"What to do", "etach the loss before it is kept"},
	"accounts":    {"+384 MiB", "(426", "+321", "growing", "bounded", "plateau", "+401 MiB"},
	"driven_by":   {"with every step"},
	"causes":      {"uncut-autograd-graph", "live tensors grow by 3.00 a step", "detach the loss"},
	"sites":       {"train.py:41 step", "model.py:17"},
	"holders":     {"main", ".history"},
	"experiments": {"24.0 MiB", "22.0 MiB"},
	"forecast":    {"139 GiB", "4.90 h", "4.83 h", "4.97 h"},
	"processes":   {"100", "host-growth", "101"},
	"missing":     {"no agent"},
	"warnings":    {"3 samples came too late"},
}

// TestAllFormatsSayTheSameInTheSameOrder takes the order from JSON, where the
// parts have names, and asks the others for the words of each part in turn.
func TestAllFormatsSayTheSameInTheSameOrder(t *testing.T) {
	t.Parallel()
	run, v := leakRun(1200), fullVerdict()
	keys := topKeys(t, render(t, JSON, run, v, Options{}))
	for _, f := range []Format{Text, Markdown, HTML} {
		text := readable(t, f, render(t, f, run, v, Options{Width: 200}))
		if f == HTML {
			text = html.UnescapeString(text[strings.Index(text, "<h1"):])
		}
		at := 0
		for _, key := range keys {
			for _, words := range sayings[key] {
				if f == Markdown {
					words = mdEscape(words)
				}
				i := strings.Index(text[at:], words)
				if i < 0 {
					t.Errorf("%s does not say %q of %s after the parts before it", f, words, key)
					continue
				}
				at += i
			}
		}
	}
	for key := range sayings {
		if !slices.Contains(keys, key) {
			t.Errorf("verdict.json has no %s", key)
		}
	}
}

// topKeys are the names of a JSON object in their order.
func topKeys(t *testing.T, text string) (keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fmt.Sprint(key))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// reread is a verdict as somebody reads it from verdict.json.
func reread(t *testing.T, v *verdict.Verdict) *verdict.Verdict {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	v = &verdict.Verdict{}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheVerdictIsSaidOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ class, tier, summary, want string }{
		{"app-leak", "confirmed", "app-leak (confirmed, 98 %): memory grows.",
			"app-leak (confirmed, 98 %): memory grows."},
		{"app-leak", "confirmed", "app-leak: memory grows.", "app-leak (confirmed, 98 %): memory grows."},
		{"app-leak", "confirmed", "memory grows.", "app-leak (confirmed, 98 %): memory grows."},
		{"undecided", "undecided", "undecided: too short.", "undecided (98 %): too short."},
		{"none", "likely", "nonetheless: memory grows.", "none (likely, 98 %): nonetheless: memory grows."},
		{"app-leak", "confirmed", "", "app-leak (confirmed, 98 %)."},
	} {
		v := reread(t, &verdict.Verdict{
			Verdict: verdict.Class(c.class), Tier: verdict.Tier(c.tier), Confidence: .98, Summary: c.summary,
		})
		if got := newDocument(&record.Run{Samples: &record.Samples{}}, v, Options{}).sentence(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, f := range []Format{Text, Markdown} {
		v := leakVerdict()
		v.Answer = "app-leak (confirmed, 98 %): " + v.Answer
		if n := strings.Count(render(t, f, leakRun(100), reread(t, v), Options{}), "confirmed"); n != 1 {
			t.Errorf("%s says the tier %d times", f, n)
		}
	}
}

func TestARunIsReproducedByItsFlagsAndItsCommand(t *testing.T) {
	t.Parallel()
	flags := map[string]string{"purge": "true", "interval": "10ms"}
	workload := []string{"gpumem", "run", "nqueens", "--fault=uncut-graph"}
	for _, c := range []struct {
		meta record.Meta
		want string
	}{
		{record.Meta{Workload: "nqueens", Command: workload}, "gpumem run nqueens --fault=uncut-graph"},
		{record.Meta{Workload: "nqueens", Command: workload, Flags: flags},
			"gpumem run --interval=10ms --purge=true nqueens --fault=uncut-graph"},
		{record.Meta{Command: []string{"a b", "-c", ""}, Flags: flags},
			"gpumem run --interval=10ms --purge=true -- 'a b' -c ''"},
		{record.Meta{Command: []string{"gpumem", "diagnose"}}, "gpumem run -- gpumem diagnose"},
		{record.Meta{Flags: map[string]string{"steps-per-line": "1500"}},
			"gpumem report --steps-per-line=1500 trace.log"},
	} {
		if got := reproduceLine(&record.Run{Path: "trace.log", Meta: c.meta}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
