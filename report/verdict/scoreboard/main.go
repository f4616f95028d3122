// Command scoreboard measures package verdict on traces with a known truth
// and prints what it found beside simpler rules:
//
//	go run ./report/verdict/scoreboard            # the published figures
//	go run ./report/verdict/scoreboard -n 520     # fewer traces
//	go run ./report/verdict/scoreboard -calibrate # prints calibration_table.go
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

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/report/verdict/corpus"
)

func main() {
	n := flag.Int("n", 6160, "synthetic traces")
	seed := flag.Uint64("seed", corpus.Publish, "seed of the synthetic traces")
	calibrate := flag.Bool("calibrate", false, "fit the confidence on tuning seeds and print the table")
	flag.Parse()
	w := bufio.NewWriter(os.Stdout)
	err := run(w, *n, *seed, *calibrate)
	if e := w.Flush(); err == nil {
		err = e
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scoreboard:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, n int, seed uint64, calibrate bool) error {
	if calibrate {
		return writeTable(w, judgeAll(corpus.Generate(1, n)))
	}
	start := time.Now()
	main := judgeAll(corpus.Generate(seed, n))
	fmt.Fprintf(w, "%d synthetic traces, seed %d\n\n", n, seed)
	printConfusion(w, main)
	printDetection(w, main)
	printRegimes(w, main)
	printEstimates(w, main)
	printOnline(w, main[:min(len(main), 520)])
	printAdversarial(w, judgeAll(corpus.Adversarial(seed)))
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

// judgeAll judges traces on two workers at most, in order.
func judgeAll(traces []*corpus.Trace) []*result {
	out := make([]*result, len(traces))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(2, runtime.NumCPU()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				t := traces[i]
				start := time.Now()
				v := verdict.Judge(t.Run, verdict.Options{})
				out[i] = &result{Trace: t, verdict: v, cost: time.Since(start)}
				for b := range baselines {
					out[i].rules[b] = baselines[b].alarm(t.Run)
				}
			}
		}()
	}
	for i := range traces {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}
