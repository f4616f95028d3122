// Command fingerprint prints a hash of every answer of the engine, a line each:
// the verdicts on the synthetic and the recorded traces and on the run folders
// and CSV files below the folders given, the comparisons of neighbours, and the
// alarms of a live scan. Two engines whose lines are equal answer alike, byte
// for byte:
//
//	go run ./internal/eval/fingerprint report cmd tracer > before.txt
//	go run ./internal/eval/fingerprint report cmd tracer > after.txt
//	diff before.txt after.txt
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func main() {
	n := flag.Int("n", 8000, "synthetic traces")
	seed := flag.Uint64("seed", corpus.Publish, "seed of the synthetic traces")
	text := flag.Bool("text", false, "print the answers instead of their hashes")
	flag.Parse()
	w := bufio.NewWriter(os.Stdout)
	p := printer{w: w, text: *text}
	err := p.all(*n, *seed, flag.Args())
	if e := w.Flush(); err == nil {
		err = e
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fingerprint:", err)
		os.Exit(1)
	}
}

// question is one answer of the engine under a name.
type question struct {
	name string
	ask  func() any
}

type printer struct {
	w    *bufio.Writer
	text bool
}

func (p *printer) all(n int, seed uint64, dirs []string) error {
	traces := corpus.Generate(seed, n)
	traces = append(traces, corpus.Adversarial(seed)...)
	real, err := corpus.Real()
	if err != nil {
		return err
	}
	traces = append(traces, real...)
	var questions []question
	for i, t := range traces {
		questions = append(questions, judged(fmt.Sprintf("trace %d %s %s", i, t.Kind, t.Regime), t.Run))
	}
	for i := 0; i+1 < len(traces); i += 16 {
		a, b := traces[i].Run, traces[i+1].Run
		questions = append(questions, question{fmt.Sprintf("diff %d", i), func() any {
			return verdict.Diff(a, b, verdict.Options{})
		}})
	}
	for i := 0; i < len(traces); i += 50 {
		batch := traces[i:min(i+10, len(traces))]
		questions = append(questions, question{fmt.Sprintf("alarms %d", i), func() any {
			return alarms(batch)
		}})
	}
	for _, dir := range dirs {
		found, err := recordings(dir)
		if err != nil {
			return err
		}
		questions = append(questions, found...)
	}
	p.answer(questions)
	return nil
}

func judged(name string, run *record.Run) question {
	return question{name, func() any { return verdict.Judge(run, verdict.Options{}) }}
}

// recordings are the run folders and CSV files of samples below a folder.
func recordings(dir string) ([]question, error) {
	var out []question
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".csv") {
			return nil
		}
		if filepath.Base(path) == record.FileSamples {
			path = filepath.Dir(path)
		}
		run, err := record.Open(path)
		if err != nil {
			return nil // not ours
		}
		out = append(out, judged("recording "+path, run))
		return nil
	})
	return out, err
}

// alarms are those of a live scan of some processes, after each look.
func alarms(traces []*corpus.Trace) any {
	m := verdict.NewMonitor(verdict.Options{})
	var out [][]verdict.Alarm
	most := 0
	for _, t := range traces {
		most = max(most, t.Run.Samples.Len())
	}
	for row := range most {
		for pid, t := range traces {
			if row < t.Run.Samples.Len() {
				add(m, pid+1, t.Run.Samples, row)
			}
		}
		if row%60 == 59 {
			out = append(out, m.Look())
		}
	}
	return out
}

func add(m *verdict.Monitor, pid int, s *record.Samples, row int) {
	at := s.Column(record.ColTime)
	if at == nil {
		return
	}
	var cells []record.Cell
	for _, name := range s.Names() {
		if v := s.Column(name)[row]; name != record.ColTime && name != record.ColPID && v == v {
			cells = append(cells, record.Cell{Column: name, Value: int64(v)})
		}
	}
	m.Add(pid, at[row], cells...)
}

// answer asks all questions on all processors and prints them in order.
func (p *printer) answer(questions []question) {
	lines := make([]string, len(questions))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range next {
				lines[i] = p.line(questions[i])
			}
		})
	}
	for i := range questions {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, l := range lines {
		fmt.Fprintln(p.w, l)
	}
}

func (p *printer) line(q question) (line string) {
	defer func() {
		if r := recover(); r != nil {
			line = fmt.Sprintf("%s: panic: %v", q.name, r)
		}
	}()
	b, err := json.Marshal(q.ask())
	switch {
	case err != nil:
		return q.name + ": " + err.Error()
	case p.text:
		return q.name + ": " + string(b)
	}
	return fmt.Sprintf("%s: %x", q.name, sha256.Sum256(b))
}
