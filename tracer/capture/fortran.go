package capture

import "strings"

// fortranName is a procedure of Fortran as its source calls it, modules first: gfortran
// links those of modules as __fields_MOD_refine, flang as _QMfieldsPrefine. False of any
// other name; what other compilers link, fields_refine_, tells no module without
// debugging information.
func fortranName(linked string) (string, bool) {
	if scopes, ok := strings.CutPrefix(linked, "_Q"); ok {
		return flangName(scopes)
	}
	rest, ok := strings.CutPrefix(linked, "__")
	module, procedure, found := strings.Cut(rest, "_MOD_")
	procedure, _, _ = strings.Cut(procedure, ".") // a copy that the compiler made
	if !ok || !found || procedure == "" || !fortranIdentifier(strings.ReplaceAll(module, ".", "")) {
		return "", false
	}
	return strings.ReplaceAll(module, ".", "::") + "::" + procedure, true
}

// flangName reads scopes, each a capital letter and a name: of a module, a submodule, a
// procedure that has others in it, and the procedure.
func flangName(scopes string) (string, bool) {
	scopes, _, _ = strings.Cut(scopes, ".")
	var names []string
	for scopes != "" {
		kind := scopes[0]
		end := 1
		for end < len(scopes) && (scopes[end] < 'A' || scopes[end] > 'Z') {
			end++
		}
		last := kind == 'P' && end == len(scopes)
		if !last && kind != 'M' && kind != 'S' && kind != 'F' || !fortranIdentifier(scopes[1:end]) {
			return "", false
		}
		names, scopes = append(names, scopes[1:end]), scopes[end:]
		if scopes == "" && !last {
			return "", false
		}
	}
	return strings.Join(names, "::"), len(names) > 0
}

// fortranIdentifier reports whether a name is one that a compiler of Fortran made small.
func fortranIdentifier(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// sourceName is the name of a function that debugging information has, linked, and as the
// source calls it where that is told. Compilers of Fortran put an underscore behind the
// name, and most the module before it.
func sourceName(linked, name string) string {
	if name != "" {
		if module, ok := strings.CutSuffix(linked, "_"+name+"_"); ok && fortranIdentifier(module) {
			return module + "::" + name
		}
		if linked == name+"_" {
			return name
		}
	}
	return demangled(linked)
}
