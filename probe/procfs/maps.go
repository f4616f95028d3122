package procfs

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// maxLine bounds a line: a path of 4096 bytes, each escaped into four, and
// the fields before it.
const maxLine = 32 << 10

// Mapping is one line of maps, the head of an entry of smaps.
type Mapping struct {
	Start, End uint64
	Perms      [4]byte // rwxp, rwxs
	Offset     uint64
	Device     Device // of the file system
	Inode      uint64
	Path       string // unescaped and without " (deleted)"
	Deleted    bool
}

// Contains reports whether an address lies in the mapping.
func (m *Mapping) Contains(address uint64) bool { return m.Start <= address && address < m.End }

// Executable reports whether code may run there.
func (m *Mapping) Executable() bool { return m.Perms[2] == 'x' }

// Usage is memory in bytes. A figure that the kernel did not print is Unknown
// in a single answer; a sum holds what was printed.
type Usage struct {
	Size          int64 // address space, means little
	RSS           int64
	PSS           int64 // shared pages divided by their users
	SharedClean   int64
	SharedDirty   int64
	PrivateClean  int64
	PrivateDirty  int64
	Anonymous     int64
	AnonHugePages int64
	Hugetlb       int64 // private and shared; not part of RSS
	Swap          int64
	SwapPSS       int64
	Locked        int64
}

// UnknownUsage is a Usage of which nothing is known.
func UnknownUsage() Usage {
	return Usage{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown,
		Unknown, Unknown, Unknown}
}

// USS is what would be freed if the process ended: its private pages.
func (u *Usage) USS() int64 {
	if u.PrivateClean == Unknown || u.PrivateDirty == Unknown {
		return Unknown
	}
	return u.PrivateClean + u.PrivateDirty
}

// field is the figure that the kernel calls name, nil for those not kept.
func (u *Usage) field(name []byte) *int64 {
	switch string(name) {
	case "Size":
		return &u.Size
	case "Rss":
		return &u.RSS
	case "Pss":
		return &u.PSS
	case "Shared_Clean":
		return &u.SharedClean
	case "Shared_Dirty":
		return &u.SharedDirty
	case "Private_Clean":
		return &u.PrivateClean
	case "Private_Dirty":
		return &u.PrivateDirty
	case "Anonymous":
		return &u.Anonymous
	case "AnonHugePages":
		return &u.AnonHugePages
	case "Private_Hugetlb", "Shared_Hugetlb":
		return &u.Hugetlb
	case "Swap":
		return &u.Swap
	case "SwapPss":
		return &u.SwapPSS
	case "Locked":
		return &u.Locked
	}
	return nil
}

// Add adds the figures of v that are known to u.
func (u *Usage) Add(v *Usage) {
	for _, p := range [...]struct{ to, from *int64 }{
		{&u.Size, &v.Size}, {&u.RSS, &v.RSS}, {&u.PSS, &v.PSS},
		{&u.SharedClean, &v.SharedClean}, {&u.SharedDirty, &v.SharedDirty},
		{&u.PrivateClean, &v.PrivateClean}, {&u.PrivateDirty, &v.PrivateDirty},
		{&u.Anonymous, &v.Anonymous}, {&u.AnonHugePages, &v.AnonHugePages}, {&u.Hugetlb, &v.Hugetlb},
		{&u.Swap, &v.Swap}, {&u.SwapPSS, &v.SwapPSS}, {&u.Locked, &v.Locked},
	} {
		*p.to = sum(*p.to, *p.from)
	}
}

// sum adds two figures; an unknown one does not count, and a sum that does
// not fit stays at the greatest number.
func sum(a, b int64) int64 {
	switch {
	case b == Unknown:
		return a
	case a == Unknown:
		return b
	case a > math.MaxInt64-b:
		return math.MaxInt64
	}
	return a + b
}

// Scanner reads the entries of maps, smaps or smaps_rollup one by one, in
// constant memory. It belongs to one goroutine.
type Scanner struct {
	r       io.Reader
	buf     []byte
	lo, hi  int
	skip    bool // the rest of a line that was too long
	pending Mapping
	have    bool // pending holds the head of the next entry

	m    Mapping
	u    Usage
	bad  int
	err  error
	done bool
}

// NewScanner makes a scanner over r.
func NewScanner(r io.Reader) *Scanner { return &Scanner{r: r, buf: make([]byte, maxLine)} }

// Scan moves on to the next entry; it returns false at the end and on errors.
func (s *Scanner) Scan() bool {
	s.u = UnknownUsage()
	started := s.have
	if s.have {
		s.m, s.have = s.pending, false
	}
	for {
		line, ok := s.line()
		if !ok {
			return started
		}
		if name, value, ok := cutField(line); ok {
			if started {
				s.figure(name, value)
			}
			continue
		}
		m, ok := parseMapping(line)
		switch {
		case !ok:
			s.bad++
		case started:
			s.pending, s.have = m, true
			return true
		default:
			s.m, started = m, true
		}
	}
}

