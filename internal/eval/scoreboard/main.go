// Command scoreboard measures package verdict on traces with a known truth
// and prints what it found beside simpler rules:
//
//	go run ./internal/eval/scoreboard            # the published figures
//	go run ./internal/eval/scoreboard -n 520 -healthy 100 # fewer traces
//	go run ./internal/eval/scoreboard -calibrate # prints report/finding/calibration_table.go
//
// The engine is tuned and its confidence calibrated on seeds below
// corpus.Publish; the figures come from others.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
)

func main() {
	n := flag.Int("n", 6160, "synthetic traces")
	seed := flag.Uint64("seed", corpus.Publish, "seed of the synthetic traces")
	driven := flag.Int("driven", 1000, "growing traces with known driving units")
	healthy := flag.Int("healthy", 1000, "further healthy traces of each regime, for false alarms")
	calibrate := flag.Bool("calibrate", false, "fit the confidence on tuning seeds and print the table")
	flag.Parse()
	w := bufio.NewWriter(os.Stdout)
	err := run(w, options{*n, *healthy, *driven, *seed, *calibrate})
	if e := w.Flush(); err == nil {
		err = e
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scoreboard:", err)
		os.Exit(1)
	}
}

type options struct {
	n, healthy, driven int
	seed               uint64
	calibrate          bool
}

func run(w io.Writer, o options) error {
	if o.calibrate {
		return writeTable(w, judgeAll(corpus.Generate(1, o.n)))
	}
	start := time.Now()
	main := judgeAll(corpus.Generate(o.seed, o.n))
	fmt.Fprintf(w, "%d synthetic traces, seed %d\n\n", o.n, o.seed)
	printConfusion(w, main)
	printDetection(w, main)
	printRegimes(w, main)
	printHealthy(w, o.seed+1, o.healthy)
	printEstimates(w, main)
	printDriven(w, o.seed, o.driven)
	printOnline(w, main[:min(len(main), 520)])
	printAdversarial(w, judgeAll(corpus.Adversarial(o.seed)))
	real, err := corpus.Real()
	if err != nil {
		return err
	}
	printReal(w, judgeAll(real))
	fmt.Fprintf(w, "\nin all %.0f s\n", time.Since(start).Seconds())
	return nil
}

// result is one trace with what was said of it.
type result struct {
	*corpus.Trace
	verdict *verdict.Verdict
	cost    time.Duration
	rules   [len(baselines)]bool // alarm by baseline
}

func (r *result) grows() bool { return r.Truth != corpus.None && r.Truth != corpus.Undecided }

func (r *result) right() bool { return r.Right(string(r.verdict.Verdict)) }

// alarmed reports whether the verdict is a growth.
func (r *result) alarmed() bool {
	return r.verdict.Verdict != verdict.None && r.verdict.Verdict != verdict.Undecided
}

// judgeAll judges traces, in order.
func judgeAll(traces []*corpus.Trace) []*result {
	out := make([]*result, len(traces))
	each(len(traces), func(i int) {
		t := traces[i]
		start := time.Now()
		v := verdict.Judge(t.Run, verdict.Options{})
		out[i] = &result{Trace: t, verdict: v, cost: time.Since(start)}
		for b := range baselines {
			out[i].rules[b] = baselines[b].alarm(t.Run)
		}
	})
	return out
}

// each does f for 0 to n-1 on two workers at most.
func each(n int, f func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(2, runtime.NumCPU()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				f(i)
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
