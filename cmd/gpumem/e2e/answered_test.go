package e2e

import (
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// tries is how often a program with a known answer is recorded where a recording leaves
// that answer open. A machine that is busy with other things can stand still for seconds,
// and gpumem then says rightly that it does not know.
const tries = 3

// answered has recordings made, each in an empty folder, until one leaves nothing open, and
// returns the folder and the verdict of the last, which lies in its folder "run". A wrong
// answer leaves nothing open: it ends the tries, and is the caller's to find.
func answered(t *testing.T, isOpen func(*verdict.Verdict) bool, record func(dir string)) (string, *verdict.Verdict) {
	t.Helper()
	for n := 1; ; n++ {
		dir := t.TempDir()
		record(dir)
		v := readVerdict(t, filepath.Join(dir, "run"))
		if n == tries || !isOpen(v) {
			return dir, v
		}
		t.Logf("once more: %s", v.Summary)
	}
}

func isUndecided(v *verdict.Verdict) bool { return v.Verdict == verdict.Undecided }

// hasNoHolder: the agent tells holders by looking twice or more, some seconds apart.
func hasNoHolder(v *verdict.Verdict) bool { return len(v.Holders) == 0 }

// hasNoCause: causes want two looks or more, too.
func hasNoCause(v *verdict.Verdict) bool { return isUndecided(v) || len(v.Causes) == 0 }

// decided runs a workload into the folder dir/out, again where that leaves
// undecided what has a known answer.
func decided(t *testing.T, dir string, env []string, out string, args ...string) (got outcome,
	v *verdict.Verdict) {
	t.Helper()
	for range tries {
		if got = gpumemEnv(t, dir, env,
			append([]string{"run", "--force", "--out", out}, args...)...); got.code != 0 {
			t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		if v = readVerdict(t, filepath.Join(dir, out)); !isUndecided(v) {
			break
		}
		t.Logf("once more: %s", v.Summary)
	}
	return got, v
}
