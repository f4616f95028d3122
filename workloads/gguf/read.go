package gguf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Limits of the format, and ours where it has none. A header beyond
// maxHeader or a string beyond maxString is refused: real ones are some
// megabytes, and a sparse file costs nothing to claim terabytes.
const (
	magic            = 0x46554747 // "GGUF" read as a little-endian u32
	defaultAlignment = 32
	maxAlignment     = 1 << 20
	maxKey           = 1<<16 - 1
	maxTensorName    = 64
	maxDims          = 4
	maxString        = 64 << 20
	maxHeader        = 1 << 30
	maxArrayDepth    = 4
)

// File is the header of a GGUF file and a way to its tensor data. It is
// immutable and safe for concurrent use.
type File struct {
	Version   uint32
	Alignment uint64
	// DataOffset is where the tensor data section begins.
	DataOffset int64
	Metadata   []Entry
	Tensors    []Tensor

	src    io.ReaderAt
	closer io.Closer
}

// Open reads the header of the file at path. Close gives the file up.
func Open(path string) (*File, error) {
	st, err := os.Stat(path) // opening a named pipe would wait for who writes it
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	g, err := Read(f, st.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open model %s: %w", path, err)
	}
	g.closer = f
	return g, nil
}

// Read reads the header of a GGUF file of so many bytes. What is wrong with
// the content is a FormatError. The caller keeps r open while it uses Data.
func Read(r io.ReaderAt, size int64) (*File, error) {
	s := newScanner(r, size)
	f := &File{src: r}
	tensors, entries, err := readPreamble(s, f)
	if err != nil {
		return nil, err
	}
	if err := readMetadata(s, f, entries); err != nil {
		return nil, err
	}
	if err := f.setAlignment(s); err != nil {
		return nil, err
	}
	at, err := readTensors(s, f, tensors)
	if err != nil {
		return nil, err
	}
	if err := f.place(s.offset, size, at); err != nil {
		return nil, err
	}
	return f, nil
}

// Close gives up the file that Open opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Data reads a tensor's bytes.
func (f *File) Data(t Tensor) *io.SectionReader {
	return io.NewSectionReader(f.src, t.Offset, t.Bytes)
}

