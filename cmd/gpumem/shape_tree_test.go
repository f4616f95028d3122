package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// The bounds of the tree's production files. "Mostly" has a number too, so that what
// is long does not become usual.
const (
	mostLines     = 500 // of a file
	usualLines    = 400
	longFiles     = 1. / 100 // at most this share of files has more than usualLines
	mostBody      = 60       // lines of a function
	usualBody     = 40
	longBodies    = 2. / 100 // at most this share of functions has more than usualBody
	mostColumns   = 110      // of a line, a tab taking four
	wideLines     = 2. / 1000
	tabAsSpaces   = "    "
	wholeTreeSeen = 700 // files: fewer mean that the test looks at nothing
)

// longFunctions are functions that may have more than mostBody lines.
var longFunctions = map[string]string{
	"cmd/gpumem newRoot":            "one line for each command",
	"internal/secret kindOf":        "a table of words",
	"metal/metaltest commandTests":  "a table of subtests",
	"tracer/capture entryProgram":   "one program for the kernel, an instruction a line",
	"tracer/capture (Reader) Cells": "one line for each column",
	"tracer/capture nameOffsets":    "the layout of one section of a symbol file",
}

// unusedExports are functions that are exported though only their package calls them.
var unusedExports = map[string]string{
	"probe/drm.Devices":            "the source's contract: what there is, without opening it",
	"probe/drm.Open":               "each source opens the machine's files, or others in tests",
	"probe/kfd.Open":               "each source opens the machine's files, or others in tests",
	"probe/nvml.Open":              "each source opens the machine's library, or another in tests",
	"probe/mapping.Rollup":         "evidence on demand, for a program that imports the probes",
	"probe/procfs.Number":          "the number in a line of a file of /proc, beside the files it parses",
	"probe/scan.BuildID":           "evidence on demand, for a program that imports the probes",
	"probe/source.Greater":         "one of the two rules for two tellers, beside the other",
	"probe/ttmetal.Decode":         "the layout of the driver's telemetry, for programs that have it as bytes",
	"report/cause.Catalogue":       "all causes with their rules, for who writes them down",
	"tracer/importer.Sniff":        "what a file is, without reading it",
	"tracer/record.FolderName":     "the name of a run's folder belongs to its format",
	"tracer/record.Known":          "a column that the vocabulary has, beside the vocabulary",
	"tracer/ttmetal.DecodeReply":   "the protocol both ways, for a client",
	"tracer/ttmetal.DecodeRequest": "the protocol both ways, for a server",
	"tracer/ttmetal.Detect":        "what a server finds on its machine, for one that is told nothing",
	"tui.New":                      "the screen as a model, for a program that runs it itself",
	"tui.WholeView":                "the view that a source starts with, for a program that feeds the screen",
}

// importedRooms are the packages that Go programs import: all that they export is for
// others.
var importedRooms = []string{"pool", "metal", "tracer/agent", "workloads/gguf", "workloads/tensor"}

// sizeParsers read sizes that people or other programs wrote; who prints one calls
// internal/units.
var sizeParsers = map[string]string{
	"internal/units/bytes.go":   "prints them",
	"cmd/gpumem/option/size.go": "reads a flag, and prints it as it may be given",
	"probe/drm/fdinfo.go":       "reads the kernel's",
	"report/peak/untold.go":     "reads an error of a framework",
	"tracer/importer/smi.go":    "reads another tool's",
}

// treeFile is one file of the tree, parsed.
type treeFile struct {
	at   string // with slashes, below the root
	text string
	set  *token.FileSet
	ast  *ast.File
}

// treeFiles are the Go files of the tree, tests apart when they are not wanted. Who gets
// them reads them: they are the same for all.
func treeFiles(t *testing.T, tests bool) []treeFile {
	t.Helper()
	all, err := parsedTree()
	if err != nil {
		t.Fatal(err)
	}
	var out []treeFile
	for _, f := range all {
		if tests || !strings.HasSuffix(f.at, "_test.go") {
			out = append(out, f)
		}
	}
	if len(out) < wholeTreeSeen {
		t.Fatalf("%d files were seen: the test looks at nothing", len(out))
	}
	return out
}

// parsedTree parses every Go file of the tree, once: with the race detector it takes seconds.
var parsedTree = sync.OnceValues(func() (out []treeFile, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return errorOrSkip(err)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		out = append(out, treeFile{filepath.ToSlash(rel), string(text), set, parsed})
		return nil
	})
	return out, err
})

