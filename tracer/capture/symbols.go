package capture

import (
	"debug/elf"
	"encoding/hex"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// name gives the program counters of call sites their names.
func (s *addressSpace) name(pid int, pcs []uint64) map[uint64]string {
	if s.names == nil {
		s.names = map[uint64]string{}
	}
	byFile := map[string][]uint64{} // path: offsets in the file
	at := map[string]map[uint64][]uint64{}
	for _, pc := range pcs {
		if _, known := s.names[pc]; known {
			continue
		}
		m, ok := s.find(pc)
		if !ok {
			continue // perhaps a later snapshot knows
		}
		// The instruction before the return address is the call.
		offset := pc - 1 - m.start + m.offset
		byFile[m.path] = append(byFile[m.path], offset)
		if at[m.path] == nil {
			at[m.path] = map[uint64][]uint64{}
		}
		at[m.path][offset] = append(at[m.path][offset], pc)
	}
	for path, offsets := range byFile {
		for offset, text := range nameOffsets(pid, path, offsets, s.places, maxInlined) {
			for _, pc := range at[path][offset] {
				s.names[pc] = text
			}
		}
	}
	out := map[uint64]string{}
	for _, pc := range pcs {
		out[pc] = s.names[pc]
		if out[pc] == "" && pc != 0 {
			out[pc] = "0x" + strconv.FormatUint(pc, 16)
		}
	}
	return out
}

// NamePlaces names places of a file that a process has, or had, mapped: by the offsets of
// instructions in it, of calls those of their last byte. The names are those of Sites.
func NamePlaces(pid int, path string, offsets []uint64) map[uint64]string {
	return nameOffsets(pid, path, offsets, nil, mostInlined)
}

// nameOffsets names places of one file. The library's own view of the file
// system counts, while the process lives.
// What was found out in places stands for all processes that run the same build.
func nameOffsets(pid int, path string, offsets []uint64, places *places, levels int) map[uint64]string {
	base := filepath.Base(path)
	out := map[uint64]string{}
	for _, o := range offsets {
		out[o] = base + "+0x" + strconv.FormatUint(o+1, 16)
	}
	f := openELF(pid, path)
	if f == nil {
		return out
	}
	defer f.Close()
	id := buildIDOf(f)
	offsets = places.known(id, offsets, out)
	if len(offsets) == 0 {
		return out
	}
	defer func() { places.keep(id, offsets, out) }()
	apart := debugFile(f, path, rootsOf(pid))
	if apart != nil {
		defer apart.Close()
	}
	table := symbolTable{file: f, best: map[uint64]symbol{}}
	byAddress := map[uint64]uint64{}
	for _, o := range offsets {
		if address, ok := table.address(o); ok {
			byAddress[address] = o
			table.want = append(table.want, address)
		}
	}
	slices.Sort(table.want)
	table.scan(f, elf.SHT_SYMTAB, elf.SHT_DYNSYM)
	if apart != nil {
		table.scan(apart, elf.SHT_SYMTAB)
	}
	source := linesOf(f, apart)
	named := map[uint64]bool{}
	var ofGo *goTable
	if source == nil && len(table.best) == 0 {
		ofGo = newGoTable(f)
	}
	for address, o := range byAddress {
		if place := ofGo.place(address); place != "" {
			out[o], named[o] = place, true
		}
		name := ""
		if sym, ok := table.best[address]; ok {
			name = sym.text()
		}
		if name != "" {
			out[o] += " " + name
			named[o] = true
		}
		if source == nil {
			continue
		}
		if place := source.place(address, name, levels); place != "" {
			out[o], named[o] = place, true
		}
	}
	if id != "" {
		for _, o := range offsets {
			if !named[o] {
				out[o] = base + "+0x" + strconv.FormatUint(o+1, 16) + " (build id " + id + ")"
			}
		}
	}
	return out
}

// linesOf reads the debugging information of a file, which may stand in one apart; nil
// where there is none.
func linesOf(f, apart *elf.File) *lines {
	for _, from := range [...]*elf.File{f, apart} {
		if from == nil {
			continue
		}
		if l, err := newLines(from); err == nil {
			return l
		}
	}
	return nil
}

// rootsOf are the file systems that a process's files are looked for in: its own, and
// ours.
func rootsOf(pid int) []string { return []string{proc.Path(pid, "root"), ""} }

func openELF(pid int, path string) *elf.File {
	for _, root := range rootsOf(pid) {
		if f := openRegular(root + path); f != nil {
			return f
		}
	}
	return nil
}

// symbol is a function that covers a wanted address.
type symbol struct {
	file    *elf.File
	section *elf.Section // the table
	name    uint32
	size    uint64
}

// symbolTable looks for the functions at a few addresses in tables that may
// have millions: it reads them in pieces and keeps nothing else.
type symbolTable struct {
	file *elf.File
	want []uint64 // ascending
	best map[uint64]symbol
}

// address is where an offset of the file is linked to.
func (t *symbolTable) address(offset uint64) (uint64, bool) {
	for _, p := range t.file.Progs {
		if p.Type == elf.PT_LOAD && offset >= p.Off && offset < p.Off+p.Filesz {
			return offset - p.Off + p.Vaddr, true
		}
	}
	return 0, false
}

func (t *symbolTable) scan(f *elf.File, types ...elf.SectionType) {
	if f.Class != elf.ELFCLASS64 {
		return
	}
	const entry = 24 // of a 64-bit table: name, info, other, section, value, size
	order := f.ByteOrder
	b := make([]byte, 4096*entry)
	for _, s := range f.Sections {
		if !slices.Contains(types, s.Type) || s.Type == elf.SHT_NOBITS {
			continue
		}
		r := s.Open()
		for {
			n, err := io.ReadFull(r, b)
			for at := 0; at+entry <= n; at += entry {
				info, section := b[at+4], order.Uint16(b[at+6:])
				if kind := elf.ST_TYPE(info); (kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC) ||
					section == 0 {
					continue
				}
				t.offer(f, s, order.Uint32(b[at:]), order.Uint64(b[at+8:]), order.Uint64(b[at+16:]))
			}
			if err != nil {
				break
			}
		}
	}
}

// offer keeps a function for the wanted addresses in it; the smallest wins.
func (t *symbolTable) offer(f *elf.File, s *elf.Section, name uint32, value, size uint64) {
	i, _ := slices.BinarySearch(t.want, value)
	for ; i < len(t.want) && t.want[i]-value < size; i++ {
		if old, ok := t.best[t.want[i]]; !ok || size < old.size {
			t.best[t.want[i]] = symbol{f, s, name, size}
		}
	}
}

// text reads the name of a symbol, of at most maxName bytes.
func (sym *symbol) text() string {
	if int(sym.section.Link) >= len(sym.file.Sections) {
		return ""
	}
	b := make([]byte, maxName)
	n, _ := sym.file.Sections[sym.section.Link].ReadAt(b, int64(sym.name))
	name, _, _ := strings.Cut(string(b[:n]), "\x00")
	return demangled(name)
}

const (
	maxNameBits = 12
	maxName     = 1 << maxNameBits
)

// demangled is a C++, Rust or Fortran function as its source calls it, without the types
// of its parameters and templates, which can be longer than a page; any other
// name is what it was.
func demangled(name string) string {
	if fortran, ok := fortranName(name); ok {
		return fortran
	}
	plain := demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams,
		demangle.MaxLength(maxNameBits))
	if plain != name && strings.HasPrefix(name, "_R") {
		return rustName(plain)
	}
	return plain
}

