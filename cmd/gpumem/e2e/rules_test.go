package e2e

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

var prometheusFolder = filepath.Join("..", "..", "..", "scripts", "prometheus")

func TestAlertRulesFireOnTheTestSeriesOnly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
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

// dashboard is what the tests look at of Grafana's JSON model.
type dashboard struct {
	Title         string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Query      variableQuery
		}
	}
	Panels []struct {
		ID          int
		Title, Type string
		Datasource  struct{ Type, UID string }
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, RefID string }
	}
}

// variableQuery is a text, or an object that holds one.
type variableQuery struct{ text string }

func (q *variableQuery) UnmarshalJSON(b []byte) error {
	var object struct{ Query string }
	if json.Unmarshal(b, &object) == nil {
		q.text = object.Query
		return nil
	}
	return json.Unmarshal(b, &q.text)
}

func readDashboard(t *testing.T) (board dashboard) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(prometheusFolder, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	return board
}

func TestTheDashboardAsksForSeriesThatExist(t *testing.T) {
	t.Parallel()
	known := publishedNames(t)
	asked := 0
	for _, p := range readDashboard(t).Panels {
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

// Grafana itself is not in Debian; these are what its model requires.
func TestTheDashboardIsWhatGrafanaLoads(t *testing.T) {
	t.Parallel()
	board := readDashboard(t)
	if board.Title == "" || board.SchemaVersion < 36 { // the first with datasources as objects everywhere
		t.Errorf("title %q, schema version %d", board.Title, board.SchemaVersion)
	}
	source := ""
	for _, v := range board.Templating.List {
		if v.Type == "datasource" {
			source = "${" + v.Name + "}"
		}
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("panel %q has no id of its own: %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Datasource.Type != "prometheus" || p.Datasource.UID != source {
			t.Errorf("panel %q asks %+v, want prometheus %s", p.Title, p.Datasource, source)
		}
		if p.Type != "timeseries" && p.Type != "table" && p.Type != "stat" {
			t.Errorf("panel %q is of type %q", p.Title, p.Type)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.RefID] || target.RefID == "" {
				t.Errorf("panel %q: a query has no refId of its own", p.Title)
			}
			refs[target.RefID] = true
		}
		g := p.GridPos
		if g.X < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
			t.Errorf("panel %q stands outside of the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, is := taken[[2]int{x, y}]; is {
					t.Fatalf("panels %q and %q overlap", other, p.Title)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
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
		filepath.Join("..", "..", "..", "report", "metrics", "collector.go"): {"gpumem_", descName},
		filepath.Join("..", "books", "collector.go"):                         {"gpumem_server_", descName},
		filepath.Join(prometheusFolder, "gpumem.rules.yml"):                  {"", recordName},
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
