package apple

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/apple/appletest"
)

func TestTheTableHasEachSelectorOnce(t *testing.T) {
	t.Parallel()
	var sent []string
	for s := range selectors {
		sent = append(sent, s.name())
	}
	var table []string
	for _, s := range shapes(t) {
		table = append(table, s.Selector)
	}
	slices.Sort(sent)
	slices.Sort(table)
	if !slices.Equal(sent, table) {
		t.Errorf("sent are %q,\nin the table are %q", sent, table)
	}
}

func shapes(t *testing.T) map[string]appletest.Shape {
	t.Helper()
	all, err := appletest.Shapes()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]appletest.Shape{}
	for _, s := range all {
		byName[s.Selector] = s
	}
	return byName
}

// TestEachMessageIsSentByTheFunctionOfItsShape reads this package's source:
// what the caller makes of a result, no runtime can see.
func TestEachMessageIsSentByTheFunctionOfItsShape(t *testing.T) {
	t.Parallel()
	names := constants(t)
	table := shapes(t)
	seen := 0
	for _, call := range calls(t) {
		function, selector, args := call.function, call.selector, call.args
		shape, ok := table[names[selector].name()]
		if !ok {
			t.Errorf("%s: no selector", selector)
			continue
		}
		seen++
		want := "send"
		switch {
		case shape.Result == appletest.Size:
			want = "sizeOf"
		case shape.Result == appletest.Pair:
			want = "pairOf"
		case shape.Result == appletest.Bool:
			want = "isTrueOf"
		case slices.Contains(shape.Args, appletest.Size):
			want = "dispatch"
		case shape.Result == appletest.Double:
			want = "a function that this package does not have"
		}
		if function != want {
			t.Errorf("%s (%s) is sent by %s, want %s", selector, shape, function, want)
		}
		if args != len(shape.Args) {
			t.Errorf("%s (%s) is sent with %d arguments", selector, shape, args)
		}
	}
	if seen < int(selectors) {
		t.Errorf("%d messages were seen, there are %d selectors", seen, selectors)
	}
}

// sent is a call that sends a message.
type sent struct {
	function, selector string
	args               int // of the message
}

// calls are all that name a selector of their own.
func calls(t *testing.T) (all []sent) {
	t.Helper()
	for _, f := range files(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) < 2 {
				return true
			}
			function, ok := c.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"send", "sizeOf", "pairOf", "isTrueOf", "dispatch"},
				function.Sel.Name) {
				return true
			}
			name := ""
			switch s := c.Args[1].(type) {
			case *ast.Ident:
				name = s.Name
			case *ast.IndexExpr:
				if i, ok := s.Index.(*ast.Ident); ok {
					name = i.Name
				}
			}
			switch {
			case strings.HasPrefix(name, "sel"):
				all = append(all, sent{function.Sel.Name, name, len(c.Args) - 2})
			case name == "s": // Attach and Detach, which pass theirs on
				for _, passed := range []string{"selAddSet", "selRemoveSet"} {
					all = append(all, sent{function.Sel.Name, passed, len(c.Args) - 2})
				}
			default:
				t.Errorf("a message whose selector this test cannot read: %s", name)
			}
			return true
		})
	}
	return all
}

// constants are the selectors by the names of their constants.
func constants(t *testing.T) map[string]selector {
	t.Helper()
	all := map[string]selector{}
	for _, f := range files(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if ok && strings.HasPrefix(v.Names[0].Name, "sel") && v.Names[0].Name != "selectors" {
				all[v.Names[0].Name] = selector(len(all))
			}
			return true
		})
	}
	if len(all) != int(selectors) {
		t.Fatalf("%d constants were read, there are %d selectors", len(all), selectors)
	}
	return all
}

func files(t *testing.T) (all []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skip("the source is not beside this test: it runs elsewhere than it was built")
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}
