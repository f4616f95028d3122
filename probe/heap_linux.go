package probe

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/hotspot"
	"github.com/gpumem/gpumem/probe/procfs"
)

// heapOf looks for the heap of a Java virtual machine among the mappings of a process, in
// the order of their addresses. Its counters tell how large it is, and no more: it is the
// one stretch of private memory of that size that begins and ends where mappings do. The
// file of the counters lies beyond the heap, so stretches are kept until then.
type heapOf struct {
	counters procfs.Mapping // of the file of the machine's counters
	runs     []run
	edges    int
}

// run is a stretch of private memory without a gap.
type run struct {
	edges []uint64 // where its mappings begin, and where the last one ends
}

// mostEdges bounds what is kept of a process that has very many mappings.
const mostEdges = 1 << 14

// take takes a mapping.
func (h *heapOf) take(m *procfs.Mapping) {
	if isCounters(m) {
		h.counters = *m
	}
	// What the machine has of its own objects from the start lies in the heap, from a file.
	if m.Perms[3] != 'p' || m.Path != "" && !strings.HasSuffix(m.Path, ".jsa") || h.edges > mostEdges {
		return
	}
	if n := len(h.runs); n == 0 || h.runs[n-1].end() != m.Start {
		h.runs = append(h.runs, run{edges: []uint64{m.Start}})
		h.edges++
	}
	r := &h.runs[len(h.runs)-1]
	r.edges = append(r.edges, m.End)
	h.edges++
}

func (r *run) end() uint64 { return r.edges[len(r.edges)-1] }

// isCounters reports whether a mapping is the file in which a Java virtual machine
// publishes its counters: /tmp/hsperfdata_USER/PID.
func isCounters(m *procfs.Mapping) bool {
	dir, pid := filepath.Split(m.Path)
	return m.Perms[3] == 's' && m.Inode != 0 && !m.Deleted && pid != "" &&
		strings.Trim(pid, "0123456789") == "" && strings.HasPrefix(filepath.Base(dir), "hsperfdata_")
}

// find is the first stretch of so many bytes. Heaps lie low, where a reference has 32 bits;
// what other stretches may have that size, as the C library's arenas of 64 MiB side by side
// do, lies far above. A larger heap must be the only one of its size.
func (h *heapOf) find(size uint64) (from uint64, ok bool) {
	const low = 32 << 30
	for i := range h.runs {
		edges := h.runs[i].edges
		for begin, end := 0, 0; end < len(edges); end++ {
			for edges[end]-edges[begin] > size {
				begin++
			}
			switch {
			case edges[end]-edges[begin] != size:
			case edges[end] <= low:
				return edges[begin], true
			case ok:
				return 0, false
			default:
				from, ok = edges[begin], true
			}
		}
	}
	return from, ok
}

// openCounters opens the counters of a process's Java virtual machine: the file that it has
// mapped, whatever lies at that path for us, as the process may be in another root.
func (p *Process) openCounters(m *procfs.Mapping) error {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Open(p.path("root")+m.Path, flags, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), m.Path)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || s.Ino != m.Inode {
		return errors.Join(errors.New("not the file that is mapped"), err, f.Close())
	}
	p.counters = f
	return nil
}

// ReadHeap reads what a Java virtual machine tells of its heap, but for what of it is in
// memory, which Files tells. Nothing is known before Files found the counters.
func (p *Process) ReadHeap() Heap {
	h := p.readCounters()
	if h.Kept == hotspot.Unknown || h.Collections == hotspot.Unknown {
		return UnknownHeap()
	}
	return Heap{Resident: Unknown, Kept: h.Kept, Collections: h.Collections, Full: max(h.Full, 0)}
}

func (p *Process) readCounters() hotspot.Heap {
	if p.counters == nil {
		return hotspot.UnknownHeap()
	}
	if p.published == nil {
		p.published = make([]byte, hotspot.UsualBytes)
	}
	n, err := p.counters.ReadAt(p.published, 0)
	for n == len(p.published) && n < hotspot.MostBytes {
		p.published = make([]byte, 2*n)
		n, err = p.counters.ReadAt(p.published, 0)
	}
	if err != nil && err != io.EOF {
		return hotspot.UnknownHeap()
	}
	h, _ := hotspot.Parse(p.published[:n]) // of what is not understood nothing is known
	return h
}

// span is where the heap lies, and how much of it is in memory.
type span struct {
	from, to uint64
	resident int64
}

// heapSpan is the place of the heap, empty where it is not known.
func (p *Process) heapSpan(found *heapOf) span {
	if p.counters == nil && found.counters.Path != "" {
		p.openCounters(&found.counters) //nolint:errcheck // then nothing is known of the heap
	}
	h := p.readCounters()
	if h.Reserved <= 0 {
		return span{}
	}
	from, ok := found.find(uint64(h.Reserved))
	if !ok {
		return span{}
	}
	return span{from: from, to: from + uint64(h.Reserved)}
}

// add adds what a mapping has in memory, where it is of the heap.
func (s *span) add(m *procfs.Mapping, u *procfs.Usage) {
	if s.from <= m.Start && m.End <= s.to {
		s.resident += max(u.Anonymous, 0) + max(u.Swap, 0)
	}
}

// told is what of the heap is in memory.
func (s *span) told() int64 {
	if s.to == 0 {
		return Unknown
	}
	return s.resident
}
