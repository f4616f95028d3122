package firsttouch

import (
	"encoding/binary"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/gpumem/gpumem/probe/mapping"
	"github.com/gpumem/gpumem/probe/procfs"
)

// serves reports whether a library touches pages only on behalf of its
// callers: the C and C++ run-time libraries, the loader, allocators, and the
// sanitizers, which are allocators too. Interpreters and frameworks are not
// on the list: what they touch is theirs.
func serves(library string) bool {
	switch library {
	case "libc", "libm", "libdl", "librt", "libpthread", "libgcc_s", "libstdc++", "libc++", "libc++abi",
		"libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libmimalloc", "libtbbmalloc",
		"libtbbmalloc_proxy",
		"libasan", "libtsan", "libubsan", "libhwasan", "liblsan", "libgpumem", "[vdso]":
		return true
	}
	for _, prefix := range [...]string{"ld-linux", "ld-musl", "ld-2.", "libc-2.", "libc.musl",
		"libpthread-2.", "libm-2.", "libstdc++-"} {
		if strings.HasPrefix(library, prefix) {
			return true
		}
	}
	return false
}

// segment is one mapping of the target.
type segment struct {
	start, end uint64
	executable bool
	file       bool
	serves     bool
	offset     uint64 // of the start, in the file
	library    string
	path       string
}

// space is the target's mappings by address.
type space struct{ segments []segment }

// parseSpace reads maps. exe is the program's own path, skip the libraries to
// be passed over besides the usual ones.
func parseSpace(r io.Reader, exe string, skip []string) (*space, error) {
	s := &space{}
	sc := procfs.NewScanner(r)
	for sc.Scan() {
		m := sc.Mapping()
		kind, name := mapping.Classify(m.Path, exe)
		g := segment{start: m.Start, end: m.End, executable: m.Executable(), library: name, path: m.Path,
			offset: m.Offset}
		switch kind {
		case mapping.Library, mapping.Executable, mapping.File:
			g.file = true
			g.library = mapping.LibraryName(m.Path)
		case mapping.Anonymous, mapping.Heap, mapping.Stack, mapping.Shared:
			g.library, g.path = OwnerJIT, ""
		}
		g.serves = serves(g.library) || slices.Contains(skip, g.library)
		s.segments = append(s.segments, g)
	}
	sort.Slice(s.segments, func(i, j int) bool { return s.segments[i].start < s.segments[j].start })
	return s, sc.Err()
}

// find returns the mapping of an address, nil when there is none.
func (s *space) find(address uint64) *segment {
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].end > address })
	if i == len(s.segments) || s.segments[i].start > address {
		return nil
	}
	return &s.segments[i]
}

// code returns the mapping of an address if code may run there.
func (s *space) code(address uint64) *segment {
	if g := s.find(address); g != nil && g.executable {
		return g
	}
	return nil
}

// owner finds who wanted the page of a sample: the owner, the code that
// touched the page, and how the owner was found. Both are nil when not even
// the leaf lies in a known mapping.
func (s *space) owner(x *sample) (owner, leaf *segment, at uint64, how Method) {
	if len(x.frames) == 0 {
		return nil, nil, 0, ByNobody
	}
	leaf = s.code(x.frames[0])
	if leaf != nil && !leaf.serves {
		return leaf, leaf, x.frames[0], ByLeaf
	}
	// A function such as memset keeps no frame: a chain of frame pointers skips
	// its caller. Its return address is where it was put at the call.
	if g := s.code(x.caller); g != nil && !g.serves {
		return g, leaf, x.caller, ByCaller
	}
	last := leaf
	for _, address := range x.frames[1:] {
		g := s.code(address)
		if g == nil {
			continue // without frame pointers a chain ends in noise
		}
		if !g.serves {
			return g, leaf, address, ByChain
		}
		last = g
	}
	for i := 0; i+8 <= len(x.stack); i += 8 {
		address := binary.NativeEndian.Uint64(x.stack[i:])
		if g := s.code(address); g != nil && !g.serves {
			return g, leaf, address, ByScan
		}
	}
	return last, leaf, 0, ByNobody
}
