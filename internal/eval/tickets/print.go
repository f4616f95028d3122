package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// tally counts verdicts at one time.
type tally struct {
	faulty, right, missed, open, wrong     int
	healthy, accused, openHealthy, causes  int
	holders, holder, headline, line, cause int
	next                                   int
}

// printTable judges the recordings and prints a row for each program and a sum.
func (c *course) printTable(w io.Writer, truths []truth, details bool) error {
	sums := make([]tally, len(c.at))
	for i := range truths {
		t := &truths[i]
		fmt.Fprintf(w, "%-30s %-12s", t.name, t.class)
		var last *verdict.Verdict
		var marks score
		var answers strings.Builder
		for n, seconds := range c.at {
			run, err := cutRun(filepath.Join(c.out, t.name), seconds)
			if err != nil {
				return err
			}
			last = verdict.Judge(run, verdict.Options{})
			marks = t.judge(last)
			sums[n].add(t, last, marks)
			fmt.Fprintf(w, " %-12s", last.Verdict)
			fmt.Fprintf(&answers, "    %s: %s\n", when(seconds), last.Answer)
		}
		fmt.Fprintf(w, " %s\n", marks.words(t, last))
		for _, warning := range last.Warnings {
			if strings.Contains(warning, "the Python agent had") {
				fmt.Fprintf(w, "    a fault of gpumem's: %s\n", warning)
			}
		}
		if details {
			fmt.Fprintf(w, "%s    next: %s\n", answers.String(), last.Next)
		}
	}
	for n, seconds := range c.at {
		sums[n].print(w, seconds)
	}
	return nil
}

// words are what else is right of a verdict, or named although nothing leaks.
func (s score) words(t *truth, v *verdict.Verdict) string {
	var ids []string
	for _, c := range v.Causes {
		ids = append(ids, c.ID)
	}
	named := strings.Join(ids, " ")
	if !t.faulty() {
		return named
	}
	mark := func(ok bool, word string) string {
		if ok {
			return word
		}
		return "no " + word
	}
	return strings.Join([]string{mark(s.holder, "holder"), mark(s.headline, "in the answer"),
		mark(s.line, "line"), mark(s.cause, "cause") + " (" + named + ")", mark(s.next, "next step")}, ", ")
}

// add counts a verdict.
func (y *tally) add(t *truth, v *verdict.Verdict, s score) {
	if !t.faulty() {
		y.healthy++
		y.accused += count(v.Verdict != verdict.None && v.Verdict != verdict.Undecided)
		y.openHealthy += count(v.Verdict == verdict.Undecided)
		y.causes += count(len(v.Causes) > 0)
		return
	}
	y.faulty++
	y.right += count(s.class)
	y.open += count(s.got == verdict.Undecided)
	y.missed += count(s.got == verdict.None)
	y.wrong += count(!s.class && s.got != verdict.None && s.got != verdict.Undecided)
	y.holders += count(len(t.holders) > 0)
	y.holder += count(s.holder)
	y.headline += count(s.headline)
	y.line += count(s.line)
	y.cause += count(s.cause)
	y.next += count(s.next)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// when says at which time a program was judged.
func when(seconds int) string {
	if seconds > 0 {
		return fmt.Sprintf("after %d s", seconds)
	}
	return "at the end"
}

// print prints the sum of one time.
func (y *tally) print(w io.Writer, seconds int) {
	fmt.Fprintf(w, "%s: of %d faulty %d right, %d undecided, %d missed, %d of a wrong class; "+
		"of %d healthy %d accused, %d undecided, %d with a cause\n", when(seconds), y.faulty, y.right, y.open,
		y.missed, y.wrong, y.healthy, y.accused, y.openHealthy, y.causes)
	fmt.Fprintf(w, "    holder %d of %d (in the answer %d), line in the answer %d of %d, cause %d, "+
		"next step %d\n", y.holder, y.holders, y.headline, y.line, y.faulty, y.cause, y.next)
}

// cutRun reads a recording as it was so many seconds after the program's device came to
// life, or after the start of one that has none, as if the program had been killed then;
// whole for 0.
func cutRun(dir string, seconds int) (*record.Run, error) {
	run, err := record.Open(dir)
	if err != nil || seconds == 0 {
		return run, err
	}
	until := deviceBegan(run.Samples) + float64(seconds)*1000
	samples, err := cutSamples(filepath.Join(dir, record.FileSamples), until)
	if err != nil {
		return nil, err
	}
	run.Samples = samples
	var events []record.Event
	for _, e := range run.Events {
		if e.TMs <= until {
			events = append(events, e)
		}
	}
	run.Events = events
	run.Meta.End, run.Meta.ExitCode = nil, nil
	return run, nil
}