func TestNoTypeHasTooManyMethods(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, f := range treeFiles(t, false) {
		for _, d := range f.ast.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
				methods[path.Dir(f.at)+"."+receiver(m)]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := methods[name]; n > mostMethods {
			t.Errorf("%s has %d methods, at most %d are allowed: divide it along its nouns", name, n,
				mostMethods)
		}
	}
}

func TestFilesAndFunctionsAndLinesAreShort(t *testing.T) {
	t.Parallel()
	var files, long, functions, longer, lines, wide int
	for _, f := range treeFiles(t, false) {
		n := strings.Count(f.text, "\n")
		files, lines = files+1, lines+n
		if n > usualLines {
			long++
		}
		if n > mostLines {
			t.Errorf("%s has %d lines, at most %d are allowed", f.at, n, mostLines)
		}
		for line := range strings.Lines(f.text) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", tabAsSpaces)
			if utf8.RuneCountInString(line) > mostColumns {
				wide++
			}
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			body := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
			if body > usualBody {
				longer++
			}
			if name := functionName(f.at, fn); body > mostBody && longFunctions[name] == "" {
				t.Errorf("%s has %d lines, at most %d are allowed", name, body, mostBody)
			}
		}
	}
	for _, c := range []struct {
		n, of int
		share float64
		what  string
	}{
		{long, files, longFiles, "files have more than 400 lines"},
		{longer, functions, longBodies, "functions have more than 40 lines"},
		{wide, lines, wideLines, "lines are wider than 110 columns"},
	} {
		if float64(c.n) > c.share*float64(c.of) {
			t.Errorf("%d of %d %s, at most %.0f may", c.n, c.of, c.what, c.share*float64(c.of))
		}
	}
}

// functionName is "folder name", with the type of a method in between.
func functionName(in string, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return path.Dir(in) + " " + f.Name.Name
	}
	return path.Dir(in) + " (" + receiver(f) + ") " + f.Name.Name
}

// A function that no other package calls, and no test from outside of its package,
// is the package's own affair.
func TestWhatIsExportedIsCalledFromOutside(t *testing.T) {
	t.Parallel()
	exported, called := map[string]bool{}, map[string]bool{}
	for _, f := range treeFiles(t, true) {
		in := path.Dir(f.at)
		for name := range callsOf(f, in) {
			called[name] = true
		}
		if f.ast.Name.Name == "main" || strings.HasSuffix(f.at, "_test.go") ||
			slices.ContainsFunc(importedRooms, func(room string) bool { return covers(room, in) }) {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
				exported[in+"."+fn.Name.Name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		if !called[name] && unusedExports[name] == "" {
			t.Errorf("%s is exported and called by nobody outside of its package", name)
		}
	}
	for name := range unusedExports {
		if !exported[name] {
			t.Errorf("%s is an exception, and is not there", name)
		}
	}
}

// callsOf are the names of packages of the project that a file uses.
func callsOf(f treeFile, in string) map[string]bool {
	imports, out := map[string]string{}, map[string]bool{}
	for _, i := range f.ast.Imports {
		full, _ := strconv.Unquote(i.Path.Value)
		to, ours := strings.CutPrefix(full, module)
		if !ours {
			continue
		}
		name := path.Base(to)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = to
		if name == "." {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					out[to+"."+id.Name] = true
				}
				return true
			})
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if from, ok := s.X.(*ast.Ident); ok && imports[from.Name] != "" {
				out[imports[from.Name]+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	return out
}

func TestSizesArePrintedInOnePlace(t *testing.T) {
	t.Parallel()
	homes := 0
	literals(t, func(file, at, text string) {
		switch strings.TrimSpace(text) {
		case "KiB", "MiB", "GiB", "TiB", "PiB", "EiB":
			homes++
			if sizeParsers[file] == "" {
				t.Errorf("%s: the unit %q belongs to internal/units, which prints sizes", at, text)
			}
		}
	})
	if homes == 0 {
		t.Error("no unit was seen: the test looks at nothing")
	}
}

// What a package does before main runs cannot be seen by who imports it.
func TestNoPackageActsWhenItIsLoaded(t *testing.T) {
	t.Parallel()
	for _, f := range treeFiles(t, false) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has a function init", f.at)
			}
		}
	}
}

// unfinished are the words by which a place says that it is not done.
func unfinished() []string { return []string{"TO" + "DO", "FIX" + "ME", "HA" + "CK"} }

func TestNothingSaysThatItIsUnfinished(t *testing.T) {
	t.Parallel()
	for _, f := range treeFiles(t, true) {
		for _, word := range unfinished() {
			if strings.Contains(f.text, word) {
				t.Errorf("%s has %q", f.at, word)
			}
		}
	}
}
