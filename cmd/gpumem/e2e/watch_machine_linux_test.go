package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

func TestWatchWithoutArgumentsShowsTheDevicesAndWhoUsesThem(t *testing.T) {
	t.Parallel()
	sleep := exec.Command("sleep", "600")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { sleep.Wait(); close(ended) }()
	t.Cleanup(func() { sleep.Process.Kill() })
	_, env := stub(t, fmt.Sprintf("process 0 c %d 3000000000", sleep.Process.Pid),
		"vitals 0 97 41 63 512340 700000 1980 na")
	term := newTerminal(t, 120, 40, env...)
	term.typed(binary + " watch --devices --interval 100ms")
	term.sees("the device", `0 H200 +97 % +4\.\d+ GiB of 140[.\d]* GiB .* 63 °C +512 of 700 W +1980 MHz`)
	picture := term.sees("its process", fmt.Sprintf(`%d +sleep 600 +\w+ +\d+ %% +2\.\d+ GiB`, sleep.Process.Pid))
	if strings.Contains(picture, "memory's") {
		t.Errorf("a clock that nobody tells has a column:\n%s", picture)
	}
	term.keys("K")
	term.sees("the question", fmt.Sprintf(`Send SIGTERM to PID %d \(sleep of \w+\)\? +y yes, end it +esc no`,
		sleep.Process.Pid))
	term.keys("n")
	term.sees("no", `\? help`)
	select {
	case <-ended:
		t.Fatal("the process was ended without a yes")
	default:
	}
	term.keys("K", "y")
	term.sees("what was done", fmt.Sprintf("SIGTERM is sent to PID %d", sleep.Process.Pid))
	<-ended
	term.keys("q")
	term.shellIsSane("after watching")
}

func TestWatchFindsTheRecordingThatGoesOn(t *testing.T) {
	t.Parallel()
	first, second := newTerminal(t, 100, 30), newTerminal(t, 100, 30)
	first.typed(binary + " run --gpu none -- sh -c 'while sleep .1; do :; done'")
	first.sees("recording", `recording into`)
	second.typed("cd " + first.dir + "; clear; " + binary + " watch")
	second.sees("the recording", `(?s)● recording.*PID|gpumem sh.*● recording`)
	second.keys("q")
	second.leaves("the recording")
	second.typed("clear; " + binary + " watch --devices --gpu none")
	second.sees("the machine", `● watching`)
	second.keys("q")
	second.leaves("the machine")
	second.shellIsSane("after watching")
	first.keys("C-c")
	first.sees("its end", `[Rr]eport: `)
}
