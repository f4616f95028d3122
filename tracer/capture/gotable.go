package capture

import (
	"debug/elf"
	"debug/gosym"
	"strconv"
)

// maxGoTable bounds Go's table of functions that is read, in bytes: that of the largest
// programs has some 100 MiB.
const maxGoTable = 256 << 20

// goTable finds functions and lines of a program in Go by the table that its own traces
// use, which stripping leaves in place.
type goTable struct{ table *gosym.Table }

// newGoTable reads the table of a file; nil of one that has none.
func newGoTable(f *elf.File) (t *goTable) {
	// The reader of this table is made for what Go's linker writes; a file may hold anything.
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	section, text := f.Section(".gopclntab"), f.Section(".text")
	if section == nil || text == nil || section.Size > maxGoTable {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return nil
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil
	}
	return &goTable{table}
}

// place names an address as "file:line function"; it is empty where the table has none.
func (t *goTable) place(address uint64) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	if t == nil {
		return ""
	}
	file, line, function := t.table.PCToLine(address)
	if function == nil || line <= 0 {
		return ""
	}
	text = file + ":" + strconv.Itoa(line) + " " + function.Name
	return text[:min(len(text), maxName)]
}