// Value is the metadata value of a key.
func (f *File) Value(key string) (any, bool) {
	for _, e := range f.Metadata {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

func readPreamble(s *scanner, f *File) (tensors, entries uint64, err error) {
	m := s.u32("magic")
	if s.err == nil && m != magic {
		return 0, 0, formatErrorf(0, "magic is %#08x, not \"GGUF\"", m)
	}
	f.Version = s.u32("version")
	if s.err == nil {
		if problem := versionProblem(f.Version); problem != "" {
			return 0, 0, formatErrorf(4, "%s", problem)
		}
	}
	at := s.offset
	tensors, entries = s.u64("tensor count"), s.u64("metadata count")
	if s.err != nil {
		return 0, 0, s.err
	}
	// The shortest tensor entry is 25 bytes (name of one byte, no
	// dimensions), the shortest metadata entry 14.
	if left := uint64(s.left()); tensors > left/25 || entries > left/14 {
		return 0, 0, formatErrorf(at, "%d tensors and %d metadata entries cannot fit in the %d bytes left",
			tensors, entries, left)
	}
	return tensors, entries, nil
}

func versionProblem(v uint32) string {
	switch {
	case v == 2 || v == 3:
		return ""
	case v == 2<<24 || v == 3<<24:
		return "file is big endian, only little endian is read"
	default:
		return fmt.Sprintf("version %d, only 2 and 3 are read", v)
	}
}

func readMetadata(s *scanner, f *File, n uint64) error {
	seen := map[string]bool{}
	for range n {
		at := s.offset
		key := s.str("metadata key", maxKey)
		kind := Kind(s.u32("metadata kind"))
		if s.err != nil {
			return s.err
		}
		if key == "" || seen[key] {
			return formatErrorf(at, "metadata key %q is empty or repeated", key)
		}
		seen[key] = true
		v := s.value(kind)
		if s.err != nil {
			return s.err
		}
		f.Metadata = append(f.Metadata, Entry{Key: key, Value: v})
	}
	return nil
}

func (f *File) setAlignment(s *scanner) error {
	f.Alignment = defaultAlignment
	v, ok := f.Value("general.alignment")
	if !ok {
		return nil
	}
	a, ok := v.(uint32)
	if !ok || a == 0 || a&(a-1) != 0 || a > maxAlignment {
		return formatErrorf(s.offset, "general.alignment %v is not a u32 power of two up to %d", v,
			maxAlignment)
	}
	f.Alignment = uint64(a)
	return nil
}

// readTensors reads the tensor entries; Offset is still relative to the data
// section. It returns where each entry stands, for messages.
func readTensors(s *scanner, f *File, n uint64) ([]int64, error) {
	seen := map[string]bool{}
	var at []int64
	for range n {
		begin := s.offset
		t, err := readTensor(s)
		if err != nil {
			return nil, err
		}
		if t.Name == "" || seen[t.Name] {
			return nil, formatErrorf(begin, "tensor name %q is empty or repeated", t.Name)
		}
		seen[t.Name] = true
		f.Tensors = append(f.Tensors, t)
		at = append(at, begin)
	}
	return at, nil
}

func readTensor(s *scanner) (Tensor, error) {
	var t Tensor
	begin := s.offset
	t.Name = s.str("tensor name", maxTensorName)
	dims := s.u32("number of dimensions")
	if s.err == nil && dims > maxDims {
		return t, formatErrorf(begin, "tensor %q has %d dimensions, at most %d exist", t.Name, dims, maxDims)
	}
	for range dims {
		if s.err != nil {
			return t, s.err
		}
		t.Dims = append(t.Dims, s.u64("dimension"))
	}
	t.Type = Type(s.u32("tensor type"))
	offset := s.u64("tensor offset")
	if s.err != nil {
		return t, s.err
	}
	elements, bytes, problem := sizeOf(t.Type, t.Dims)
	if problem == "" && offset > 1<<62 {
		problem = fmt.Sprintf("offset %d is beyond any file", offset)
	}
	if problem != "" {
		return t, formatErrorf(begin, "tensor %q: %s", t.Name, problem)
	}
	t.Elements, t.Bytes, t.Offset = elements, int64(bytes), int64(offset)
	return t, nil
}

// place turns the tensors' offsets into file offsets and checks that each
// lies aligned in the file and none lies in another.
func (f *File) place(headerEnd, size int64, at []int64) error {
	align := int64(f.Alignment)
	f.DataOffset = (headerEnd + align - 1) / align * align
	order := make([]int, len(f.Tensors))
	for i := range f.Tensors {
		t := &f.Tensors[i]
		order[i] = i
		if t.Offset%align != 0 {
			return formatErrorf(at[i], "tensor %q: offset %d is not a multiple of the alignment %d",
				t.Name, t.Offset, align)
		}
		if room := size - f.DataOffset; t.Offset > room || t.Bytes > room-t.Offset {
			return formatErrorf(at[i],
				"tensor %q: %d bytes from %d of the data section on, which has %d: file truncated",
				t.Name, t.Bytes, t.Offset, max(room, 0))
		}
		t.Offset += f.DataOffset
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(f.Tensors[a].Offset, f.Tensors[b].Offset), cmp.Compare(a, b))
	})
	for i := 1; i < len(order); i++ {
		a, b := f.Tensors[order[i-1]], f.Tensors[order[i]]
		if a.Offset+a.Bytes > b.Offset {
			return formatErrorf(at[order[i]], "tensor %q overlaps tensor %q", b.Name, a.Name)
		}
	}
	return nil
}
