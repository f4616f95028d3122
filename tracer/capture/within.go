package capture

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// inlinedInto is between a function and the one that it was inlined into.
const inlinedInto = ", inlined into "

// languages begin the names of functions that compilers bring along, and of allocators that
// are linked into programs: they work for whoever calls them.
var languages = [...]string{"std::", "__gnu_cxx::", "operator new", "core::", "alloc::", "hashbrown::",
	"__rust_", "__rdl_", "runtime.", "internal/", "slices.", "maps.", "strings.", "bytes.", "reflect.",
	"tcmalloc::", "je_", "_rjem_", "_mi_"}

// headers are the folders of their sources.
var headers = [...]string{"/usr/include/", "/rustc/", "/usr/local/go/src/", "/usr/lib/go"}

// ProgramsPlace is, of a place and of those that called it, as NamePlaces names them, the
// first in code that is not the language's own: of what is inlined only from there on.
// Beside what has a name, what has none is no call. Empty where there is no such place.
func ProgramsPlace(chain []string) string {
	for _, place := range chain {
		if isNameless(place) && slices.ContainsFunc(chain, func(other string) bool {
			return !isNameless(other)
		}) {
			continue
		}
		levels := strings.Split(place, inlinedInto)
		for i, level := range levels {
			if !isLanguages(level) {
				return strings.Join(levels[i:], inlinedInto)
			}
		}
	}
	return ""
}

// isNameless reports whether a place has neither a line nor a function.
func isNameless(place string) bool {
	_, name, _ := strings.Cut(place, " ")
	return name == "" || strings.HasPrefix(name, "(build id ")
}

// isLanguages reports whether a place is in code of the language's own.
func isLanguages(place string) bool {
	at := record.PlaceOf(place)
	if slices.ContainsFunc(headers[:], func(h string) bool { return strings.HasPrefix(at.File, h) }) {
		return true
	}
	name := at.Name
	if at.File == "" {
		_, name, _ = strings.Cut(place, " ")
	}
	name = strings.TrimLeft(name, "<&")
	return slices.ContainsFunc(languages[:], func(l string) bool { return strings.HasPrefix(name, l) })
}

// IsInterpreter reports whether a file is an interpreter, or the library that is one:
// its code works for a program in another language.
func IsInterpreter(path string) bool {
	name, _, _ := strings.Cut(filepath.Base(path), ".so")
	return interprets(strings.TrimPrefix(name, "lib"))
}
