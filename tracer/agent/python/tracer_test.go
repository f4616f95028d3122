//go:build !windows

package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/agent/python"
)

// interpreter is the python3 that runs the programs: GPUMEM_TEST_PYTHON, or
// the one on PATH. Its absence fails the test: a machine that tests this
// package has one.
func interpreter(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	if p := os.Getenv("GPUMEM_TEST_PYTHON"); p != "" {
		return p
	}
	p, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("no python3 on PATH, and the tests of the Python agent run real programs: %v", err)
	}
	return p
}

// told is what one process said, in order.
type told struct {
	hellos  []agent.Hello
	samples []map[string]int64
	marks   []agent.Mark
	dones   []agent.Done
}

// last is a column's value in the last sample that has it.
func (p *told) last(t *testing.T, column string) int64 {
	t.Helper()
	for _, s := range slices.Backward(p.samples) {
		if v, ok := s[column]; ok {
			return v
		}
	}
	t.Fatalf("no sample has %s", column)
	return 0
}

// phases are the names of phase marks.
func (p *told) names(kind string) []string {
	var names []string
	for _, m := range p.marks {
		if m.Kind == kind {
			names = append(names, m.Name)
		}
	}
	return names
}

// tracer is a Handler that keeps what it hears and, at the phase exiting, asks
// for actions one by one.
type tracer struct {
	ask  []string
	mute bool          // asks for nothing, and releases nobody
	slow time.Duration // says heard for so long before it asks

	mu    sync.Mutex
	procs map[int]*told
	asked map[int]int
	gone  int // connections that ended; a process here has one
	wrong []error
}

func (r *tracer) Message(c *agent.Conn, m *agent.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[c.PID()]
	if p == nil {
		p = &told{}
		r.procs[c.PID()] = p
	}
	switch {
	case m.Hello != nil:
		p.hellos = append(p.hellos, *m.Hello)
	case m.Sample != nil:
		row := map[string]int64{"t_ns": m.Sample.TNs}
		for _, cell := range m.Sample.Cells {
			row[cell.Column] = cell.Value
		}
		p.samples = append(p.samples, row)
	case m.Mark != nil:
		p.marks = append(p.marks, *m.Mark)
		if m.Mark.Kind == "phase" && m.Mark.Name == agent.PhaseExiting {
			r.next(c)
		}
	case m.Done != nil:
		p.dones = append(p.dones, *m.Done)
		r.next(c)
	}
}

// next asks a process for the next action. The caller holds mu.
func (r *tracer) next(c *agent.Conn) {
	if r.mute {
		return
	}
	if slow := r.slow; slow > 0 {
		r.slow = 0
		go func() {
			for begun := time.Now(); time.Since(begun) < slow; time.Sleep(slow / 10) {
				_ = c.Heard() // a process that is gone is told by what it did not answer
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.next(c)
		}()
		return
	}
	n := r.asked[c.PID()]
	r.asked[c.PID()]++
	action := agent.ActionContinue
	if n < len(r.ask) {
		action = r.ask[n]
	}
	// A process that did not hold is gone by now, which is no fault.
	_, _ = c.Do(action)
}

func (r *tracer) Gone(_ *agent.Conn, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone++
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
}

func (r *tracer) Refused(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, err)
}

// traced is how to run a program.
type traced struct {
	args    []string // of the interpreter; a program of tests/programs first
	env     []string // added last
	ask     []string // actions at the exit; with any, the program holds
	mute    bool     // see tracer
	slow    time.Duration
	without bool     // no GPUMEM_AGENT: the run to compare with
	path    []string // more folders for PYTHONPATH
	python  string   // an interpreter with real frameworks, instead of ours with the fakes
}

// outcome is a run program.
type outcome struct {
	pid            int
	code           int
	stdout, stderr string
	tracer         *tracer
}

// main is what the started process itself said. It waits until the tracer has
// read all that the ended program, and its children, sent.
func (o *outcome) main(t *testing.T) *told {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		o.tracer.mu.Lock()
		p, all := o.tracer.procs[o.pid], o.tracer.gone == len(o.tracer.procs)
		o.tracer.mu.Unlock()
		if p != nil && all {
			return p
		}
	}
	t.Fatalf("the program never said hello; stderr: %s", o.stderr)
	return nil
}

// run runs a program under a tracer of the real protocol until it ends.
func run(t testing.TB, how traced) *outcome {
	t.Helper()
	tr := &tracer{ask: how.ask, mute: how.mute, slow: how.slow, procs: map[int]*told{}, asked: map[int]int{}}
	server, err := agent.Listen(tr, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "agent")
	added, err := python.Install(dir)
	if err != nil {
		t.Fatal(err)
	}
	python3, path := how.python, append([]string{added[python.EnvPath]}, how.path...)
	if python3 == "" {
		python3, path = interpreter(t), append(path, fakes(t))
	}
	// A program that hangs shall fail its own test, and soon.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python3, how.args...)
	cmd.Dir = filepath.Join("tests", "programs")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+strings.Join(path, ":"), "PYTHONDONTWRITEBYTECODE=1")
	if !how.without {
		cmd.Env = append(cmd.Env, agent.EnvSocket+"="+server.Path(), agent.EnvInterval+"=20")
	}
	if len(how.ask) > 0 {
		cmd.Env = append(cmd.Env, agent.EnvHold+"=1")
	}
	cmd.Env = append(cmd.Env, how.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, err := range tr.wrong {
			t.Errorf("tracer: %v", err)
		}
	})
	return &outcome{
		pid: cmd.Process.Pid, code: cmd.ProcessState.ExitCode(),
		stdout: stdout.String(), stderr: stderr.String(), tracer: tr,
	}
}

// fakes is the folder of the stand-ins for the frameworks.
func fakes(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("tests", "fakes"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// detail decodes a done's detail.
func detail[T any](t *testing.T, d agent.Done, key string) []T {
	t.Helper()
	if d.Error != "" {
		t.Fatalf("done %d: %s", d.ID, d.Error)
	}
	return list[T](t, d.Detail, key)
}

// list decodes one list of a detail.
func list[T any](t *testing.T, detail json.RawMessage, key string) []T {
	t.Helper()
	var lists map[string][]T
	if err := json.Unmarshal(detail, &lists); err != nil {
		t.Fatalf("detail %s: %v", detail, err)
	}
	return lists[key]
}
