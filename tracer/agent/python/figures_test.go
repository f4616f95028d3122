//go:build !windows

package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/agent/python"
	"github.com/gpumem/gpumem/tracer/record"
)

const mib = 1 << 20

func TestAnUnchangedTrainingScriptTellsWhatItHoldsAndWhoKeepsIt(t *testing.T) {
	t.Parallel()
	o := run(t, traced{
		args: []string{"train.py"},
		env:  []string{python.EnvSites + "=1"},
		ask:  []string{"collect", "purge", "trim", "sync", "sites", "holders", "dance"},
	})
	clean(t, o)
	if o.stdout != "__main__\n" {
		t.Errorf("the device was brought to life by %q", o.stdout)
	}
	p := o.main(t)
	if h := p.hellos[len(p.hellos)-1]; h.Agent != "torch" || h.Device != "Fake GPU" ||
		h.CapacityBytes != 8<<30 || h.UnifiedMemory == nil || *h.UnifiedMemory {
		t.Errorf("hello of PyTorch: %+v", h)
	}
	live := int64(4*mib + 40*(4*mib+mib+512))
	for column, want := range map[string]int64{
		record.ColLive: live, record.ColLive + "@0": live, record.ColLiveCount: 4 + 40*3,
		record.ColAllocs: 4 + 40*3 + 1, record.ColFrees: 1, record.ColStep: 40,
	} {
		if got := p.last(t, column); got != want {
			t.Errorf("%s = %d, want %d", column, got, want)
		}
	}
	if got := p.last(t, record.ColHostHeap); got < mib {
		t.Errorf("%s = %d", record.ColHostHeap, got)
	}
	checkExperiments(t, p)
}

// checkExperiments looks at the answers of train.py, in the order asked.
func checkExperiments(t *testing.T, p *told) {
	t.Helper()
	if len(p.dones) != 7 {
		t.Fatalf("%d answers, want 7", len(p.dones))
	}
	collect, purge, trim, sync, sites, holders, dance := p.dones[0], p.dones[1], p.dones[2],
		p.dones[3], p.dones[4], p.dones[5], p.dones[6]
	if collect.ClaimedBytes == nil || collect.Count == nil || collect.Error != "" {
		t.Errorf("collect: %+v", collect)
	}
	if purge.ClaimedBytes == nil || *purge.ClaimedBytes < 62*mib || *purge.ClaimedBytes > 66*mib {
		t.Errorf("purge claims %v, want about 64 MiB", purge.ClaimedBytes)
	}
	if trim.Error != "" || sync.Error != "" || sync.ClaimedBytes != nil {
		t.Errorf("trim %+v, sync %+v", trim, sync)
	}
	if !strings.Contains(dance.Error, "dance") {
		t.Errorf("an unknown action: %+v", dance)
	}
	site := detail[record.Site](t, sites, "sites")
	if len(site) < 2 || !strings.Contains(site[0].Site, "train.py:14 step") || site[0].Count != 40 ||
		site[0].Bytes != 160*mib || site[0].GrowthBytes <= 0 || site[0].GrowthBytes > 160*mib {
		t.Errorf("sites: %+v", site)
	}
	holder := detail[record.Holder](t, holders, "holders")
	paths := map[string]record.Holder{}
	for _, h := range holder {
		paths[h.String()] = h
	}
	// What lived at the survey, some steps in, is not accused.
	if h := paths["list train.history"]; h.Count < 20 || h.Count > 39 || h.Bytes != h.Count*4*mib {
		t.Errorf("holders: %+v", holder)
	}
	if h := paths["list train.losses: autograd graph of Mean outputs"]; h.Count < 20 ||
		h.Bytes != h.Count*mib {
		t.Errorf("holders: %+v", holder)
	}
	if len(paths) != 3 {
		t.Errorf("holders: %+v", holder)
	}
}

func TestADeviceThatTheProgramDoesNotUseStaysAsleep(t *testing.T) {
	t.Parallel()
	for _, sites := range []string{"0", "1"} {
		o := run(t, traced{args: []string{"idle.py"}, env: []string{python.EnvSites + "=" + sites},
			ask: []string{"collect", "purge", "sync", "sites", "holders"}})
		clean(t, o)
		if o.stdout != "None False\n" {
			t.Errorf("the device was brought to life by %q", o.stdout)
		}
		for _, s := range o.main(t).samples {
			if _, known := s[record.ColLive]; known {
				t.Errorf("live bytes of a device that sleeps: %v", s)
			}
		}
		for _, d := range o.main(t).dones[:3] {
			if d.ClaimedBytes != nil {
				t.Errorf("a claim where nothing is known: %+v", d)
			}
		}
	}
}

