package tui

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// machineModel is a model over two devices and three processes.
func machineModel(t *testing.T, w, h int, control Control) *Model {
	t.Helper()
	clock, nan := newFixedClock(), math.NaN()
	f := NewFeed(FeedOptions{Name: "watch", State: Watching, Now: clock.Now})
	for i, p := range []struct {
		pid           int
		name, command string
		facts         Facts
		gpu           int64
	}{
		{100, "train.py", "python3 train.py --epochs 90", Facts{User: "anna", CPU: 2.31}, 3 << 30},
		{200, "serve.py", "python3 serve.py", Facts{User: "bob", CPU: .07}, 5 << 30},
		{300, "Xorg", "", Facts{CPU: nan}, 1 << 20},
	} {
		for k := range 3 {
			f.Row(p.pid, float64(k*1000+i), []record.Cell{{Column: record.ColGPU, Value: p.gpu},
				{Column: record.ColRSS, Value: 9 * mib}})
		}
		f.Name(p.pid, p.name)
		p.facts.Command = p.command
		f.Describe(p.pid, p.facts)
	}
	f.SetDevices([]Device{
		{Name: "NVIDIA H200", Used: 8 << 30, Total: 140 << 30, Busy: .97, Celsius: 63, Watts: 512, LimitWatts: 700,
			MHz: 1980, MemoryMHz: nan},
		{Name: "quiet", Used: nan, Total: nan, Busy: nan, Celsius: nan, Watts: nan, LimitWatts: nan, MHz: nan,
			MemoryMHz: nan},
	})
	m := New(t.Context(), Options{Source: f, Processes: true, Now: clock.Now, Control: control})
	m.resize(w, h)
	f.mu.Lock()
	defer f.mu.Unlock()
	m.take(frameMsg{frame: f.frame(clock.now)})
	return m
}

func TestTheMachineIsShownAtEverySizeAndWhatNobodyTellsIsNoZero(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{48, 16}, {60, 20}, {80, 24}, {120, 40}, {200, 60}} {
		m := machineModel(t, size[0], size[1], Control{})
		picture := m.View()
		checkPicture(t, "machine", picture, size[0], size[1])
		for _, want := range []string{"NVIDIA H200", units.Bytes(8<<30) + " of " + units.Bytes(140<<30), "97 %",
			"serve.py", "200 "} {
			if !strings.Contains(picture, want) {
				t.Errorf("%v: %q is missing:\n%s", size, want, picture)
			}
		}
		for line := range strings.Lines(picture) {
			if _, after, ok := strings.Cut(line, " quiet "); ok && strings.ContainsAny(after[:min(45, len(after))],
				"0123456789") {
				t.Errorf("%v: a device that tells nothing has a figure: %q", size, line)
			}
		}
		if strings.Contains(picture, "memory's") {
			t.Errorf("%v: a clock that nobody tells has a column", size)
		}
	}
	picture := machineModel(t, 120, 40, Control{}).View()
	for _, want := range []string{"anna", "231 %", "python3 train.py --epochs 90", "63 °C",
		"512 of 700 W", "1980 MHz"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is missing:\n%s", want, picture)
		}
	}
}

func TestTheListIsSortedByProcessorAndByUser(t *testing.T) {
	t.Parallel()
	m := machineModel(t, 120, 40, Control{})
	for by, want := range map[sortBy][3]int{byCPU: {100, 200, 300}, byUser: {300, 100, 200}, byGPU: {200, 100, 300}} {
		list := order{by: by}.list(m.frame)
		if got := [3]int{list[0].PID, list[1].PID, list[2].PID}; got != want {
			t.Errorf("by %s: %v, want %v", sortNames[by], got, want)
		}
	}
}

func TestTheFilterSelectsTheFirstMatch(t *testing.T) {
	t.Parallel()
	m := machineModel(t, 120, 40, Control{})
	m.keysForTest("/", "a", "n", "n")
	if m.selected != 100 {
		t.Errorf("selected while the user's name is typed: %d", m.selected)
	}
	m.keysForTest("esc", "/", "s", "e", "r", "v", "enter", "enter")
	if m.selected != 200 || m.view.PID != 200 {
		t.Errorf("selected %d, shown %d", m.selected, m.view.PID)
	}
}

func TestAProcessIsEndedAfterAYesOnly(t *testing.T) {
	t.Parallel()
	var ended []int
	m := machineModel(t, 120, 40, Control{Terminate: func(pid int) error { ended = append(ended, pid); return nil }})
	m.keysForTest("/", "s", "e", "r", "v", "enter", "K")
	if line := ansi.Strip(m.View()); !strings.Contains(line, "Send SIGTERM to PID 200 (serve.py of bob)?") {
		t.Errorf("it is not asked by name:\n%s", line)
	}
	m.resize(40, 10)
	if line := ansi.Strip(m.View()); !strings.Contains(line, "Send SIGTERM to PID 2") ||
		!strings.Contains(line, "y yes  esc no") {
		t.Errorf("on a small terminal the keys are cut:\n%s", line)
	}
	for _, no := range []string{"n", "esc", "x"} {
		m.keysForTest(no, "esc", "K")
	}
	if ended != nil {
		t.Fatalf("ended without a yes: %v", ended)
	}
	_, cmd := m.Update(keyOf("y"))
	m.Update(cmd())
	if len(ended) != 1 || ended[0] != 200 || !strings.Contains(m.message, "SIGTERM is sent to PID 200") {
		t.Errorf("ended %v, message %q", ended, m.message)
	}
	m = machineModel(t, 120, 40, Control{})
	if m.keysForTest("K"); m.ask != nil || !strings.Contains(m.message, "gpumem watch") {
		t.Errorf("where nothing can be ended: %+v, %q", m.ask, m.message)
	}
}

func TestTheModelHasOneDuty(t *testing.T) {
	t.Parallel()
	const most = 40
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			methods += strings.Count(string(text), "\nfunc (m *Model) ")
		}
	}
	if methods == 0 || methods > most {
		t.Errorf("Model has %d methods, at most %d are allowed", methods, most)
	}
}
