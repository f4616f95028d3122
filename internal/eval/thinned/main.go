// Command thinned prints how often the verdict on a thinned run equals that on the
// whole: on synthetic traces, on the recorded ones, and on the recordings below the
// folders given, within the default of --keep and the least that it takes.
//
//	go run ./internal/eval/thinned report cmd tracer
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func main() {
	n := flag.Int("n", 8000, "synthetic traces")
	seed := flag.Uint64("seed", corpus.Publish, "seed of the synthetic traces")
	long := flag.Int("long", 400, "synthetic traces with more rows")
	times := flag.Int("times", 64, "how many times the rows these have")
	changes := flag.Bool("changes", false, "print each verdict that changes")
	flag.Parse()
	e := evaluation{out: os.Stdout, changes: *changes}
	keeps := []keep{{record.DefaultKeep, 1}, {record.LeastKeep, 1}}
	e.print("synthetic", *n, keeps, func(i int) *corpus.Trace {
		return corpus.One(*seed, i)
	})
	e.print(fmt.Sprintf("synthetic, %d times the rows", *times), *long,
		[]keep{{record.LeastKeep, 1}, {record.DefaultKeep, 64}}, func(i int) *corpus.Trace {
			return corpus.LongOne(*seed, i, *times)
		})
	recorded, err := recordings(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "thinned:", err)
		os.Exit(1)
	}
	e.print("recorded", len(recorded), keeps, func(i int) *corpus.Trace { return recorded[i] })
}

// recordings are the recorded traces, and the run folders and CSV files below some
// folders.
func recordings(dirs []string) ([]*corpus.Trace, error) {
	all, err := corpus.Real()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".csv") {
				return err
			}
			if filepath.Base(path) == record.FileSamples {
				path = filepath.Dir(path)
			}
			if run, err := record.Open(path); err == nil { // else it is not ours
				all = append(all, &corpus.Trace{Kind: path, Run: run})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// keep is a bound of a run, and how many processes like this one the run has.
type keep struct {
	bound, processes int64
}

// room is what a thinned run has for the samples of one process, in bytes: see
// record.CreateOptions.
func (k keep) room() int64 { return k.bound * 3 / 16 / k.processes }

func (k keep) String() string {
	if k.processes == 1 {
		return fmt.Sprintf("--keep %dMiB", k.bound>>20)
	}
	return fmt.Sprintf("--keep %dMiB, one of %d processes", k.bound>>20, k.processes)
}

// evaluation compares verdicts.
type evaluation struct {
	out     io.Writer
	changes bool
}

// outcome is how the verdicts on one trace compare.
type outcome struct {
	rows, left   int
	equal        bool
	right, later bool // the verdict on the whole, and on what was left
	change       string
}

// print compares the verdicts on n traces, under each bound.
func (e *evaluation) print(name string, n int, keeps []keep, trace func(int) *corpus.Trace) {
	list := make([][]outcome, n)
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		all.Go(func() {
			for i := range next {
				list[i] = compare(trace(i), keeps)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	for i, k := range keeps {
		e.table(name+", "+k.String(), list, i)
	}
}

// compare judges a trace whole and under each bound.
func compare(t *corpus.Trace, keeps []keep) []outcome {
	whole := verdict.Judge(t.Run, verdict.Options{})
	out := make([]outcome, len(keeps))
	for i, k := range keeps {
		o := outcome{rows: t.Run.Samples.Len(), right: t.Right(string(whole.Verdict))}
		run := *t.Run
		samples, err := record.Thin(t.Run.Samples, t.Run.Events, k.room())
		if err != nil {
			samples = t.Run.Samples // without times nothing is thinned
		}
		run.Samples = samples
		v := verdict.Judge(&run, verdict.Options{})
		o.left, o.equal, o.later = samples.Len(), v.Verdict == whole.Verdict, t.Right(string(v.Verdict))
		if !o.equal {
			o.change = fmt.Sprintf("%s %s, truth %s: %s %.2f became %s %.2f, %d of %d rows", t.Kind, t.Regime,
				cmp.Or(t.Truth, "unknown"), whole.Verdict, whole.Confidence, v.Verdict,
				v.Confidence, o.left, o.rows)
		}
		out[i] = o
	}
	return out
}

// table prints how the verdicts under one bound compare: of all traces, and apart of
// those that it leaves as they were and of those that it thins.
func (e *evaluation) table(name string, list [][]outcome, part int) {
	type line struct{ traces, equal, right, later int }
	lines := map[int]*line{}
	add := func(key int, o *outcome) {
		l := lines[key]
		if l == nil {
			l = &line{}
			lines[key] = l
		}
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		l.traces++
		count(&l.equal, o.equal)
		count(&l.right, o.right)
		count(&l.later, o.later)
	}
	for i := range list {
		o := &list[i][part]
		key := 0
		if o.left < o.rows {
			key = 1
		}
		add(key, o)
		add(-1, o)
		if e.changes && !o.equal {
			fmt.Fprintln(e.out, name+":", o.change)
		}
	}
	keys := make([]int, 0, len(lines))
	for key := range lines {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		l, of := lines[key], "all"
		if key >= 0 {
			of = [...]string{"not thinned", "thinned"}[key]
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(l.traces) }
		fmt.Fprintf(e.out, "%-62s %-12s %5d traces  equal %6.2f %%  right whole %6.2f %%  thinned %6.2f %%\n",
			name, of, l.traces, share(l.equal), share(l.right), share(l.later))
	}
}
