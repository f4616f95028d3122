package children

import (
	"flag"
	"strings"
	"testing"
)

var (
	steady = flag.Bool("steady", false, "run both sides without gpumem: what differs then is not gpumem's")
	show   = flag.Bool("show", false, "log what the bare run told")
)

// table is all kinds of children.
func table() []kind {
	var all []kind
	for _, part := range [][]kind{states(), shells(), endings(), limited(), natives(), fenced(), nested(),
		pythons(), pythonPrograms(), pythonTools(), tools(), terminals(), signalled()} {
		all = append(all, part...)
	}
	return all
}

func TestAProgramCannotTellWhetherItRunsUnderGpumem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, k := range table() {
		t.Run(strings.ReplaceAll(k.name, "/", "∕"), func(t *testing.T) {
			if !k.alone {
				t.Parallel()
			}
			check(t, &k)
		})
	}
}

func TestEveryKindHasANameOfItsOwnAndOneChild(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range table() {
		if seen[k.name] {
			t.Errorf("%q stands in the table twice", k.name)
		}
		seen[k.name] = true
		children := 0
		for _, is := range []bool{k.argv != nil, k.sh != "", k.bash != "", k.py != "", k.outer != ""} {
			if is {
				children++
			}
		}
		if children != 1 {
			t.Errorf("%q has %d children", k.name, children)
		}
	}
	const least = 150
	if len(seen) < least {
		t.Errorf("%d kinds of children, want at least %d", len(seen), least)
	}
}

func TestADeclaredDifferenceThatNoLongerShowsIsTold(t *testing.T) {
	t.Parallel()
	k := kind{differs: []difference{differs("a thread more", `^[-+]stdout: tasks`)}}
	one, two := []string{"stdout: tasks 1", "end: exit 0"}, []string{"stdout: tasks 2", "end: exit 0"}
	if undeclared, untrue := k.verdict(one, one); len(undeclared) != 0 || len(untrue) != 1 {
		t.Errorf("equal records: undeclared %q, untrue %d", undeclared, len(untrue))
	}
	if undeclared, untrue := k.verdict(one, two); len(undeclared) != 0 || len(untrue) != 0 {
		t.Errorf("the declared difference: undeclared %q, untrue %d", undeclared, len(untrue))
	}
	failed := []string{"stdout: tasks 2", "end: exit 1"}
	if undeclared, _ := k.verdict(one, failed); len(undeclared) != 2 {
		t.Errorf("another one beside it: undeclared %q", undeclared)
	}
}
