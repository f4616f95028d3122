package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// attached is what attach --all says of one process.
type attached struct {
	Folder, Error string
	Verdict       *verdict.Verdict
}

// attachedToAll attaches to the three processes that use the stub's GPU, and returns the
// folder in which all has their run folders.
func attachedToAll(t *testing.T, env []string) (dir string, list []attached) {
	t.Helper()
	dir = t.TempDir()
	got := gpumemEnv(t, dir, env, "attach", "--all", "--for", "9s", "--out", "all", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || got.code != 0 || len(list) != 3 {
		t.Fatalf("code %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	return dir, list
}

func TestAttachToAllRecordsEveryProcessOnTheGPUByItsRank(t *testing.T) {
	t.Parallel()
	library, env := stub(t)
	one := startGuest(t, []string{"env", "RANK=1", "WORLD_SIZE=2", "python3"}, "grow")
	zero := startGuest(t, []string{"env", "RANK=0", "WORLD_SIZE=2", "python3"}, "grow")
	native := start(t, "sleep", "60")
	before := zero.state(t)
	conf, err := os.OpenFile(library+".conf", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []string{pidOf(one.Cmd), pidOf(zero.Cmd), pidOf(native)} {
		fmt.Fprintf(conf, "process 0 c %s 104857600\n", cmd)
	}
	if err := conf.Close(); err != nil {
		t.Fatal(err)
	}
	dir, list := attachedToAll(t, env)
	isOpen := func(a attached) bool { return a.Verdict != nil && hasNoHolder(a.Verdict) }
	for n := 1; n < tries && slices.ContainsFunc(list[:2], isOpen); n++ {
		t.Log("once more: a holder is not known")
		dir, list = attachedToAll(t, env)
	}
	for i, want := range []string{"all/rank0-asked.py-" + pidOf(zero.Cmd), "all/rank1-asked.py-" + pidOf(one.Cmd),
		"all/sleep-" + pidOf(native)} {
		a := list[i]
		if a.Folder != want || a.Verdict == nil || a.Error != "" {
			t.Errorf("the %d. is %+v, want the folder %s", i, a, want)
			continue
		}
		if v := readVerdict(t, filepath.Join(dir, want)); i < 2 &&
			(len(v.Holders) == 0 || !strings.Contains(v.Holders[0].Path, "asked.keep")) {
			t.Errorf("%s: holders %+v", want, v.Holders)
		}
	}
	zero.isCleanBut(t, before, aDescriptor)
}

func TestAttachToAllSaysWhenThereIsNothingToAttachTo(t *testing.T) {
	t.Parallel()
	_, empty := stub(t)
	for _, c := range []struct {
		env  []string
		args []string
		code int
		want string
	}{
		{noLibrary(t), nil, 1, "attach to one: gpumem attach PID"},
		{empty, nil, 1, "no process uses a GPU now"},
		{empty, []string{"4242"}, 2, "takes no PID"},
		{empty, []string{"--gpu", "none"}, 2, "leave out --gpu none"},
		{empty, []string{"-o", "x"}, 2, "--json prints all verdicts"},
	} {
		got := gpumemEnv(t, t.TempDir(), c.env, append([]string{"attach", "--all"}, c.args...)...)
		if got.code != c.code || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%q: code %d\n%s%s", c.args, got.code, got.stdout, got.stderr)
		}
	}
}
