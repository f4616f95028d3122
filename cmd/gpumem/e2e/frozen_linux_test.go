package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// TestARecordingThatIsFrozenWithItsProgramGoesOn: nobody runs for seconds, as when the
// machine is suspended or a control group frozen. Here the clock goes on meanwhile, which
// it does not while a machine is suspended.
func TestARecordingThatIsFrozenWithItsProgramGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(binary, "run", "-q", "--no-tui", "--out", "run", "--", "sh", "-c",
		`i=0; while [ $i -lt 80 ]; do i=$((i+1)); sleep .05; done; echo all; exit 5`)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout = dir, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	at := filepath.Join(dir, "run")
	rows := func() []float64 {
		run, err := record.Open(at)
		if err != nil || run.Samples.Len() == 0 {
			return nil
		}
		return run.Samples.Column(record.ColTime)
	}
	for end := time.Now().Add(time.Minute); len(rows()) < 20; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("there are no rows")
		}
	}
	const frozen = 3 * time.Second
	run, err := record.Open(at)
	if err != nil || run.Meta.PID == 0 {
		t.Fatalf("the program's PID is not known: %v", err)
	}
	all := []int{cmd.Process.Pid, run.Meta.PID}
	for _, pid := range all {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	time.Sleep(frozen)
	for _, pid := range all {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 5 || out.String() != "all\n" {
		t.Errorf("code %d, %q", code, out.String())
	}
	times, widest := rows(), 0.
	for i := 1; i < len(times); i++ {
		if times[i] < times[i-1] {
			t.Errorf("row %d is before the one before it", i)
		}
		widest = max(widest, times[i]-times[i-1])
	}
	if gap := time.Duration(widest) * time.Millisecond; gap < frozen-frozen/4 || len(times) < 40 {
		t.Errorf("%d rows, the widest gap is %s", len(times), gap)
	}
	if v := readVerdict(t, at); v.Verdict != account.None && v.Verdict != account.Undecided {
		t.Errorf("accused: %s", v.Summary)
	}
}
