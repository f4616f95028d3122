package tracer

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestKillsForWantOfMemoryAreReadFromTheControlGroup(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	groups := filepath.Join(root, "cgroup")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := oomKills(groups, root); ok {
		t.Error("a system without control groups tells of kills")
	}
	write(groups, "5:memory:/old\n0::/job\n")
	if _, ok := oomKills(groups, root); ok {
		t.Error("a group without the file tells of kills")
	}
	write(filepath.Join(root, "job", "memory.events"), "low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
	if n, ok := oomKills(groups, root); !ok || n != 2 {
		t.Errorf("%d, %v, want 2", n, ok)
	}
}

func TestKillsForWantOfMemoryAreReadFromAControlGroupOfVersion1(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	groups := filepath.Join(root, "cgroup")
	write(groups, "7:cpu,memory:/job\n1:cpu:/job\n0::/\n")
	write(filepath.Join(root, "memory", "memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 9\n")
	if n, ok := oomKills(groups, root); !ok || n != 9 {
		t.Errorf("in a container: %d, %v, want 9", n, ok)
	}
	write(filepath.Join(root, "memory", "job", "memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
	if n, ok := oomKills(groups, root); !ok || n != 3 {
		t.Errorf("%d, %v, want 3", n, ok)
	}
}

func TestALargeProcessThatGoesWhileKillsBecomeMoreWasKilled(t *testing.T) {
	t.Parallel()
	kills, second := int64(5), int64(time.Second)
	w := killWatch{count: 5, limit: 300 << 20, read: func() (int64, bool) { return kills, true }}
	if w.claims(200<<20, second) {
		t.Error("a process went without a kill")
	}
	kills = 6
	w.look(2*second, false)
	if w.claims(1<<20, 2*second) {
		t.Error("a small process is not one that the kernel chooses")
	}
	if !w.claims(200<<20, 2*second+second/10) || w.told != 1 {
		t.Error("a large process went while there was one kill more")
	}
	if w.claims(200<<20, 2*second+second/10) {
		t.Error("one kill was told of two processes")
	}
	kills = 7
	w.look(3*second, true)
	if w.claims(200<<20, 9*second) {
		t.Error("the kill was long before: it was of another program")
	}
	unknown := killWatch{count: -1, read: func() (int64, bool) { return 9, true }}
	if unknown.claims(1<<30, second) {
		t.Error("a kill where nobody counts them")
	}
}