func TestAProgramWithoutStepsTellsSitesWhileItRunsAndImportsNothingForIt(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"infer.py"}, env: []string{python.EnvSites + "=1"},
		ask: []string{"sites", "holders"}})
	clean(t, o)
	if o.stdout != "__main__ False\n" {
		t.Errorf("%q: PyTorch's compiler was imported for a look at sites", o.stdout)
	}
	p := o.main(t)
	sites := detail[record.Site](t, p.dones[0], "sites")
	if len(sites) != 2 || sites[0].Count != 80 || sites[0].GrowthBytes != 80*mib ||
		!strings.Contains(sites[0].Site, "infer.py:30 serve") || sites[1].GrowthBytes != 0 {
		t.Errorf("sites %+v, want the one of the 80 blocks between the looks, though they are gone", sites)
	}
	told := slices.DeleteFunc(slices.Clone(p.marks), func(m agent.Mark) bool {
		return m.Kind != record.KindSites
	})
	if len(told) != 2 || !slices.Equal(list[record.Site](t, told[1].Detail, "sites"), sites) {
		t.Errorf("told while it ran: %+v", told)
	}
}

func TestWhatAFunctionHeldIsToldAfterItReturned(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"returns.py"}, ask: []string{"holders"}})
	clean(t, o)
	if o.stdout != "served\n" {
		t.Errorf("%q", o.stdout)
	}
	p := o.main(t)
	var told []record.Holder
	for _, m := range p.marks {
		if m.Kind == record.KindHolders {
			told = list[record.Holder](t, m.Detail, "holders")
		}
	}
	want := record.Holder{Path: "list serve() local results", Bytes: 40 * mib, Count: 40, OnlyAdded: true}
	is := func(got []record.Holder) bool {
		if len(got) != 1 {
			return false
		}
		h := got[0]
		if !strings.HasSuffix(h.Filled, "returns.py:24 serve") {
			return false
		}
		h.Filled = ""
		h.Length, h.OverMs = 0, 0 // they depend on when it was looked at
		return h == want
	}
	if !is(told) {
		t.Errorf("told while it ran: %#v, want %#v", told, want)
	}
	want.Gone = true
	if left := detail[record.Holder](t, p.dones[0], "holders"); !is(left) {
		t.Errorf("told at the end: %#v, want %#v", left, want)
	}
}

func TestARunningTotalIsTheHolderOfItsGraphAlsoAfterItsFunctionReturned(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"total.py"}, ask: []string{"holders"}})
	clean(t, o)
	p := o.main(t)
	want := record.Holder{Path: "train() local total", Graph: "Add outputs"}
	told := slices.ContainsFunc(p.marks, func(m agent.Mark) bool {
		return m.Kind == record.KindHolders &&
			slices.ContainsFunc(list[record.Holder](t, m.Detail, "holders"), func(h record.Holder) bool {
				return h.String() == want.String()
			})
	})
	if !told {
		t.Errorf("not told while the function ran: %+v", p.marks)
	}
	want.Gone = true
	for _, h := range detail[record.Holder](t, p.dones[0], "holders") {
		if h.String() == want.String() && h.Count == 1 && h.Bytes >= 10*mib {
			return
		}
	}
	t.Errorf("holders at the end: %s", p.dones[0].Detail)
}

func TestSeveralFrameworksAddUpInThePlainColumns(t *testing.T) {
	t.Parallel()
	o := run(t, traced{args: []string{"frameworks.py"}})
	clean(t, o)
	if o.stdout != "True\n" {
		t.Errorf("MLX's device was brought to life by a question")
	}
	p := o.main(t)
	for column, want := range map[string]int64{
		record.ColLive: 3*mib + 2<<10, record.ColIdle: 1<<30 - 3*mib, record.ColAllocs: 3,
		record.ColLiveCount: 3, record.ColPipelines: 1,
	} {
		if got := p.last(t, column); got != want {
			t.Errorf("%s = %d, want %d", column, got, want)
		}
	}
	var names []string
	for _, h := range p.hellos {
		names = append(names, h.Agent)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"jax", "mlx", "python"}) {
		t.Errorf("hellos of %v", names)
	}
}

