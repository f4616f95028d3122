package record

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/columns.md anew")

// sections are the parts of docs/columns.md.
var sections = [...]struct {
	teller Teller
	title  string
}{
	{TellTracer, "From gpumem itself"},
	{TellProbe, "From the operating system"},
	{TellDriver, "From the driver of the device"},
	{TellAgent, "From the program"},
	{TellCapture, "From the program's calls of the driver"},
	{TellImporter, "From recordings of other tools, carried along"},
}

const columnsHead = `# Columns of samples.csv

One row is one sample; the first line names the columns, in any order. An empty cell is unknown, never 0. All values are whole
numbers except the time. A gauge is an amount at the time of the row, a total only rises while the program lives, handles are
objects of the driver that are alive. Where a column is told by device, ` + "`NAME@N`" + ` is that of device N and ` + "`NAME`" + ` the sum. Any
other column is carried along unread.

This page is made from the table in package ` + "`tracer/record`" + `: ` + "`go test ./tracer/record -run Columns -update`" + `.
`

func columnsPage() string {
	var b strings.Builder
	b.WriteString(columnsHead)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| column | unit | kind | by device | what |\n|---|---|---|---|---|\n", s.title)
		for _, c := range Columns() {
			each := ""
			if c.PerDevice {
				each = "yes"
			}
			if c.Teller == s.teller {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Name, c.Unit, c.Kind, each, c.Doc)
			}
		}
	}
	return b.String()
}

func TestColumnsAreDocumented(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "columns.md")
	want := columnsPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says; run this test with -update", path)
	}
	for _, c := range Columns() {
		if strings.Count(want, "| `"+c.Name+"` |") != 1 {
			t.Errorf("%s stands in no section, or in two", c.Name)
		}
	}
}

func TestTheTableSaysEverythingOfEachColumnOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Columns() {
		if seen[c.Name] {
			t.Errorf("%s stands there twice", c.Name)
		}
		seen[c.Name] = true
		if c.Name == "" || c.Unit == "" || c.Kind == "" || c.Teller == "" ||
			c.Doc == "" || strings.Contains(c.Doc, "\n") {
			t.Errorf("%+v leaves something out", c)
		}
		if strings.HasSuffix(c.Name, "_bytes") != (c.Unit == Bytes) {
			t.Errorf("%s is in %s", c.Name, c.Unit)
		}
		if got, ok := ColumnOf(c.Name + "@3"); !ok || got != c {
			t.Errorf("%s@3 is %+v, %v", c.Name, got, ok)
		}
	}
	if c, ok := ColumnOf("loss"); ok || Known("loss") || kindOf("loss") != kindCarried {
		t.Errorf("a column of the program's own is %+v", c)
	}
	for column, want := range map[string]columnKind{
		ColTime: kindTime, ColGPU + "@1": kindAmount, ColEvents: kindAmount, ColBuffersLimit: kindAmount,
		ColAllocatedBytes: kindCarried, ColDRAM + "@0": kindCarried,
	} {
		if got := kindOf(column); got != want {
			t.Errorf("%s: %d, want %d", column, got, want)
		}
	}
}