// rustName is the name of a Rust function as the older mangling gives it: without the
// brackets that types left empty, and a method by its type's name alone where no trait
// has it.
func rustName(name string) string {
	name = strings.NewReplacer("::<>", "", "<>", "").Replace(name)
	if !strings.HasPrefix(name, "<") {
		return name
	}
	depth := 0
	for i, c := range name {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		}
		if depth == 0 {
			kind := name[1:i]
			if strings.Contains(kind, " as ") || strings.ContainsAny(kind, "[(&*") {
				return name
			}
			return kind + name[i+1:]
		}
	}
	return name
}

// Library is a file that code of a process came from.
type Library struct {
	Path    string
	BuildID string // hex, empty when the file has none or is gone
}

// Libraries are the files that the call sites of a process lie in, so that a
// report can be resolved again elsewhere. They are sorted by path.
func (r *Reader) Libraries(pid int) []Library {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil {
		return nil
	}
	p.space.refresh(p)
	paths := map[string]bool{}
	for _, frames := range p.ledger.stackAt {
		for _, pc := range frames {
			m, ok := p.space.find(pc)
			if !ok {
				break
			}
			paths[m.path] = true
		}
	}
	out := make([]Library, 0, len(paths))
	for path := range paths {
		out = append(out, Library{path, buildID(pid, path)})
	}
	slices.SortFunc(out, func(a, b Library) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func buildID(pid int, path string) string {
	f := openELF(pid, path)
	if f == nil {
		return ""
	}
	defer f.Close()
	return buildIDOf(f)
}

func buildIDOf(f *elf.File) string {
	for _, s := range f.Sections {
		if s.Name != ".note.gnu.build-id" || s.Size > 4096 {
			continue
		}
		b, err := s.Data()
		// name size 4, description size, type 3, "GNU\0", description
		if err != nil || len(b) < 16 {
			return ""
		}
		n := f.ByteOrder.Uint32(b[4:])
		if uint64(n) <= uint64(len(b)-16) {
			return hex.EncodeToString(b[16 : 16+n])
		}
	}
	return ""
}
