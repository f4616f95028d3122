package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"testing"
)

// The files of a package have an order in which most of them use only what stands below
// them: the whole comes first, its parts after it. At most mostBack of the references
// between files run back up. A package with fewer than fewReferences is too small for a
// share.
const (
	mostBack      = 10. / 100
	fewReferences = 20
)

// backUp are packages of which more may run back up: how much, in parts of 100, with some
// room above what was measured.
var backUp = map[string]struct {
	most int
	why  string
}{
	"cmd/gpumem/diagnosis":     {18, "a watch and its judge know each other"},
	"internal/eval/scoreboard": {40, "a tool of developers"},
	"internal/secret":          {17, "the walk over a text and the words that it looks for"},
	"metal/metaltest":          {15, "suite.go lists the tests and has what they share"},
	"metal/soft":               {25, "a device, its buffers and its temporaries know each other"},
	"report":                   {15, "document.go lists the sections of the page and has what they share"},
	"report/export":            {20, "export.go lists the formats and has what they share"},
	"report/peak":              {16, "a case and the reasons for it"},
	"tracer":                   {18, "recording.go has what its parts fill"},
	"tracer/attach":            {17, "python_linux.go begins the entering and has what its steps share"},
	"tracer/importer":          {14, "importer.go lists the formats, and some hold others"},
	"workloads":                {20, "workloads.go lists the programs and has what they share"},
	"workloads/tensor":         {15, "a tensor and its runtime know each other"},
}

// references are how many names of one file another uses, by their numbers: [user][home].
type references [][]int

// referencesIn counts, for each file, the names of each other file that it uses, each
// name once: functions, types, variables and constants, and methods that are not
// exported. A name that is declared in several files, as for several systems, and a
// method that is called as a field is, are left out: the source alone does not say which
// one is meant.
func referencesIn(files []*ast.File) references {
	names, methods, fields := map[string]int{}, map[string]int{}, map[string]bool{}
	for i, f := range files {
		for _, d := range f.Decls {
			for _, name := range declared(d) {
				note(names, name, i)
			}
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && !m.Name.IsExported() {
				note(methods, m.Name.Name, i)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, name := range fieldNames(s) {
					fields[name] = true
				}
			}
			return true
		})
	}
	maps.DeleteFunc(methods, func(name string, _ int) bool { return fields[name] })
	out := make(references, len(files))
	for i, f := range files {
		out[i] = make([]int, len(files))
		usedNames, usedMethods := usedIn(f)
		for _, used := range []struct{ by, home map[string]int }{{usedNames, names}, {usedMethods, methods}} {
			for name := range used.by {
				if at, ok := used.home[name]; ok && at >= 0 && at != i {
					out[i][at]++
				}
			}
		}
	}
	return out
}

// note keeps the file that declares a name, -1 for several.
func note(home map[string]int, name string, file int) {
	if at, ok := home[name]; ok && at != file {
		file = -1
	}
	home[name] = file
}

// declared are the names that a declaration gives a package, without methods.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "_" })
}

func fieldNames(s *ast.StructType) (names []string) {
	for _, f := range s.Fields.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// usedIn are the names that a file uses as they are, and those behind a dot.
func usedIn(f *ast.File) (names, selected map[string]int) {
	names, selected = map[string]int{}, map[string]int{}
	own := map[*ast.Ident]bool{} // a name that is not the package's
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			own[n.Sel] = true
			selected[n.Sel.Name]++
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				own[id] = true
			}
		case *ast.Field:
			for _, id := range n.Names {
				own[id] = true
			}
		case *ast.Ident:
			if !own[n] {
				names[n.Name]++
			}
		}
		return true
	})
	return names, selected
}

// back is how many references run back up in an order of files, and how many there are.
func (r references) back(order []int) (back, all int) {
	for x, f := range order {
		for y, g := range order {
			all += r[f][g]
			if y < x {
				back += r[f][g]
			}
		}
	}
	return back, all
}

// order is an order of the files in which few references run back up: it begins with
// those that use much and are used little, and moves one file after another as long as
// that helps. A better one may exist; the same files get the same order.
func (r references) order() []int {
	order, surplus := make([]int, len(r)), make([]int, len(r))
	for f := range r {
		order[f] = f
		for g := range r {
			surplus[f] += r[f][g] - r[g][f]
		}
	}
	slices.SortStableFunc(order, func(f, g int) int { return cmp.Compare(surplus[g], surplus[f]) })
	for moved := true; moved; {
		moved = false
		for at := range order {
			if to := r.better(order, at); to != at {
				f := order[at]
				order = slices.Insert(slices.Delete(order, at, at+1), to, f)
				moved = true
			}
		}
	}
	return order
}

// better is the place of the order at which the file at a place has the fewest
// references that run back up.
func (r references) better(order []int, at int) int {
	f, best, most := order[at], at, 0
	for gain, to := 0, at-1; to >= 0; to-- {
		gain += r[f][order[to]] - r[order[to]][f]
		if gain > most {
			best, most = to, gain
		}
	}
	for gain, to := 0, at+1; to < len(order); to++ {
		gain += r[order[to]][f] - r[f][order[to]]
		if gain > most {
			best, most = to, gain
		}
	}
	return best
}

func TestReferencesBetweenFilesRunOneWay(t *testing.T) {
	t.Parallel()
	packages := map[string][]*ast.File{}
	for _, f := range treeFiles(t, false) {
		packages[path.Dir(f.at)] = append(packages[path.Dir(f.at)], f.ast)
	}
	seen := 0
	for _, in := range slices.Sorted(maps.Keys(packages)) {
		r := referencesIn(packages[in])
		back, all := r.back(r.order())
		seen += all
		share, most := float64(back)/max(float64(all), 1), mostBack
		if e, ok := backUp[in]; ok {
			if share <= mostBack {
				t.Errorf("%s is an exception, and needs none: %d of %d", in, back, all)
			}
			most = float64(e.most) / 100
		}
		if all >= fewReferences && share > most {
			t.Errorf("%s: %d of %d references between files run back up (%.1f %%), at most %.0f %% may", in, back,
				all, 100*share, 100*most)
		}
		t.Logf("%-28s %4d of %4d %5.1f %%", in, back, all, 100*share)
	}
	for in := range backUp {
		if packages[in] == nil {
			t.Errorf("%s is an exception, and is not there", in)
		}
	}
	if seen < 3000 {
		t.Errorf("%d references were seen: the test looks at nothing", seen)
	}
}

func TestWhatRunsBackUpIsCountedInAGoodOrderOfTheFiles(t *testing.T) {
	t.Parallel()
	var files []*ast.File
	for _, source := range []string{
		`package p; type base struct{ size int }; func (b *base) grow() { b.size++ }`,
		`package p; func top() { m := middle(); m.grow(); late() }`,
		`package p; func middle() *base { return &base{size: limit} }; const limit = 1`,
		`package p; func late() { middle(); other() }; func size() {}`,
		`package p; func other() { _ = limit; late() }`,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "f.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	r := referencesIn(files)
	// top uses middle, grow and late; middle base; late middle and other; other limit and late.
	if back, all := r.back(r.order()); back != 1 || all != 8 {
		t.Errorf("%d of %d run back up in the order %v: %v", back, all, r.order(), r)
	}
	if back, _ := r.back([]int{0, 1, 2, 3, 4}); back != 5 {
		t.Errorf("%d run back up in the order of the list", back)
	}
}
