package naming

import (
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
)

func TestNamesOfProgramsAreThoseThatPeopleUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p          scan.Process
		name, exec string
	}{
		{scan.Process{Executable: "/usr/bin/python3.12",
			Command: []string{"python", "-u", "-W", "ignore", "/a/train.py", "x"}}, "train.py", "python3.12"},
		{scan.Process{Executable: "/usr/bin/python3", Command: []string{"python3", "-m", "torch.run", "x"}},
			"torch.run", "python3"},
		{scan.Process{Executable: "/usr/bin/python3", Command: []string{"python3", "-c", "print()"}},
			"python3", "python3"},
		{scan.Process{Executable: "/opt/tl", Command: []string{"tl", "run"}}, "tl", "tl"},
		{scan.Process{Command: []string{"-bash"}, Name: "bash"}, "bash", "bash"},
		{scan.Process{Command: []string{"nginx: worker process"}, Name: "nginx"}, "nginx", "nginx"},
		{scan.Process{Executable: `C:\Program Files\x\python.exe`, Command: []string{"python"}},
			"python", "python"},
		{scan.Process{Name: "kernel-ish"}, "kernel-ish", "kernel-ish"},
	} {
		if got := Program(&c.p); got != c.name {
			t.Errorf("%+v is called %q, want %q", c.p, got, c.name)
		}
		if got := Executable(&c.p); got != c.exec {
			t.Errorf("%+v runs %q, want %q", c.p, got, c.exec)
		}
	}
}
