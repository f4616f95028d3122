package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/gpumem/gpumem/"

// house is the import table of DESIGN.md: which folders of the project a
// folder may import. A folder covers what lies below it unless a longer name
// stands here too.
var house = map[string][]string{
	"internal/loader":   {},
	"internal/secret":   {},
	"internal/leftover": {},
	"internal/units":    {},
	// The engine and the corpus that judges it do not know each other.
	"internal/eval/corpus": {"tracer/record"},
	"internal/eval":        {"tracer/record", "report", "internal/eval/corpus"},
	"probe":                {"internal/loader", "internal/secret", "probe/procfs"},
	"probe/procfs":         {},
	"metal":                {"metal", "internal/loader"},
	"pool":                 {"metal"},
	"tracer": {"probe", "tracer/record", "tracer/agent", "tracer/sample", "internal/secret",
		"internal/units"},
	"tracer/sample":   {"probe", "tracer/record"},
	"tracer/record":   {"internal/secret"},
	"tracer/agent":    {"tracer/record", "internal/leftover", "probe/procfs"},
	"tracer/importer": {"tracer/record"},
	"tracer/ttmetal":  {"tracer/record", "probe/procfs"},
	"tracer/attach":   {"probe/procfs"},
	"tracer/capture":  {"tracer/record", "internal/leftover", "probe/procfs"},
	"report": {"tracer/record", "report/peak", "report/verdict", "report/trend", "report/account",
		"internal/units"},
	"report/internal/stat": {},
	"report/account":       {"tracer/record", "report/internal/stat"},
	"report/trend":         {"report/internal/stat"},
	"report/peak":          {"tracer/record", "internal/units"},
	"report/cause": {"tracer/record", "report/trend", "report/account", "report/internal/stat",
		"internal/units"},
	"report/series": {"tracer/record", "report/account", "report/trend", "report/internal/stat",
		"internal/units"},
	"report/place":   {"tracer/record"},
	"report/looks":   {"tracer/record", "report/series", "internal/units"},
	"report/finding": {"report/series", "report/internal/stat"},
	"report/growth": {"tracer/record", "report/account", "report/finding", "report/looks", "report/series",
		"report/trend",
		"report/internal/stat", "internal/units"},
	"report/evidence": {"tracer/record", "report/account", "report/finding", "report/growth",
		"report/looks", "report/place",
		"report/series", "report/trend", "report/internal/stat", "internal/units"},
	"report/driven": {"tracer/record", "report/account", "report/series", "report/trend",
		"report/internal/stat"},
	"report/workers": {"tracer/record", "report/account", "report/finding", "report/series",
		"report/internal/stat", "internal/units"},
	"report/verdict": {"tracer/record", "report/cause", "report/driven", "report/evidence", "report/finding",
		"report/growth", "report/looks",
		"report/peak",
		"report/place",
		"report/series", "report/workers",
		"report/trend", "report/account", "report/internal/stat", "internal/units"},
	"report/live":    {"tracer/record", "report/account", "report/verdict"},
	"report/metrics": {"tracer/record", "report/live", "report/verdict", "report/trend", "report/account"},
	"tui": {"tracer/record", "report/live", "report/verdict", "report/trend", "report/account",
		"internal/secret", "internal/units"},
	"workloads":       {"pool", "metal", "tracer/agent", "tracer/record", "workloads/llama"},
	"workloads/llama": {"metal", "workloads/tensor", "workloads/gguf"},
	"cmd": {"cmd", "internal", "probe", "metal", "pool", "tracer", "report", "tui",
		"workloads"},
	"cmd/gpumem/plain":  {"probe", "internal/units"},
	"cmd/gpumem/naming": {"cmd/gpumem/plain", "probe"},
	"cmd/gpumem/device": {"metal", "workloads"},
	"cmd/gpumem/selftest": {"cmd/gpumem/plain", "cmd/gpumem/naming", "cmd/gpumem/device", "probe", "metal",
		"workloads", "internal/units"},
	"cmd/gpumem/looking": {"cmd/gpumem/plain", "report/account", "tracer", "tracer/record", "internal/units"},
	"cmd/gpumem/diagnosis": {"cmd/gpumem/plain", "cmd/gpumem/naming", "probe", "tracer/record",
		"tracer/sample",
		"report/live", "report/verdict", "internal/units"},
	"cmd/gpumem/usage": {},
	"cmd/gpumem/option": {"cmd/gpumem/usage", "cmd/gpumem/tty", "cmd/gpumem/diagnosis", "probe", "tracer",
		"tracer/record", "report", "report/account", "report/verdict"},
	"cmd/gpumem/tty":    {"cmd/gpumem/plain"},
	"cmd/gpumem/output": {},
	"cmd/gpumem/screen": {"cmd/gpumem/naming", "cmd/gpumem/option", "cmd/gpumem/tty", "cmd/gpumem/usage",
		"probe", "tracer", "tracer/record", "report", "report/verdict", "tui"},
	"cmd/gpumem/folders": {"cmd/gpumem/plain", "cmd/gpumem/usage", "tracer/record", "report/verdict",
		"tui"},
	"cmd/gpumem/publishing": {"cmd/gpumem/naming", "cmd/gpumem/usage", "report/metrics", "report/verdict"},
	"cmd/gpumem/books": {"cmd/gpumem/naming", "cmd/gpumem/plain", "cmd/gpumem/tty", "cmd/gpumem/usage",
		"tracer/importer", "tracer/record", "tracer/ttmetal", "report/metrics", "internal/units"},
	"cmd/gpumem/watching": {"cmd/gpumem/injection", "cmd/gpumem/naming", "cmd/gpumem/option",
		"cmd/gpumem/plain",
		"cmd/gpumem/publishing", "cmd/gpumem/screen", "probe", "tracer/record", "tracer/sample",
		"report/metrics",
		"report/verdict", "tracer", "tui"},
	"cmd/gpumem/injection": {"cmd/gpumem/naming", "cmd/gpumem/option", "cmd/gpumem/tty",
		"cmd/gpumem/usage", "internal/leftover", "internal/units",
		"probe", "probe/procfs", "tracer", "tracer/agent", "tracer/attach", "tracer/capture",
		"tracer/record"},
	"cmd/gpumem/settings": {"cmd/gpumem/usage"},
	"cmd/gpumem/answers": {"cmd/gpumem/output", "cmd/gpumem/tty", "cmd/gpumem/usage", "tracer/importer",
		"tracer/record", "report", "report/verdict"},
	"cmd/gpumem/e2e": {},
	"scripts":        {},
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-f",
		`{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		from := strings.TrimPrefix(fields[0], module)
		room := roomOf(from)
		if room == "" {
			t.Errorf("package %s stands in no room of the house table", from)
			continue
		}
		for _, imported := range fields[1:] {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			seen++
			if !mayImport(room, from, to) {
				t.Errorf("%s imports %s: not in the house table (room %s)", from, to, room)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no import between packages of the project was seen: the test looks at nothing")
	}
}

// roomOf is the longest entry of the table that covers the package.
func roomOf(pkg string) string {
	best := ""
	for room := range house {
		if covers(room, pkg) && len(room) > len(best) {
			best = room
		}
	}
	return best
}

func mayImport(room, from, to string) bool {
	if roomOf(to) == room { // a room is one noun, its folders belong together
		return true
	}
	for _, allowed := range house[room] {
		if covers(allowed, to) {
			return true
		}
	}
	return false
}

func covers(room, pkg string) bool {
	return pkg == room || strings.HasPrefix(pkg, room+"/")
}

// The project's brief names gopsutil for what it is good at; a build that leaves it
// out would have lost that silently.
func TestGopsutilIsLinkedOnEverySystem(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for _, part := range []string{"process", "mem", "host", "cpu"} {
			if !bytes.Contains(out, []byte("github.com/shirou/gopsutil/v3/"+part+"\n")) {
				t.Errorf("%s: gopsutil/v3/%s is not linked", system, part)
			}
		}
	}
}
