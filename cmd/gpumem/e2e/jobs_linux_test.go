package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// jobShell is a terminal with an interactive bash in it, which has job control.
// $run traces a program without a screen.
func jobShell(t *testing.T) *terminal {
	t.Helper()
	term := newTerminal(t, 100, 40)
	term.typed("exec bash --norc --noprofile")
	term.typed(`run='` + binary + ` run -q --no-tui --'; PS1='next> '; clear`)
	term.sees("a prompt", `^next>\s*$`)
	return term
}

// step is what a person does at a terminal, and what must come of it.
type step struct {
	keys, line string // either
	sees       string
	// has is the program that the terminal must belong to then: what is typed
	// before that is the shell's.
	has string
}

func (term *terminal) does(steps []step) {
	term.t.Helper()
	for _, s := range steps {
		if s.keys != "" {
			term.keys(s.keys)
		} else {
			term.typed(s.line)
		}
		if s.sees == "" && s.has == "" {
			continue // the terminal may be gone
		}
		term.sees(s.keys+s.line, s.sees)
		until(term.t, "the terminal is "+s.has+"'s", func() bool {
			return s.has == "" ||
				strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_current_command}")) == s.has
		})
	}
}

// Once a program in the background wants the terminal, its job is stopped.
const (
	untilStopped = `until [[ $(jobs) == *Stopped* ]]; do sleep 0.1; done`
	inBackground = `clear; $run cat 2>/dev/null & ` + untilStopped
)

func TestAProgramStartedInTheBackgroundGetsTheTerminalInTheForeground(t *testing.T) {
	t.Parallel()
	const stopped = `\[1\]\+  Stopped +\$run cat`
	for name, c := range map[string]struct {
		end  string
		says string
	}{"Ctrl-D": {"C-d", "code 0"}, "Ctrl-C": {"C-c", "code 130"}, `Ctrl-\`: {`C-\`, "code 131"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := jobShell(t)
			term.does([]step{
				{line: inBackground, sees: `(?m)^next>$`},
				{line: "jobs", sees: stopped},
				{line: "clear; fg", sees: `^\$run cat`, has: "cat"},
				{line: "word-1", sees: `word-1\n(.*\n)?word-1`},
				{keys: "C-z", sees: stopped},
				{line: "clear; echo shell-$((1+1))", sees: `shell-2`},
				{line: "clear; fg", sees: `^\$run cat`, has: "cat"},
				{line: "word-2", sees: `word-2\n(.*\n)?word-2`},
				{keys: c.end, sees: `(?s)word-2.*next>\s*$`},
				{line: "echo code $?", sees: c.says},
			})
		})
	}
}

// The program is bash, which forks: a Ctrl-Z that comes between a vfork of dash and
// the exec stops the child alone, and dash waits for it, with gpumem or without.
func TestAStoppedProgramGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	term := jobShell(t)
	term.does([]step{
		{line: `clear; $run bash -c 'n=0; while [ ! -e end ]; do n=$((n+1)); echo $n > count; sleep 0.1; done; exit 5' 2>/dev/null`},
	})
	count := func() string { text, _ := os.ReadFile(filepath.Join(term.dir, "count")); return string(text) }
	until(t, "the program counts", func() bool { return count() > "1" })
	term.does([]step{{keys: "C-z", sees: `Stopped +\$run bash`}})
	before := count()
	term.does([]step{{line: "sleep 1; clear; echo still-$((1+1))", sees: "still-2"}})
	if now := count(); now != before {
		t.Errorf("the stopped program counted on, from %q to %q", before, now)
	}
	term.does([]step{{line: "bg", sees: `\[1\]\+ \$run bash`}})
	until(t, "the program counts in the background", func() bool { return count() != before })
	term.does([]step{
		{line: "clear; jobs", sees: `Running +\$run bash`},
		{line: "clear; fg", sees: `^\$run bash`, has: "gpumem"},
		{keys: "C-z", sees: `Stopped +\$run bash`},
		{line: "clear; touch end; fg; echo code $?", sees: "code 5"},
	})
}

func TestAProgramThatIgnoresCtrlZIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	term := jobShell(t)
	term.does([]step{
		{line: `clear; $run sh -c 'trap "" TSTP; echo ready-$((1+1)); cat; exit 5' 2>/dev/null`,
			sees: "ready-2"},
		{keys: "C-z", sees: `\^Z`},
		{line: "word", sees: `word\nword`},
		{keys: "C-d", sees: `next>\s*$`},
		{line: "echo code $?", sees: "code 5"},
	})
}

// TestAScriptInTheBackgroundStopsWithItsProgram has a shell without job control
// between the one that has it and gpumem.
func TestAScriptInTheBackgroundStopsWithItsProgram(t *testing.T) {
	t.Parallel()
	term := jobShell(t)
	script := binary + " run -q --no-tui -- cat 2>/dev/null\necho after $?\nread x\necho got $x\n"
	if err := os.WriteFile(filepath.Join(term.dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	term.does([]step{
		{line: "clear; bash script & " + untilStopped, sees: `(?m)^next>$`},
		{line: "clear; fg", sees: `^bash script`, has: "cat"},
		{line: "word-1", sees: `word-1\n(.*\n)?word-1`},
		{keys: "C-z", sees: `Stopped +bash script`},
		{line: "clear; fg", sees: `^bash script`, has: "cat"},
		{line: "word-2", sees: `word-2\n(.*\n)?word-2`},
		{keys: "C-d", sees: "after 0"},
		{line: "word-3", sees: "got word-3"},
	})
}

// TestCtrlZWithoutAShellThatContinuesStopsNothing has gpumem as the first
// process of its terminal.
func TestCtrlZWithoutAShellThatContinuesStopsNothing(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 40)
	term.does([]step{
		{line: "clear; exec " + binary + " run -q --no-tui -- sh -c 'echo ready-$((1+1)); exec cat'",
			sees: "ready-2"},
		{line: "word-1", sees: `word-1\nword-1`},
		{keys: "C-z", sees: `\^Z`},
		{line: "word-2", sees: `word-2\nword-2`},
		{keys: "C-c"},
	})
	until(t, "the end", func() bool {
		reports, _ := filepath.Glob(filepath.Join(term.dir, "gpumem-*", record.FileReport))
		return len(reports) == 1
	})
}
