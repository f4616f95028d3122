//go:build linux && (amd64 || arm64)

package e2e

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/cuda/cudatest"
	"github.com/gpumem/gpumem/workloads"
)

// stubDriver is a folder with a stub of NVIDIA's driver, for the loader's path.
func stubDriver(t *testing.T, conf ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	library, err := cudatest.Make(dir, cudatest.Newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(library+".conf",
		[]byte(strings.Join(append(conf, "name stub\n"), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return "LD_LIBRARY_PATH=" + dir
}

// TestTheWorkloadsComputeOnCUDAWhatTheyComputeOnSoft runs them on a stub of the
// driver, which executes the kernels' one source. A device that makes no
// temporaries has nothing that a missing autorelease scope would leave.
func TestTheWorkloadsComputeOnCUDAWhatTheyComputeOnSoft(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	env := stubDriver(t)
	// Work piles up before a device that is slower than the program. On a machine with
	// other work to do the program is the slower one, of a stub that does not wait.
	slow := stubDriver(t, "lag_us 20000")
	for _, c := range []struct {
		args  string
		truth workloads.Fault
	}{
		{"nqueens --attempts=2", workloads.Fault{Truth: "none"}},
		{"nqueens --fault=uncut-graph --attempts=2", workloads.Fault{Truth: "app-leak", Cause: "uncut-autograd-graph"}},
		{"nqueens --fault=no-autorelease-pool --attempts=1", workloads.Fault{Truth: "none"}},
		{"xor --runs=3", workloads.Fault{Truth: "none"}},
		{"xor --fault=fresh-params --runs=1", workloads.Fault{Truth: "app-leak", Cause: "handle-leak"}},
		{"xor --fault=early-return --runs=1", workloads.Fault{Truth: "none"}},
		{"xor --fault=no-flush --runs=2", workloads.Fault{Truth: "app-leak", Cause: "command-buffer-backlog"}},
		{"sine --runs=12", workloads.Fault{Truth: "none"}}, // fewer end in the first use of everything
		{"modelload --scale=4", workloads.Fault{Truth: "none"}},
		{"modelload --scale=8 --fault=clone-retained", workloads.Fault{Truth: "app-leak", Cause: "retained-clone"}},
		{"generate --requests=60", workloads.Fault{Truth: "none"}},
		{"generate --fault=kv-not-released --requests=60", workloads.Fault{Truth: "app-leak"}},
		{"modelload --scale=4 --policy=tensorlogic", workloads.Fault{Truth: "pool-growth", Cause: "pool-never-trims"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			on := env
			if c.truth.Cause == "command-buffer-backlog" {
				on = slow
			}
			likeOnSoft(t, on, "cuda:0", "stub", strings.Fields(c.args), c.truth)
		})
	}
}

// likeOnSoft runs a workload on the device on, which calls itself name, and on
// the soft one: they compute the same, and the first has the verdict that is true.
func likeOnSoft(t *testing.T, env, on, name string, args []string, truth workloads.Fault) {
	t.Helper()
	dir := t.TempDir()
	got, v := decided(t, dir, []string{env}, "out", append(args, "--device="+on)...)
	soft, _ := decided(t, dir, nil, "soft", append(args, "--device=soft")...)
	sameResults(t, got.stdout, soft.stdout)
	if string(v.Verdict) != truth.Truth {
		t.Errorf("verdict %s, want %s: %s", v.Verdict, truth.Truth, v.Summary)
	}
	if truth.Cause != "" && (len(v.Causes) != 1 || v.Causes[0].ID != truth.Cause) {
		t.Errorf("causes %+v, want %s", v.Causes, truth.Cause)
	}
	if device := recordedDevice(t, filepath.Join(dir, "out")); device != name {
		t.Errorf("the run says it ran on %q", device)
	}
}

// results are what a workload computed: solutions, errors, what it loaded.
var results = regexp.MustCompile(`(?m)^(solution|run \d|request \d|loaded|\d+ of \d+ solutions).*$`)

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// sameResults wants the same words, and numbers within 1e-4 or a unit of their
// last digit.
func sameResults(t *testing.T, cuda, soft string) {
	t.Helper()
	a, b := results.FindAllString(cuda, -1), results.FindAllString(soft, -1)
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("%d results on cuda, %d on soft:\n%s\n%s", len(a), len(b), cuda, soft)
	}
	for i := range a {
		same := number.ReplaceAllString(a[i], "#") == number.ReplaceAllString(b[i], "#")
		x, y := number.FindAllString(a[i], -1), number.FindAllString(b[i], -1)
		for j := 0; same && j < len(x); j++ {
			same = closeTo(x[j], y[j])
		}
		if !same {
			t.Errorf("cuda: %s\nsoft: %s", a[i], b[i])
		}
	}
}

func closeTo(x, y string) bool {
	a, errA := strconv.ParseFloat(x, 64)
	b, errB := strconv.ParseFloat(y, 64)
	digit := 0.0
	if _, fraction, ok := strings.Cut(x, "."); ok {
		digit = 1.01 * math.Pow10(-len(fraction))
	}
	return errA == nil && errB == nil && math.Abs(a-b) <= 1e-4*math.Abs(b)+digit
}

func recordedDevice(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run struct{ Device string }
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	return run.Device
}

func TestAutoIsCUDAWhereADeviceAnswersElseSoft(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	env := stubDriver(t)
	conf := filepath.Join(strings.TrimPrefix(env, "LD_LIBRARY_PATH="), cudatest.FileName+".conf")
	for _, c := range []struct{ says, want string }{
		{"name stub", "stub"},
		{"init 100", "soft"}, // CUDA_VISIBLE_DEVICES is empty, say
		{"devices 0", "soft"},
	} {
		if err := os.WriteFile(conf, []byte(c.says+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		got := gpumemEnv(t, dir, []string{env}, "run", "--out", "out", "modelload", "--scale=8")
		if got.code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", c.says, got.code, got.stdout, got.stderr)
		}
		if device := recordedDevice(t, filepath.Join(dir, "out")); device != c.want {
			t.Errorf("%s: it ran on %s, want %s", c.says, device, c.want)
		}
	}
}

func TestADeviceThatIsNotThereIsOneClearLine(t *testing.T) {
	t.Parallel()
	env := stubDriver(t)
	for _, c := range []struct {
		device string
		code   int
		says   string
	}{
		{"cuda:7", 1, "device 7: index out of range, devices are 0 to 0"},
		{"cuda:", 2, "no such device"},
		{"cuda:-1", 2, "no such device"},
		{"cuda:99999999", 2, "no such device"},
		{"cudda", 2, "cuda"},
	} {
		got := gpumemEnv(t, t.TempDir(), []string{env}, "run", "xor", "--device="+c.device)
		first, _, _ := strings.Cut(got.stderr, "\n")
		if got.code != c.code || !strings.Contains(first, c.says) {
			t.Errorf("--device %s: exit code %d, %q; want %d and %q", c.device, got.code, first, c.code, c.says)
		}
	}
}
