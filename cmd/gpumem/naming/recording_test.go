package naming

import (
	"strings"
	"testing"
)

func TestARecordingIsNamedAfterTheScriptAndNotItsInterpreter(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"python train.py --epochs 3":                         "train",
		"/opt/py/bin/python3.12 -u src/train.py":             "train",
		"python -m pkg.train --lr 1":                         "pkg.train",
		"python -m torch.distributed.run --nproc 2 train.py": "train",
		"torchrun --nproc_per_node=2 train.py":               "train",
		"uv run python train.py":                             "train",
		"python -c pass":                                     "python",
		"python":                                             "python",
		"sh -c x.sh":                                         "sh",
		"sh run.sh":                                          "run",
		"./engine --config=a.py":                             "engine",
		"python serve":                                       "serve",
		"env -C dir ./engine":                                "env",
	} {
		if got := Recording(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if Recording(nil) != "" || WithoutEnding("v1.2") != "v1.2" || WithoutEnding("a.py") != "a" {
		t.Error("an ending is taken where there is none")
	}
}