// Mapping is the entry's head. It is valid until the next Scan.
func (s *Scanner) Mapping() *Mapping { return &s.m }

// Usage is the entry's figures, Unknown for those not printed, all of them in
// maps. It is valid until the next Scan.
func (s *Scanner) Usage() *Usage { return &s.u }

// Bad is the number of lines that could not be understood so far.
func (s *Scanner) Bad() int { return s.bad }

// Err is the first error of the reader other than io.EOF. The entry during
// which it came is still returned by Scan.
func (s *Scanner) Err() error { return s.err }

// figure stores a figure of the current entry.
func (s *Scanner) figure(name, value []byte) {
	f := s.u.field(name)
	if f == nil {
		return
	}
	kib, rest := leadingDecimal(bytes.TrimSpace(value))
	if kib < 0 || kib > math.MaxInt64>>10 || !bytes.Equal(bytes.TrimSpace(rest), []byte("kB")) {
		s.bad++
		return
	}
	*f = sum(*f, kib<<10)
}

// cutField splits "Rss:   4 kB" at its colon. A head has a blank first.
func cutField(line []byte) (name, value []byte, ok bool) {
	for i, c := range line {
		switch c {
		case ':':
			return line[:i], line[i+1:], i > 0
		case ' ', '\t', '-':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// line returns the next line without its end, valid until the next call.
func (s *Scanner) line() ([]byte, bool) {
	for {
		if i := bytes.IndexByte(s.buf[s.lo:s.hi], '\n'); i >= 0 {
			line := s.buf[s.lo : s.lo+i]
			s.lo += i + 1
			if s.skip {
				s.skip = false
				continue
			}
			return line, true
		}
		if s.done {
			line := s.buf[s.lo:s.hi]
			s.lo = s.hi
			return line, len(line) > 0 && !s.skip
		}
		s.fill()
	}
}

// fill reads more. A line that fills the whole buffer is dropped and counted.
func (s *Scanner) fill() {
	if s.lo > 0 {
		s.hi = copy(s.buf, s.buf[s.lo:s.hi])
		s.lo = 0
	}
	if s.hi == len(s.buf) {
		s.hi = 0
		if !s.skip {
			s.bad++
		}
		s.skip = true
	}
	for range 100 { // as bufio: a reader that never moves is broken
		n, err := s.r.Read(s.buf[s.hi:])
		s.hi += n
		if err != nil {
			s.done = true
			if err != io.EOF {
				s.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	s.done, s.err = true, fmt.Errorf("read mappings: %w", io.ErrNoProgress)
}

// parseMapping reads one line of maps.
func parseMapping(line []byte) (Mapping, bool) {
	var m Mapping
	var ok bool
	if m.Start, line, ok = hex(line, '-'); !ok {
		return Mapping{}, false
	}
	if m.End, line, ok = hex(line, ' '); !ok || m.End < m.Start || len(line) < 5 || line[4] != ' ' {
		return Mapping{}, false
	}
	copy(m.Perms[:], line)
	if m.Offset, line, ok = hex(line[5:], ' '); !ok {
		return Mapping{}, false
	}
	i := bytes.IndexByte(line, ' ')
	if i < 0 {
		return Mapping{}, false
	}
	if major, minor, ok := bytes.Cut(line[:i], []byte(":")); ok {
		m.Device = deviceOf(major, minor, 16)
	}
	inode, rest := leadingDecimal(line[i+1:])
	if inode < 0 {
		return Mapping{}, false
	}
	m.Inode = uint64(inode)
	path := bytes.TrimLeft(rest, " ")
	if cut, found := bytes.CutSuffix(path, []byte(" (deleted)")); found {
		path, m.Deleted = cut, true
	}
	m.Path = unescape(path)
	return m, true
}

// hex reads a hexadecimal number that ends at sep.
func hex(b []byte, sep byte) (v uint64, rest []byte, ok bool) {
	for i, c := range b {
		var d byte
		switch {
		case c == sep:
			return v, b[i+1:], i > 0 && i <= 16
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		default:
			return 0, nil, false
		}
		v = v<<4 | uint64(d)
	}
	return 0, nil, false
}

// leadingDecimal reads a decimal number, -1 when there is none or it is too
// great.
func leadingDecimal(b []byte) (int64, []byte) {
	v, i := int64(0), 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		d := int64(b[i] - '0')
		if v > (math.MaxInt64-d)/10 {
			return -1, b
		}
		v = v*10 + d
	}
	if i == 0 {
		return -1, b
	}
	return v, b[i:]
}

// unescape undoes the kernel's octal escapes (a line end in a path is \012).
func unescape(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+3 < len(b) && isOctal(b[i+1]) && isOctal(b[i+2]) && isOctal(b[i+3]) {
			out = append(out, (b[i+1]-'0')<<6|(b[i+2]-'0')<<3|(b[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, b[i])
	}
	return string(out)
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }
