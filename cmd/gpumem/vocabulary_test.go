package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// foreign are files that read or write the words of another tool, some of which
// are spelt like columns.
var foreign = map[string]string{
	"tracer/importer/tl.go":      "reads logs of the TL runtime",
	"workloads/console/trace.go": "prints lines as the TL runtime does",
}

// literals calls each with every string literal of every Go file of the product
// that is not a tag of a field or the path of an import.
func literals(t *testing.T, each func(file, at, text string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == ".git" {
			return errorOrSkip(err)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				n.Tag = nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					each(filepath.ToSlash(rel), filepath.ToSlash(rel)+
						":"+strconv.Itoa(files.Position(n.Pos()).Line), text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func errorOrSkip(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

// A column that is one plain word, such as "step", is left out: it may mean
// something else.
func TestColumnsAreSpeltInOnePlace(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[a-z0-9]+(_[a-z0-9]+)+`)
	home, all := map[string]bool{}, 0
	literals(t, func(file, at, text string) {
		all++
		for _, word := range words.FindAllString(text, -1) {
			switch _, column := record.ColumnOf(word); {
			case !column || foreign[file] != "":
			case strings.HasPrefix(file, "tracer/record/"):
				home[word] = true
			default:
				t.Errorf("%s: %s is a column: use the constant of package record", at, word)
			}
		}
	})
	for _, c := range record.Columns() {
		if strings.Contains(c.Name, "_") && !home[c.Name] {
			t.Errorf("%s was not seen in package record: the test looks at nothing", c.Name)
		}
	}
	if all < 1000 {
		t.Errorf("%d literals were seen", all)
	}
}

func TestNoFactIsGluedToAPathOutsideOfPackageRecord(t *testing.T) {
	t.Parallel()
	facts := record.Holder{Path: "/", Gone: true, Graph: "/"}.String()
	glued := strings.FieldsFunc(facts, func(c rune) bool { return c == '/' })
	if len(glued) != 2 {
		t.Fatalf("%q", facts)
	}
	literals(t, func(file, at, text string) {
		for _, words := range glued {
			if strings.Contains(text, strings.Trim(words, " :")) &&
				!strings.HasPrefix(file, "tracer/record/") {
				t.Errorf("%s: %q: say it by a field of record.Holder", at, text)
			}
		}
	})
}
