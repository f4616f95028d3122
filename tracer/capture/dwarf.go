package capture

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is read of a file's debugging information: the files are the
// program's, and may be of any size or make.
const (
	maxDebugBytes = 512 << 20 // of all its sections, uncompressed
	maxDebugTime  = 10 * time.Second
	maxInlined    = 4       // levels of inlined functions that a place names
	mostInlined   = 16      // and one that is looked through for the program's own
	maxEntries    = 4 << 20 // entries of one unit that are looked at for one place
	maxFollowed   = 8       // references from a function to where its name stands
	maxLinkedFile = 4 << 30 // bytes of a file of debugging information whose sum is checked
)

// lines finds the source lines and inlined functions of addresses of one file.
type lines struct {
	data     *dwarf.Data
	deadline time.Time
}

// newLines reads the debugging information of a file; an error where it has none, or
// more than is read.
func newLines(f *elf.File) (*lines, error) {
	total, info := uint64(0), uint64(0) // what Rust leaves in a stripped program has another name
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".debug_") && !strings.HasPrefix(s.Name, ".zdebug_") {
			continue
		}
		if s.Type == elf.SHT_NOBITS { // of a file apart: its place alone, at which the reader fails
			s.Name = ""
			continue
		}
		size, err := unpackedSize(s)
		if total += size; err != nil || size > maxDebugBytes || total > maxDebugBytes {
			return nil, errors.New("too much debugging information")
		}
		if strings.HasSuffix(s.Name, "debug_info") {
			info += size
		}
	}
	if info == 0 {
		return nil, errors.New("no debugging information")
	}
	data, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	return &lines{data, time.Now().Add(maxDebugTime)}, nil
}

// unpackedSize is the size of a section once it is unpacked. Those of the old form of
// compression say it in front.
func unpackedSize(s *elf.Section) (uint64, error) {
	if !strings.HasPrefix(s.Name, ".zdebug_") {
		return s.Size, nil
	}
	b := make([]byte, 12) // "ZLIB" and the size
	if _, err := s.ReadAt(b, 0); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b[4:]), nil
}

// sourceCall is a function at a line.
type sourceCall struct {
	file     string
	line     int
	function string // empty where the information has no name of it
}

// place names an address as "file:line function", with the functions that it was
// inlined into behind, of so many levels; symbol is what the table of symbols calls the outermost
// function, empty for none. It is empty where no line is known.
func (l *lines) place(address uint64, symbol string, levels int) string {
	if time.Now().After(l.deadline) {
		return ""
	}
	calls := l.calls(address, levels)
	if len(calls) == 0 {
		return ""
	}
	if outer := &calls[len(calls)-1]; symbol != "" {
		outer.function = symbol
	}
	text := calls[0].String()
	for _, c := range calls[1:] {
		text += inlinedInto + c.String()
	}
	return text[:min(len(text), maxName)]
}

func (c *sourceCall) String() string {
	return strings.TrimRight(c.file+":"+strconv.Itoa(c.line)+" "+c.function, " ")
}

// calls are the functions at an address, the innermost first, each with the line at
// which it stands or calls the one before.
func (l *lines) calls(address uint64, levels int) (out []sourceCall) {
	// The reader of these tables is made for what compilers write; a file may hold
	// anything.
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	unit, err := l.data.Reader().SeekPC(address)
	if err != nil || unit == nil {
		return nil
	}
	table, err := l.data.LineReader(unit)
	if err != nil || table == nil {
		return nil
	}
	var at dwarf.LineEntry
	if !l.line(table, address, &at) {
		return nil
	}
	dir, _ := unit.Val(dwarf.AttrCompDir).(string)
	now := sourceCall{file: below(dir, at.File.Name), line: at.Line}
	functions := l.functions(unit, address)
	for i := len(functions) - 1; i >= 0; i-- {
		e := functions[i]
		now.function = l.name(e)
		if e.Tag != dwarf.TagInlinedSubroutine || len(out) == levels {
			break
		}
		out = append(out, now)
		file, line := number(e.Val(dwarf.AttrCallFile)), number(e.Val(dwarf.AttrCallLine))
		now = sourceCall{file: "?", line: line}
		if files := table.Files(); file >= 0 && file < len(files) && files[file] != nil {
			now.file = below(dir, files[file].Name)
		}
	}
	return append(out, now)
}

// line finds the line of an address in a table, and reports whether there is one. The
// table's own search takes its sequences to ascend; those of C++ do not, of which
// templates, main and code that is seldom run are placed apart.
func (l *lines) line(table *dwarf.LineReader, address uint64, at *dwarf.LineEntry) bool {
	var next dwarf.LineEntry
	last, inside := dwarf.LineEntry{}, false
	for n := 0; n < maxEntries && table.Next(&next) == nil; n++ {
		if inside && last.Address <= address && address < next.Address && last.File != nil && last.Line > 0 {
			*at = last
			return true
		}
		last, inside = next, !next.EndSequence
		if n%(1<<16) == 0 && time.Now().After(l.deadline) {
			break
		}
	}
	return false
}

