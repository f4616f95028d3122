package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostMethods is how many methods a type of the report may have: one with more has
// more than one duty.
const mostMethods = 40

// decides is the file that tells what findings come to, and shows the one that says
// what a live process is called before the engine has judged it.
const (
	decides = "report/verdict/decide.go"
	shows   = "report/live/judging.go"
)

// classes are the constants that name a verdict's class.
var classes = []string{"None", "AppLeak", "PoolGrowth", "DriverGrowth", "HostGrowth", "Undecided"}

func TestNoTypeOfTheReportHasTooManyMethods(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	eachReportFile(t, func(in string, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[path.Dir(in)+"."+receiver(f)]++
			}
		}
	})
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, at most %d are allowed", name, n, mostMethods)
		}
	}
	if methods["report/verdict.settled"] == 0 {
		t.Error("no methods of report/verdict.settled were seen: the test looks at nothing")
	}
}

func TestTheClassIsWrittenInOneFile(t *testing.T) {
	t.Parallel()
	seen := 0
	eachReportFile(t, func(in string, file *ast.File) {
		for _, name := range writtenClasses(file) {
			if in == decides {
				seen++
			}
			if in != decides && in != shows {
				t.Errorf("%s writes the class %s: only %s may", in, name, decides)
			}
		}
	})
	if seen == 0 {
		t.Errorf("no class is written in %s: the test looks at nothing", decides)
	}
}

func TestAClassThatIsWrittenIsToldFromOneThatIsRead(t *testing.T) {
	t.Parallel()
	const source = `package verdict
func f(v *Verdict) Class {
	v.Verdict = AppLeak
	w := Verdict{Verdict: account.Undecided}
	words := map[Class]string{PoolGrowth: "pool"}
	if v.Verdict == HostGrowth || w.Verdict != verdict.HostGrowth {
		v.Causes = record.None
	}
	switch v.Verdict {
	case DriverGrowth:
		return None
	}
	return v.Verdict
}`
	file, err := parser.ParseFile(token.NewFileSet(), "f.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := writtenClasses(file); !slices.Equal(got, []string{"AppLeak", "Undecided", "None"}) {
		t.Errorf("written: %v", got)
	}
}

// writtenClasses are the classes that a file assigns, returns, or puts into a field.
func writtenClasses(file *ast.File) []string {
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		var values []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			values = n.Rhs
		case *ast.ReturnStmt:
			values = n.Results
		case *ast.KeyValueExpr:
			values = []ast.Expr{n.Value}
		}
		for _, v := range values {
			if name := className(v); name != "" {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

// className is the class that an expression names; empty for none.
func className(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if slices.Contains(classes, e.Name) {
			return e.Name
		}
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok && (from.Name == "account" || from.Name == "verdict") {
			return className(e.Sel)
		}
	}
	return ""
}

// receiver is the name of the type whose method f is.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return "?"
}

// eachReportFile tells each production file below report, with its path in the tree.
func eachReportFile(t *testing.T, tell func(in string, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "report"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		tell(filepath.ToSlash(rel), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
