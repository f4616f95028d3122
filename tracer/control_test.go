//go:build unix

package tracer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// controlled is a run that goes on, with the end of its stdin in our hand.
type controlled struct {
	*Control
	stdin *os.File
	done  chan struct{}
	dir   string
	res   Result
	err   error
}

func startControlled(t *testing.T, mode string) *controlled {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cfg := childConfig(t, mode)
	c := &controlled{Control: &Control{}, stdin: w, done: make(chan struct{}), dir: cfg.Out}
	cfg.Stdin, cfg.Control, cfg.Logs = r, c.Control, true
	go func() {
		defer close(c.done)
		defer r.Close()
		c.res, c.err = Run(context.Background(), cfg)
	}()
	t.Cleanup(func() { w.Close(); <-c.done })
	return c
}

func TestAProgramIsAskedForExperimentsWhileItRuns(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "leak wait")
	until(t, "the agent offers holders, its last",
		func() bool { return slices.Contains(c.Actions(), agent.ActionHolders) })
	receipt, err := c.Ask(agent.ActionPurge)
	if err != nil || receipt == nil {
		t.Fatalf("purge: %v, %v", receipt, err)
	}
	if receipt.ClaimedBytes == nil || *receipt.ClaimedBytes != 64<<20 || receipt.ReturnedBytes == nil ||
		*receipt.ReturnedBytes < 60<<20 {
		t.Errorf("claimed %v, returned %v; want 64 MiB and about as much", receipt.ClaimedBytes, receipt.ReturnedBytes)
	}
	for _, action := range []string{agent.ActionSites, agent.ActionHolders, agent.ActionSync} {
		if _, err := c.Ask(action); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
	if _, err := c.Ask("juggle"); !errors.Is(err, ErrNotOffered) {
		t.Errorf("juggle, which is not offered: %v", err)
	}
	if err := c.Mark("here"); err != nil {
		t.Error(err)
	}
	c.stdin.Close()
	<-c.done
	if c.err != nil || c.res.ExitCode != 0 || c.res.Left {
		t.Fatalf("%+v, %v", c.res, c.err)
	}
	if _, err := c.Ask(agent.ActionPurge); !errors.Is(err, ErrNotOffered) {
		t.Errorf("a run that has ended: %v", err)
	}
	run, err := record.Open(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range run.Events {
		kinds[e.Kind+" "+e.Name]++
	}
	// The survivors are asked for once more at the end.
	for kind, n := range map[string]int{"receipt purge": 1, "sites ": 2, "holders ": 2, "event here": 1} {
		if kinds[kind] != n {
			t.Errorf("%d events %q, want %d (%v)", kinds[kind], kind, n, kinds)
		}
	}
}

// TestAProgramThatGrowsOnIsStillSaidToHaveGivenBack has one take twice as much again
// while its receipt is measured.
func TestAProgramThatGrowsOnIsStillSaidToHaveGivenBack(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "leak wait again")
	until(t, "the agent offers holders, its last",
		func() bool { return slices.Contains(c.Actions(), agent.ActionHolders) })
	receipt, err := c.Ask(agent.ActionPurge)
	if err != nil || receipt == nil || receipt.ReturnedBytes == nil || *receipt.ReturnedBytes <= 0 {
		t.Errorf("%+v, %v: want that the purge gave something back", receipt, err)
	}
	c.stdin.Close()
}

func TestAProgramIsLeftRunning(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "tree 1")
	log := filepath.Join(c.dir, record.FileStdout)
	until(t, "the program says ready into its log", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && string(text) == "ready\n"
	})
	c.Leave()
	c.Leave() // once more is no harm
	<-c.done
	if c.err != nil || !c.res.Left || c.res.ExitCode != -1 {
		t.Fatalf("left %v, exit code %d, %v", c.res.Left, c.res.ExitCode, c.err)
	}
	if err := syscall.Kill(c.res.PID, 0); err != nil {
		t.Errorf("the program that was left is gone: %v", err)
	}
	run, err := record.Open(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	// Behind it, a child that is seen only then may be introduced.
	last := slices.IndexFunc(run.Events, func(e record.Event) bool { return e.Name == "left" })
	if last < 0 || run.Meta.End == nil || run.Meta.ExitCode != nil {
		t.Fatalf("events %+v, run.json %+v", run.Events, run.Meta)
	}
	for _, e := range run.Events[last+1:] {
		if e.Kind != record.KindProcess {
			t.Errorf("behind the end stands %+v", e)
		}
	}
}

func TestControlOutsideARunDoesNothing(t *testing.T) {
	t.Parallel()
	c := &Control{}
	if got := c.Actions(); got != nil {
		t.Errorf("actions %v", got)
	}
	if err := c.Mark("x"); err == nil {
		t.Error("a mark of no run was written")
	}
	if missed, lost := c.Lost(); missed != 0 || lost != 0 {
		t.Errorf("missed %d, lost %d", missed, lost)
	}
}

func TestWhatTheProgramWritesGoesToItsLogs(t *testing.T) {
	t.Parallel()
	c := startControlled(t, "copy")
	if _, err := c.stdin.WriteString("through\n"); err != nil {
		t.Fatal(err)
	}
	c.stdin.Close()
	<-c.done
	for name, want := range map[string]string{record.FileStdout: "through\n", record.FileStderr: "done 8 <nil>\n"} {
		if got, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
}
