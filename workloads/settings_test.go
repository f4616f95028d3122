package workloads

import (
	"bytes"
	"strings"
	"testing"
)

func TestThePoolAndTheCommandsAreSetForEveryWorkload(t *testing.T) {
	t.Parallel()
	for _, w := range All() {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"pool-cap": "3", "param-cap": "7", "commands": "13"})
		e.Policy = "neatml"
		p, err := newProgram(&w, e)
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		o, err := p.options()
		if err != nil || o.Policy.MaxIdlePerClass != 3 || o.Policy.MaxParams != 7 || o.BatchLimit != 13 {
			t.Errorf("%s: %+v, a flush after %d commands, error %v", w.Name, o.Policy, o.BatchLimit, err)
		}
		e.Flags = nil
		if p, err = newProgram(&w, e); err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		if o, err := p.options(); err != nil || o.Policy.MaxIdlePerClass != 50 || o.Policy.MaxParams != 50 ||
			o.BatchLimit != 0 {
			t.Errorf("%s without settings: %+v, a flush after %d commands, error %v", w.Name, o.Policy,
				o.BatchLimit, err)
		}
	}
}

// TestTrainingWaitsAsOftenAsItsCommandsAreSet has 10 batches of 13 commands.
func TestTrainingWaitsAsOftenAsItsCommandsAreSet(t *testing.T) {
	t.Parallel()
	waits := func(commands string) uint64 {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"epochs": "10", "runs": "1", "commands": commands})
		w, _ := ByName("xor")
		p, err := newProgram(w, e)
		if err != nil {
			t.Fatal(err)
		}
		// Ten epochs teach it nothing, and that is said.
		if err := w.run(t.Context(), p); err != nil && !strings.Contains(err.Error(), "did not converge") {
			t.Fatal(err)
		}
		return p.rt.Batch().Stats().Flushes
	}
	if few, many := waits("100"), waits("4"); few != 0 || many < 25 {
		t.Errorf("%d flushes at 100 commands, %d at 4", few, many)
	}
}
