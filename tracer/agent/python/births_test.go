//go:build !windows

package python_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheLineThatStartsAProcessIsTold(t *testing.T) {
	t.Parallel()
	with := run(t, traced{args: []string{"-W", "always", "births.py"}})
	clean(t, with)
	without := run(t, traced{args: []string{"-W", "always", "births.py"}, without: true})
	clean(t, without)
	// The last line is the processes' numbers; all before it is the same without us.
	cut := func(s string) (string, []string) {
		lines := strings.Split(strings.TrimSpace(s), "\n")
		return strings.Join(lines[:len(lines)-1], "\n"), strings.Fields(lines[len(lines)-1])
	}
	said, pids := cut(with.stdout)
	if want, _ := cut(without.stdout); said != want {
		t.Errorf("with the agent %q, without %q", said, want)
	}
	at := map[string]string{}
	for _, m := range with.main(t).marks {
		var child struct {
			PID json.Number `json:"pid"`
		}
		if m.Kind == "child" && json.Unmarshal(m.Detail, &child) == nil {
			at[child.PID.String()] = m.At
		}
	}
	for i, pid := range pids {
		want := "spawn_worker"
		if i == 3 {
			want = "<module>"
		}
		if !strings.Contains(at[pid], "births.py:") || !strings.HasSuffix(at[pid], " "+want) {
			t.Errorf("process %d of %d was started at %q", i+1, len(pids), at[pid])
		}
	}
}
