package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// prometheusProgram is a program of Debian's package prometheus.
func prometheusProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (Debian package prometheus): the alert rules are not tried", name)
	}
	return path
}

var prometheusFolder = filepath.Join("..", "..", "scripts", "prometheus")

func TestAlertRulesFireOnTheTestSeriesOnly(t *testing.T) {
	t.Parallel()
	promtool := prometheusProgram(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", "prometheus.yml"}, {"test", "rules", "gpumem.rules.test.yml"},
	} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = prometheusFolder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

func TestTheDashboardAsksForSeriesThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(prometheusFolder, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	known := publishedNames(t)
	asked := 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range seriesNames(target.Expr) {
				asked++
				if !known[name] {
					t.Errorf("panel %q asks for %s, which nobody publishes", p.Title, name)
				}
			}
		}
	}
	if asked < 8 {
		t.Errorf("%d series are asked for: the test looks at nothing", asked)
	}
}

var (
	seriesName = regexp.MustCompile(`\b(?:gpumem_[a-z_]+|instance[a-z_]*:gpumem_[a-z_]+:[a-z]+)\b`)
	descName   = regexp.MustCompile(`\bd\("([a-z_]+)"`)
	recordName = regexp.MustCompile(`record: (\S+)`)
)

func seriesNames(expr string) []string { return seriesName.FindAllString(expr, -1) }

// publishedNames are the names of series in the sources: those the collectors
// describe and those the rules record.
func publishedNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for path, c := range map[string]struct {
		prefix  string
		pattern *regexp.Regexp
	}{
		filepath.Join("..", "..", "metrics", "collector.go"): {"gpumem_", descName},
		"metrics.go": {"gpumem_server_", descName},
		filepath.Join(prometheusFolder, "gpumem.rules.yml"): {"", recordName},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.pattern.FindAllSubmatch(text, -1) {
			names[c.prefix+string(m[1])] = true
		}
	}
	return names
}

func TestTheRulesAskForSeriesThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(prometheusFolder, "gpumem.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	known := publishedNames(t)
	for _, name := range seriesNames(string(text)) {
		if !known[name] {
			t.Errorf("a rule asks for %s, which nobody publishes", name)
		}
	}
}
