package children

import "slices"

// pythonProgram is what a program in Python does, and how.
type pythonProgram struct {
	name, code string
	differs    []difference
}

// pythonPrograms are what programs in Python do.
func pythonPrograms() []kind {
	var all []kind
	for _, p := range slices.Concat(pythonEnds(), pythonParents(), pythonWatchers(), pythonBreakers()) {
		all = append(all, kind{
			name: "python that " + p.name, py: p.code, differs: p.differs, rules: []rule{addresses},
		})
	}
	return all
}
