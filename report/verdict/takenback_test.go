package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestWhatV8MayNotHaveCollectedIsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		grows   float64 // in each of 800 rows
		want    Class
	}{
		"Node, by less than it lets come":    {"/usr/bin/node server.js", 50 * kib, Undecided},
		"Deno":                               {"deno run a.ts", 50 * kib, Undecided},
		"Node, by more":                      {"node server.js", 150 * kib, HostGrowth},
		"a program that is only called so":   {"./nodes server.js", 50 * kib, HostGrowth},
		"a program that has it as a word":    {"./serve node", 50 * kib, HostGrowth},
		"one of which nobody told a command": {"", 50 * kib, HostGrowth},
	} {
		p := newProgram(800).grows(record.ColRSS, 200*mib, 64*kib, c.grows)
		p.events = append(p.events, record.Event{Kind: record.KindProcess, Name: c.command})
		if v := p.judge(); v.Verdict != c.want || strings.Contains(v.Answer, "JavaScript") != (c.want == Undecided) {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

// This program drew at random which of 1,500 things it needs, and kept each, when it had
// run for 4 s already.
func TestAGrowthThatSlowsDownMayBeACacheThatFills(t *testing.T) {
	t.Parallel()
	if v := recordedShortly(t, "slows-down", "c"); v.Verdict != Undecided ||
		!strings.Contains(v.Answer, "ever more slowly") {
		t.Errorf("it fills: %s", v.Answer)
	}
	run := recordedRun(t, "slows-down")
	footprint, at := run.Samples.Column(record.ColFootprint), run.Samples.Column(record.ColTime)
	for i := range footprint {
		footprint[i] += 400 * kib * at[i] / 1000
	}
	if v := Judge(run, Options{}); v.Verdict != HostGrowth {
		t.Errorf("and a leak beside it: %s", v.Answer)
	}
}

// This program asked for 700 MiB at once, and had written all but 5 of them when it ended.
func TestAnArrayThatTheProgramWroteUpToItsEndIsOpen(t *testing.T) {
	t.Parallel()
	if v := recordedShortly(t, "array-written", "c"); v.Verdict != Undecided ||
		!strings.Contains(v.Answer, "fills what it had reserved before") {
		t.Errorf("of an array: %s", v.Answer)
	}
	run := recordedRun(t, "array-written")
	reserved, held := run.Samples.Column(record.ColReserved), run.Samples.Column(record.ColFootprint)
	for i := range reserved {
		if reserved[i] == reserved[i] {
			reserved[i] = held[i] + 30*mib
		}
	}
	if v := Judge(run, Options{}); v.Verdict != HostGrowth {
		t.Errorf("of one that reserves as it grows: %s", v.Answer)
	}
}

// This server answered searches of many sizes, and kept the last sixty-four answers.
func TestAHeapThatSettlesLateIsOpen(t *testing.T) {
	t.Parallel()
	if v := recordedShortly(t, "heap-settles", "python"); v.Verdict != Undecided ||
		!strings.Contains(v.Answer, "lies free in the C heap") {
		t.Errorf("by little: %s", v.Answer)
	}
	run := recordedRun(t, "heap-settles")
	held, heap := run.Samples.Column(record.ColFootprint), run.Samples.Column(record.ColHostHeap)
	for i, at := range run.Samples.Column(record.ColTime) {
		held[i] += 3000 * at
		heap[i] += 3000 * at
	}
	if v := Judge(run, Options{}); v.Verdict != HostGrowth {
		t.Errorf("and a leak beside it: %s", v.Answer)
	}
}
