package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestAPathThatIsNotThereIsToldWithWhatToTry(t *testing.T) {
	t.Parallel()
	dir, self := t.TempDir(), strconv.Itoa(os.Getpid())
	for _, c := range []struct{ args, want string }{
		{"dump --log nope", "nope does not exist; give the saved output of an allocation server"},
		{"dump --log nope --traces nope", "nope does not exist; give"},
		{"attach " + self + " --resume nope", "--resume nope: there is no such folder; gpumem ls lists"},
		{"attach --resume nope", "attach takes one PID, that of the program; see gpumem attach --help"},
		{"ls nope", "nope does not exist; give the folder that the recordings are in"},
		{"clean nope", "nope does not exist; give the folder that the recordings are in"},
		{"watch nope", "nope is neither a PID nor a run folder"},
		{"run pyton x", `"pyton" is neither a workload nor a program on the PATH; did you mean "python"?`},
		{"run --profile off -- true", "--profile takes its value after an equals sign: --profile=off"},
		{"run zzzzzz x", "on the PATH; gpumem workloads lists the workloads"},
	} {
		got := gpumem(t, dir, strings.Fields(c.args)...)
		if got.code == 0 || !strings.Contains(got.stderr, c.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: code %d, want %q in\n%s", c.args, got.code, c.want, got.stderr)
		}
	}
}