// number is a constant of an entry, 0 where it has none.
func number(v any) int {
	n, _ := v.(int64)
	return int(n)
}

// below is a path as the compiler was told it: without the folder that it ran in.
func below(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && len(dir) > 1 {
		return rest
	}
	return path
}

// functions are the function at an address and those inlined there, the outermost
// first.
func (l *lines) functions(unit *dwarf.Entry, address uint64) []*dwarf.Entry {
	var found []*dwarf.Entry
	r := l.data.Reader()
	r.Seek(unit.Offset)
	if _, err := r.Next(); err != nil || !unit.Children {
		return nil
	}
	for n, depth := 0, 1; n < maxEntries && depth > 0; n++ {
		e, err := r.Next()
		if err != nil || e == nil {
			return found
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		function := e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine
		if function || e.Tag == dwarf.TagLexDwarfBlock {
			inside, ranged := l.covers(e, address)
			if function && inside {
				found = append(found, e)
			}
			if !inside && (function || ranged) {
				r.SkipChildren()
				continue
			}
		}
		if e.Children {
			depth++
		}
	}
	return found
}

// covers reports whether an entry has an address in its ranges, and whether it has any.
func (l *lines) covers(e *dwarf.Entry, address uint64) (inside, ranged bool) {
	ranges, err := l.data.Ranges(e)
	if err != nil {
		return false, false
	}
	for _, r := range ranges {
		if address >= r[0] && address < r[1] {
			return true, true
		}
	}
	return false, len(ranges) > 0
}

// name is what the source calls a function; an inlined one has its name elsewhere.
func (l *lines) name(e *dwarf.Entry) string {
	const mips = dwarf.Attr(0x2007) // as compilers wrote the linked name before DWARF 4
	plain := ""
	for range maxFollowed {
		name, _ := e.Val(dwarf.AttrName).(string)
		for _, attr := range [...]dwarf.Attr{dwarf.AttrLinkageName, mips} {
			if linked, ok := e.Val(attr).(string); ok {
				return sourceName(linked[:min(len(linked), maxName)], name)
			}
		}
		plain = cmp.Or(plain, name)
		to, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			to, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		r := l.data.Reader()
		r.Seek(to)
		next, err := r.Next()
		if err != nil || next == nil {
			break
		}
		e = next
	}
	return plain[:min(len(plain), maxName)]
}

// debugFile opens the file that has the debugging information of another one apart:
// by its build id, or by the name and the sum that it gives. It is nil where there is
// none. roots are the file systems to look in, the process's own first.
func debugFile(f *elf.File, path string, roots []string) *elf.File {
	const folder = "/usr/lib/debug"
	id := buildIDOf(f)
	for _, root := range roots {
		if len(id) > 2 {
			if d := openRegular(root + folder + "/.build-id/" + id[:2] + "/" + id[2:] + ".debug"); d != nil {
				return d
			}
		}
	}
	name, sum, ok := debugLink(f)
	if !ok {
		return nil
	}
	dir := filepath.Dir(path)
	for _, root := range roots {
		for _, in := range [...]string{dir, dir + "/.debug", folder + dir} {
			d := openRegular(root + in + "/" + name)
			if d == nil {
				continue
			}
			if other := buildIDOf(d); id != "" && other == id || other == "" && sumIs(root+in+"/"+name, sum) {
				return d
			}
			d.Close()
		}
	}
	return nil
}

// debugLink is the name of the file with the debugging information, and its sum.
func debugLink(f *elf.File) (name string, sum uint32, ok bool) {
	s := f.Section(".gnu_debuglink")
	if s == nil || s.Size > maxName {
		return "", 0, false
	}
	b, err := s.Data()
	if err != nil {
		return "", 0, false
	}
	name, _, ok = strings.Cut(string(b), "\x00")
	at := (len(name) + 4) &^ 3 // the sum begins at a multiple of four
	if !ok || name == "" || strings.ContainsRune(name, '/') || at+4 > len(b) {
		return "", 0, false
	}
	return name, f.ByteOrder.Uint32(b[at:]), true
}

// sumIs reports whether a file has a sum.
func sumIs(path string, want uint32) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	h := crc32.NewIEEE()
	n, err := io.Copy(h, io.LimitReader(f, maxLinkedFile))
	return err == nil && n < maxLinkedFile && h.Sum32() == want
}

// openRegular opens an ELF file; nil for anything else.
func openRegular(path string) *elf.File {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	return f
}
