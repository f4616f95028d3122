//go:build unix

package tracer

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// broken panics when the recording asks it something, once told to.
type broken struct{ now chan struct{} }

func (b broken) Read(_ []int, dst []probe.Charge) ([]probe.Charge, error) {
	b.panic("the driver's answer makes no sense")
	return dst, nil
}

func (b broken) Close() {}

func (b broken) Poll() error {
	b.panic(errors.New("a slot that cannot be"))
	return nil
}

func (b broken) Cells(int) []record.Cell { return nil }

func (b broken) show(Progress) { b.panic("no terminal") }

func (b broken) watch(ctx context.Context, _ int, emit func(record.Event)) {
	<-b.now
	var none *record.Event
	emit(*none)
}

func (b broken) panic(p any) {
	select {
	case <-b.now:
		panic(p)
	default:
	}
}

func TestAPanicEndsTheRecordingAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(*Config, broken)
		says   string
	}{
		"of a GPU source":  {func(c *Config, b broken) { c.GPU = b }, "the driver's answer makes no sense"},
		"of a cell source": {func(c *Config, b broken) { c.Cells = b }, "a slot that cannot be"},
		"of the progress":  {func(c *Config, b broken) { c.Progress = b.show }, "no terminal"},
		"of a watcher":     {func(c *Config, b broken) { c.Watch = append(c.Watch, b.watch) }, "nil pointer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := childConfig(t, "copy")
			b := broken{make(chan struct{})}
			c.breaks(&cfg, b)
			in, feed := pipe(t)
			out, copied := pipe(t)
			cfg.Stdin, cfg.Stdout = in, copied
			ended := make(chan Result)
			go func() {
				res, _ := Run(context.Background(), cfg)
				ended <- res
			}()
			expectEcho(t, feed, out, "before")
			close(b.now)
			until(t, "a warning is the last event", func() bool { return lastIsWarning(cfg.Out) })
			expectEcho(t, feed, out, "after") // the program runs on
			feed.Close()
			res := <-ended
			checkBroken(t, res, c.says)
		})
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// expectEcho has the program copy a word.
func expectEcho(t *testing.T, in, out *os.File, word string) {
	t.Helper()
	if _, err := io.WriteString(in, word); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(word))
	if _, err := io.ReadFull(out, got); err != nil || string(got) != word {
		t.Fatalf("copied %q, %v", got, err)
	}
}

func lastIsWarning(dir string) bool {
	run, err := record.Open(dir) // while it is written
	return err == nil && len(run.Events) > 0 && run.Events[len(run.Events)-1].Kind == record.KindWarning
}

// checkBroken looks at a run that ended well and whose recording did not.
func checkBroken(t *testing.T, res Result, says string) {
	t.Helper()
	run, err := record.Open(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 0 || run.Meta.ExitCode == nil || *run.Meta.ExitCode != 0 || run.Meta.End == nil {
		t.Errorf("%+v", res)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], says) ||
		!strings.Contains(res.Warnings[0], "internal error of gpumem") ||
		!strings.Contains(res.Warnings[0], "(guard_test.go:") {
		t.Errorf("warnings %q", res.Warnings)
	}
	if !lastIsWarning(res.Dir) {
		t.Errorf("the recording went on: %+v", run.Events)
	}
}

func TestAPanicEndsWhatWasAttached(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "")
	exe := cfg.Command[0]
	cmd := exec.Command(exe)
	cmd.Env = childEnv("forever")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	now := make(chan struct{})
	close(now)
	cfg.GPU = broken{now}
	res, err := Attach(context.Background(), cmd.Process.Pid, cfg)
	if err != nil || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "internal error of gpumem") {
		t.Errorf("%+v, %v", res, err)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process went with the recording: %v", err)
	}
}

func TestAPanicWhileAnAgentIsHeardEndsTheRecordingAndNothingElse(t *testing.T) {
	t.Parallel()
	s := &attempt{recording: newRecording(Config{}, nil, agent.NewClock(), 0), done: make(chan struct{})}
	listener{r: s.recording, concludes: &s.concludes}.Message(nil, nil)
	select {
	case <-s.failed:
	case <-time.After(time.Minute):
		t.Fatal("the recording did not end")
	}
	if len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "internal error of gpumem") {
		t.Errorf("%q", s.warnings)
	}
	s.guard(func() { panic("a second one") })
	if len(s.warnings) != 1 {
		t.Errorf("%q", s.warnings)
	}
}
