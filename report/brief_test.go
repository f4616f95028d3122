package report

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
)

func TestTheShortAnswerSaysWhatToDoAndWhichAccountGrows(t *testing.T) {
	t.Parallel()
	v := leakVerdict()
	v.Warnings = nil
	text := render(t, Text, leakRun(1200), v, Options{Brief: true})
	for _, want := range []string{"app-leak (confirmed, 98 %): Live memory grows", "What to do: Detach the loss",
		"account", "live", "growing", "measured"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 12 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	v.Verdict, v.Claim, v.Next = verdict.None, "no account grows.", ""
	if text := render(t, Text, leakRun(1200), v, Options{Brief: true}); strings.Contains(text, "account ") &&
		strings.Contains(text, "measured") {
		t.Errorf("where nothing grows there is a table:\n%s", text)
	}
	v.Warnings = []string{"a", "b", "c", "d", "e"}
	if text := render(t, Text, leakRun(1200), v, Options{Brief: true}); strings.Count(text,
		"warning: ") != briefWarnings ||
		!strings.Contains(text, "only the report has: 2") {
		t.Errorf("five warnings:\n%s", text)
	}
}

func TestTheShortAnswerSaysFromWhenOnChangesAre(t *testing.T) {
	t.Parallel()
	for from, want := range map[float64]bool{1000: false, 6500: true} {
		v, to := leakVerdict(), 16000.
		v.Window.FromMs, v.Window.ToMs = 1000, to
		v.Measured = &verdict.Measured{Bytes: 40 << 20, FromMs: &from, ToMs: &to}
		text := render(t, Text, leakRun(1200), v, Options{Brief: true})
		if is := strings.Contains(text, "measured from 6.50 s on"); is != want {
			t.Errorf("from %v:\n%s", from, text)
		}
	}
}

func TestAnErrorThatTheProgramCaughtIsInTheAnswer(t *testing.T) {
	t.Parallel()
	asked, live := int64(512<<20), int64(1<<30)
	v := leakVerdict()
	v.OOM = &peak.OOM{Errors: 2, Caught: 2, AskedBytes: &asked, LiveBytes: &live, Site: "libfoo.so+0x10 (build id 3f)"}
	const want = "ran out of memory 2 times and went on; the last time it asked for 512 MiB at libfoo.so+0x10, " +
		"with 1 GiB live."
	for _, brief := range []bool{true, false} {
		text := strings.Join(strings.Fields(render(t, Text, leakRun(100), v, Options{Brief: brief})), " ")
		if strings.Count(text, want) != 1 {
			t.Errorf("brief %v: %s", brief, text)
		}
	}
	v.OOM.Died, v.OOM.Sentence = true, "the model does not fit."
	if text := render(t, Text, leakRun(100), v, Options{Brief: true}); strings.Contains(text, "went on") {
		t.Errorf("it died: %s", text)
	}
}

func TestAnOutOfMemoryIsTheFirstLineOfEachFormat(t *testing.T) {
	t.Parallel()
	for _, class := range []verdict.Class{verdict.Undecided, verdict.AppLeak} {
		v := leakVerdict()
		v.Verdict = class
		v.OOM = &peak.OOM{Died: true, Sentence: "the model does not fit: 3 GiB of parameters."}
		v.Claim, v.Answer = v.Answer, "out of memory: "+v.OOM.Sentence
		for _, f := range []Format{Text, Markdown, HTML} {
			text := render(t, f, leakRun(100), v, Options{Title: "-"})
			if f == HTML {
				text = text[strings.Index(text, "<h1"):]
			}
			oom, growth := strings.Index(text, "out of memory"), strings.Index(text, "Live memory grows")
			if oom < 0 || oom > 60 || (growth > oom) != (class == verdict.AppLeak) {
				t.Errorf("%s of %s: out of memory at %d, growth at %d", f, class, oom, growth)
			}
			if n := strings.Count(text, "does not fit"); n > 2 || f != HTML && n != 1 {
				t.Errorf("%s of %s says it %d times", f, class, n)
			}
		}
	}
}
