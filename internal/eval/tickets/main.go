// Command tickets runs programs that were written from public tickets about leaks, each
// with a healthy twin, under gpumem, and prints what it says of them 10 and 20 seconds
// after their device came to life, and at their end, beside the truth that stands in each
// program's head.
//
//	go build -o /tmp/gpumem ./cmd/gpumem
//	go run ./internal/eval/tickets -gpumem /tmp/gpumem -out /tmp/tickets
//
// Without -gpumem it judges anew what lies in -out. The programs need python3 with
// PyTorch, and JAX and MLX below $GPUMEM_TEST_FRAMEWORKS; frame_history wants pandas. Those in
// the folders whose names begin with gpu want a device: -programs internal/eval/tickets/gpu. What
// is in gpu3, gpu6 to gpu137, programs3 and cpu1 to cpu22 was written without a look at how gpumem
// decides, and so was what is in programs5, from memory of tickets and of common practice; what is
// in programs4 was written from tickets, with a knowledge of that, before its first run. What is in
// gpu6held ran for the first time after the rules that came of gpu6. The folder kept has a small
// program for each way to keep something, without a twin, and sessions has desks whose visitors stay
// for a while, which the rules for sessions were made with.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// course is how the programs are run.
type course struct {
	gpumem, python, programs, out string
	seconds, atOnce               int
	at                            []int // seconds after which each program is judged; 0 is its end
}

func main() {
	var c course
	flag.StringVar(&c.gpumem, "gpumem", "", "gpumem; empty to judge what was recorded before")
	flag.StringVar(&c.python, "python", "python3", "interpreter, one that has PyTorch")
	flag.StringVar(&c.programs, "programs", "internal/eval/tickets/programs", "folder of the programs")
	flag.StringVar(&c.out, "out", "tickets", "folder of the recordings")
	flag.IntVar(&c.seconds, "seconds", 40, "that each program runs")
	flag.IntVar(&c.atOnce, "at-once", 2, "programs that run at the same time")
	c.at = []int{10, 20, 0}
	flag.Func("at", "seconds after which each program is judged, 0 for its end (default 10,20,0)", c.judgeAt)
	details := flag.Bool("details", false, "print the answers and the next step of each program")
	flag.Parse()
	truths, err := readTruths(c.programs)
	if err == nil && c.gpumem != "" {
		err = c.record(truths)
	}
	// A program that failed was recorded as well; the others are of use in any case.
	truths = slices.DeleteFunc(truths, func(t truth) bool { return !c.isRecorded(t.name) })
	if err = errors.Join(err, c.printTable(os.Stdout, truths, *details)); err != nil {
		fmt.Fprintln(os.Stderr, "tickets:", err)
		os.Exit(1)
	}
}

// judgeAt reads the moments at which each program is judged.
func (c *course) judgeAt(list string) error {
	c.at = nil
	for word := range strings.SplitSeq(list, ",") {
		seconds, err := strconv.Atoi(word)
		if err != nil || seconds < 0 {
			return fmt.Errorf("%q is no number of seconds; write them as in 10,20,0", word)
		}
		c.at = append(c.at, seconds)
	}
	return nil
}

// isRecorded reports whether there is a recording of a program.
func (c *course) isRecorded(name string) bool {
	_, err := os.Stat(filepath.Join(c.out, name, "run.json"))
	return err == nil
}

// record runs all programs, some at the same time.
func (c *course) record(truths []truth) error {
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	turn := make(chan struct{}, c.atOnce)
	errs := make([]error, len(truths))
	var all sync.WaitGroup
	for i := range truths {
		turn <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = c.recordOne(&truths[i])
			<-turn
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

// recordOne runs one program under gpumem.
func (c *course) recordOne(t *truth) error {
	cmd := exec.Command(c.gpumem, "run", "-q", "--no-tui", "--force", "--out",
		filepath.Join(c.out, t.name), "--", c.python, t.path)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SECONDS=%d", c.seconds), "OMP_NUM_THREADS=1")
	if t.jax {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+os.Getenv("GPUMEM_TEST_FRAMEWORKS"))
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", t.name, err, text)
	}
	return nil
}
