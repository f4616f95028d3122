package tracer

import (
	"os"
	"path/filepath"
	"testing"
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