func TestTheAgentsOwnTestsPass(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(interpreter(t), "-W", "error", "-m", "unittest", "discover", "-s", "tests")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+library(t)+":"+fakes(t), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What this is about is a fault of some versions alone: see atomic.no_modules.
func TestNoPythonHasItsModulesOfCAsked(t *testing.T) {
	t.Parallel()
	fetched, _ := filepath.Glob(filepath.Join(os.Getenv("GPUMEM_TEST_PYTHONS"), "3.*", "bin", "python3.??"))
	if len(fetched) == 0 {
		t.Skip("no other CPythons here; scripts/test.sh fetches some into GPUMEM_TEST_PYTHONS")
	}
	files, fake := library(t), fakes(t)
	for _, python3 := range fetched {
		t.Run(filepath.Base(python3), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the fault runs for ever
			defer cancel()
			cmd := exec.CommandContext(ctx, python3, "-W", "error", "-m", "unittest", "tests.test_modules_of_c")
			cmd.Env = append(os.Environ(), "PYTHONPATH="+files+":"+fake, "PYTHONDONTWRITEBYTECODE=1",
				"LD_LIBRARY_PATH="+filepath.Dir(filepath.Dir(python3)))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// library installs the agent and returns the folder of its modules.
func library(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agent")
	if _, err := python.Install(dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "lib")
}

// judge runs a suite of tests/suites under the pytest plugin and returns what
// pytest printed, and each test's outcome by its name.
func judge(t *testing.T, suite string, args ...string) (string, map[string]string) {
	t.Helper()
	python3 := interpreter(t)
	if exec.Command(python3, "-c", "import pytest").Run() != nil {
		t.Skip("pytest is not installed for this python3")
	}
	file := filepath.Join("tests", "suites", suite)
	args = append([]string{"-m", "pytest", "-p", "gpumem.pytest_plugin", "--gpumem",
		"-p", "no:cacheprovider", "-rA", "-q", file}, args...)
	cmd := exec.Command(python3, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+library(t)+":"+fakes(t), "PYTHONDONTWRITEBYTECODE=1")
	out, _ := cmd.CombinedOutput() // pytest's code says that tests failed, which is what is wanted
	outcomes := map[string]string{}
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, name, ok := strings.Cut(rest, "::"); ok &&
			(word == "PASSED" || word == "FAILED" || word == "ERROR") {
			name, _, _ = strings.Cut(name, " ")
			outcomes[name] = word
		}
	}
	return string(out), outcomes
}

func TestThePytestPluginFailsTestsThatKeepDeviceMemory(t *testing.T) {
	t.Parallel()
	out, outcomes := judge(t, "device_suite.py")
	want := map[string]string{
		"test_frees_what_it_takes":                    "PASSED",
		"test_leaks":                                  "FAILED",
		"test_fills_a_cache_the_first_time":           "PASSED",
		"test_keeps_less_than_the_tolerance":          "PASSED",
		"test_keeps_more_than_its_own_tolerance":      "FAILED",
		"test_is_warm_after_two_runs":                 "PASSED",
		"test_is_not_looked_at":                       "PASSED",
		"test_makes_a_cycle_that_the_collector_finds": "PASSED",
		"test_fails_for_its_own_reason":               "FAILED",
	}
	for name, outcome := range want {
		if outcomes[name] != outcome {
			t.Errorf("%s: %q, want %s", name, outcomes[name], outcome)
		}
	}
	for _, text := range []string{"keeps memory, 2 runs in a row", "3.0 MiB of device more, +1 arrays",
		"kept: list device_suite.kept (1, 3.0 MiB)", "assert 1 == 2"} {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in the output", text)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestThePytestPluginWorksOnHostMemoryWithoutADevice(t *testing.T) {
	t.Parallel()
	out, outcomes := judge(t, "host_suite.py")
	want := map[string]string{
		"test_frees_what_it_takes": "PASSED", "test_keeps_rows": "FAILED", "test_keeps_a_buffer": "FAILED",
	}
	for name, outcome := range want {
		if outcomes[name] != outcome {
			t.Errorf("%s: %q, want %s", name, outcomes[name], outcome)
		}
	}
	if !strings.Contains(out, "kept: list host_suite.rows (20000,") {
		t.Error("the survivors are not named")
	}
	if t.Failed() {
		t.Log(out)
	}
}
