//go:build linux

package tracer

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestProcessesAreIntroducedWithNameAndRank(t *testing.T) {
	t.Parallel()
	res := traceFamily(t, "ranks 3", "four processes are introduced",
		func(dir string) bool { return len(introductions(dir)) >= 4 })
	ranks := map[int]bool{}
	for pid, e := range introductions(res.Dir) {
		switch {
		case pid == res.PID && e.Rank != nil:
			t.Errorf("the program itself has rank %d", *e.Rank)
		case pid != res.PID && (e.Rank == nil || !strings.HasSuffix(e.Name, " --rank-of-the-test") ||
			strings.Contains(e.Name, "/")):
			t.Errorf("%+v", e)
		case pid != res.PID:
			ranks[*e.Rank] = true
		}
	}
	if len(ranks) != 3 || !ranks[5] || !ranks[6] || !ranks[7] {
		t.Errorf("ranks %v", ranks)
	}
}

func TestAProcessThatExecsIsIntroducedAgain(t *testing.T) {
	t.Parallel()
	cfg := childConfig(t, "")
	cfg.Command = []string{"/bin/sh", "-c", "sh -c 'sleep 0.7; exec sleep 1.45'; :"}
	res, _ := trace(t, cfg)
	found := false
	for pid, e := range introductions(res.Dir) {
		found = found || pid != res.PID && e.Name == "sleep 1.45"
	}
	if !found {
		t.Errorf("%+v", introductions(res.Dir))
	}
}

// introductions are the last of each process.
func introductions(dir string) map[int]record.Event {
	found := map[int]record.Event{}
	run, err := record.Open(dir) // while it is written
	if err != nil {
		return nil
	}
	for _, e := range run.Events {
		if e.Kind == record.KindProcess {
			found[e.PID] = e
		}
	}
	return found
}

func TestAnAgentsWordAboutItsProcessCountsMore(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/lines"
	lines := `{"hello":{"v":1,"pid":PID,"name":"worker-2","rank":41}}` + "\n" +
		`{"hello":{"v":1,"pid":PID,"rank":42}}` + "\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := childConfig(t, "hostile "+file)
	cfg.Env = append(cfg.Env, "RANK=1")
	_, run := trace(t, cfg)
	var told []string
	for _, e := range run.Events {
		if e.Kind == record.KindProcess && e.Rank != nil {
			told = append(told, fmt.Sprint(e.Name == "worker-2", *e.Rank))
		}
	}
	if got := strings.Join(told, ", "); got != "false 1, true 41, true 42, true 1" {
		t.Errorf("told %s", got)
	}
}

func TestOneProcessWithoutARankNeedsNoIntroduction(t *testing.T) {
	t.Parallel()
	res, _ := trace(t, childConfig(t, "work 5 1000"))
	if got := introductions(res.Dir); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
