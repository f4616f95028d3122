//go:build !windows

package python_test

import (
	"encoding/json"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// windows are the parts of the window that a process told, and what it is made of.
func windows(t *testing.T, p *told) (parts []record.Window) {
	t.Helper()
	for _, m := range p.marks {
		if m.Kind == record.KindWindow {
			var w record.Window
			if err := json.Unmarshal(m.Detail, &w); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, w)
		}
		if m.Kind == record.KindWarning {
			t.Errorf("warning: %s", m.Name)
		}
	}
	return parts
}

func TestAWindowOfStepsIsToldWholeAndTheHistoryIsOffAgain(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"window.py"}, env: []string{"GPUMEM_PROFILE=steps:3,after:4"},
		ask: []string{"holders"}})
	if o.stdout != "False\n" || o.stderr != "" {
		t.Errorf("stdout %q, stderr %q", o.stdout, o.stderr)
	}
	parts := windows(t, o.main(t))
	if len(parts) == 0 || len(parts) != parts[0].Parts {
		t.Fatalf("%d parts: %+v", len(parts), parts)
	}
	head := parts[0]
	if head.Steps != 3 || head.FromStep < 4 || // a busy machine begins a step later
		len(head.Boundaries) != 3 ||
		head.AllocatorPeak == nil || *head.AllocatorPeak != 32*mib || *head.Allocated != 20*mib {
		t.Errorf("head %+v", head)
	}
	events, live := 0, int64(0)
	for _, p := range parts {
		events += len(p.Events)
		for _, b := range p.Live {
			live += b[1]
		}
	}
	if events != 12 || live != 20*mib { // two blocks a step come and go
		t.Errorf("%d events, %d bytes live", events, live)
	}
}

func TestAHistoryThatTheProgramRecordsStaysOn(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"RECORDS_ITSELF=1", "RECORDS_LATER=1"} {
		o := run(t, traced{args: []string{"window.py"}, env: []string{"GPUMEM_PROFILE=steps:3,after:4", when}})
		if parts := windows(t, o.main(t)); o.stdout != "all\n" || len(parts) != 0 {
			t.Errorf("%s: stdout %q, %d parts", when, o.stdout, len(parts))
		}
	}
}

func TestAShortProgramGetsNoWindowThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"", "0"} {
		o := run(t, traced{args: []string{"window.py"}, env: []string{"GPUMEM_PROFILE=" + setting}})
		if parts := windows(t, o.main(t)); len(parts) != 0 {
			t.Errorf("%q: %d parts", setting, len(parts))
		}
	}
}

func TestAtItsEndAProgramTellsWhatItsMemoryIsMadeOf(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"window.py"}, ask: []string{"holders"}})
	for _, m := range o.main(t).marks {
		if m.Kind != record.KindComposition {
			continue
		}
		var c record.Composition
		if err := json.Unmarshal(m.Detail, &c); err != nil || c.Categories["parameters"] != 12*mib ||
			c.Categories["optimizer state"] != 8*mib {
			t.Errorf("%v, %+v", err, c)
		}
		return
	}
	t.Error("no composition was told")
}

func TestAProgramThatIsAskedTellsWhatItsMemoryIsMadeOf(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"window.py"}, ask: []string{"composition"}})
	told, before := 0, len(o.main(t).dones)
	for _, m := range o.main(t).marks {
		if m.Kind == record.KindComposition {
			told++
		}
	}
	if told != 2 || before == 0 { // at its end, and because it was asked
		t.Errorf("told %d times, %d answers", told, before)
	}
	for _, d := range o.main(t).dones {
		if d.Error != "" {
			t.Errorf("answer: %s", d.Error)
		}
	}
}
