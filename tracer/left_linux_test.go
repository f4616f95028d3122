package tracer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// childLeave starts a process in a session of its own that holds so many MiB until
// stdin ends, and leaves it behind. The one that holds next to nothing is a shell: this
// binary alone, built with the race detector, holds some 16 MiB.
func childLeave(a []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	cmd := exec.Command(exe)
	if a[0] == "0" {
		cmd = exec.Command("sh", "-c", "echo ready; read line; exit 0")
	}
	cmd.Env, cmd.Stdin = childEnv("hold "+a[0]), os.Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	bufio.NewReader(out).ReadString('\n')
	return 0
}

// childHold holds so many MiB until stdin ends.
func childHold(a []string) int {
	held := make([]byte, atoi(a[0])<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return int(held[0]) - 1
}

// leftBy are the processes that a program's run says were left behind.
func leftBy(t *testing.T, mode string) (left []record.Event, warnings []string) {
	t.Helper()
	in, hold := pipe(t)
	defer hold.Close()
	cfg := childConfig(t, mode)
	cfg.Stdin = in
	res, err := Run(context.Background(), cfg)
	if err != nil || res.ExitCode != 0 {
		t.Fatal(res.ExitCode, err)
	}
	run, err := record.Open(res.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range run.Events {
		if e.Kind == record.KindLeft {
			left = append(left, e)
		}
	}
	if len(left) > 0 {
		rows := 0
		for i, pid := range run.Samples.Column(record.ColPID) {
			if int(pid) == left[0].PID && run.Samples.Column(record.ColRSS)[i] >= 32<<20 {
				rows++
			}
		}
		if rows == 0 {
			t.Errorf("no row has what process %d holds", left[0].PID)
		}
	}
	return left, res.Warnings
}

func TestAProcessThatOutlivesTheProgramWithMemoryIsToldAsLeftBehind(t *testing.T) {
	t.Parallel()
	left, warnings := leftBy(t, "leave 40")
	if len(left) != 1 || !strings.Contains(left[0].Name, "tracer.test") || len(warnings) != 0 {
		t.Errorf("left behind: %+v, warnings %q", left, warnings)
	}
	if left, _ := leftBy(t, "leave 0"); len(left) != 0 {
		t.Errorf("one that holds next to nothing: %+v", left)
	}
	if left, _ := leftBy(t, "work 5 100"); len(left) != 0 {
		t.Errorf("none at all: %+v", left)
	}
}
