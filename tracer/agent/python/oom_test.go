//go:build !windows

package python_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// ooms are the errors that a process told.
func ooms(t *testing.T, p *told) (list []record.OOM) {
	t.Helper()
	for _, m := range p.marks {
		if m.Kind == record.KindOOM {
			var d record.OOM
			if err := json.Unmarshal(m.Detail, &d); err != nil {
				t.Fatal(err)
			}
			list = append(list, d)
		}
	}
	return list
}

func TestAProgramThatRunsOutOfMemoryTellsWhatItHeldAndEndsAsWithoutUs(t *testing.T) {
	t.Parallel()
	alone := run(t, traced{args: []string{"oom.py", "2", "die"}, without: true})
	o := run(t, traced{args: []string{"oom.py", "2", "die"}})
	if o.code != 1 || o.stdout != alone.stdout || o.stderr != alone.stderr ||
		!strings.Contains(o.stderr, "OutOfMemoryError: CUDA out of memory") {
		t.Errorf("code %d, stdout %q, stderr %q; alone %q", o.code, o.stdout, o.stderr, alone.stderr)
	}
	p := o.main(t)
	list := ooms(t, p)
	if len(list) != 3 {
		t.Fatalf("%d errors told, want 3", len(list))
	}
	d := list[2]
	want := map[string]int64{"parameters": 12 * mib, "gradients": 4 * mib, "optimizer state": 4 * mib,
		"buffers": mib, "held by autograd or C++": 8 * mib}
	sum := int64(0)
	for name, bytes := range d.Categories {
		sum += bytes
		if w, ok := want[name]; ok && bytes != w {
			t.Errorf("%s: %d bytes, want %d", name, bytes, w)
		}
	}
	if d.Allocated == nil || sum != *d.Allocated || d.Asked != 100*mib || d.Count != 3 {
		t.Errorf("categories sum to %d: %+v", sum, d)
	}
	if !strings.HasSuffix(d.Site, "oom.py:28 forward") || d.Model.Optimizer == nil ||
		d.Model.Optimizer.Parameters != 12*mib || d.Model.Optimizer.WithState != 4*mib {
		t.Errorf("site %q, model %+v", d.Site, d.Model)
	}
	if died := p.names(record.KindDied); len(died) != 1 || died[0] != "torch.cuda.OutOfMemoryError" {
		t.Errorf("died of %v", died)
	}
	for _, m := range p.marks {
		if m.Kind == record.KindDied && !strings.Contains(m.At, "oom.py:") {
			t.Errorf("it died at %q, want a line of the program", m.At)
		}
	}
	for _, m := range p.marks {
		if m.Kind == record.KindWarning {
			t.Errorf("warning: %s", m.Name)
		}
	}
}

func TestAProgramThatCatchesTheErrorIsNotSaidToHaveDied(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"oom.py", "3", "live"}})
	p := o.main(t)
	if n := len(ooms(t, p)); o.code != 0 || n != 3 || len(p.names(record.KindDied)) != 0 {
		t.Errorf("code %d, %d errors told, died of %v", o.code, n, p.names(record.KindDied))
	}
}

// A tracer that never says that the event is kept must not hold the program up.
func TestATracerThatDoesNotAnswerHoldsAnErrorUpForFractionsOfASecond(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	o := run(t, traced{args: []string{"oom.py", "40", "live"}, mute: true})
	o.main(t)
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("40 errors took %v", took)
	}
}
