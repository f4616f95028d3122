package sample

import (
	"time"

	"github.com/gpumem/gpumem/probe"
)

// How often the mappings of a process are read, and when.
const (
	filesEvery = time.Second
	filesShare = 200     // one part in so many of the time may go into it
	filesMove  = 1 << 20 // bytes by which pages of files must have moved
	// filesMost bounds the processes of which the kernel is asked to walk the pages, in
	// resident bytes: it takes 20 ms for 4 GiB, and a call of mmap in the process waits
	// as long. Of a larger one the last reading stands.
	filesMost = 8 << 30
	// filesAgain is when one that may not be looked into is tried again.
	filesAgain = time.Minute
)

// files is what is known of the pages of files that a process has mapped.
type files struct {
	probe.MappedFiles // as read last; what is dirty is probe.Unknown before the first reading

	seen    int64 // bytes of such pages then, and of shared memory
	counted int64 // the address space of drivers' files when their pages were counted last
	walked  bool  // the kernel was asked to walk the pages then
	took    int64 // how long that went on; 0 before the first reading
	after   int64 // when the mappings may be read again
}

// unknownFiles is what is known before the first reading.
func unknownFiles() probe.MappedFiles {
	return probe.MappedFiles{Dirty: probe.Unknown, DriversPages: probe.Unknown, Code: probe.Unknown,
		Heap: probe.Unknown}
}

// look completes what was read of a process's memory by how much of its pages of files
// is changed, or is a driver's, and adds that to the footprint.
func (f *files) look(p *probe.Process, m *probe.Memory, now func() int64) {
	if m.File == probe.Unknown || m.Shmem == probe.Unknown {
		return // nobody tells the pages of files apart
	}
	if f.due(m, now()) {
		f.read(p, m, now)
	}
	m.Code = f.Code
	f.reserved(m)
	if m.Dirty = f.Dirty; f.Dirty == probe.Unknown {
		return
	}
	m.Dirty = min(f.Dirty+max(f.DriversPages, 0), m.File)
	if m.Footprint != probe.Unknown {
		m.Footprint += m.Dirty
	}
}

// reserved completes what the process has reserved, or leaves it unknown where its allocator
// reserves ahead of what it is asked for.
func (f *files) reserved(m *probe.Memory) {
	switch {
	case f.Ahead:
		m.Reserved = probe.Unknown
	case m.Reserved != probe.Unknown:
		m.Reserved += f.Writable
	}
}

// due reports whether the mappings are to be read: something may have changed, and the
// last reading is long enough ago.
func (f *files) due(m *probe.Memory, now int64) bool {
	pages := m.File + m.Shmem
	moved := max(pages-f.seen, f.seen-pages) >= filesMove
	return now >= f.after && (f.Dirty == probe.Unknown || (f.Shared || f.Heaped) && m.RSS < filesMost ||
		!f.Shared && moved)
}

// collected completes what was read by what the program's language tells of its heap. What
// of that is in memory is told in the row in which it was read: others had another footprint.
func (f *files) collected(p *probe.Process, m *probe.Memory) {
	if f.Heaped {
		m.Heap = p.ReadHeap()
		m.Heap.Resident, f.Heap = f.Heap, probe.Unknown
	}
}

func (f *files) read(p *probe.Process, m *probe.Memory, now func() int64) {
	start := now()
	told, err := p.Files(m.RSS < filesMost, f.counted)
	if end := now(); err == nil {
		took := max(end-start, 1)
		walked := told.DriversPages != probe.Unknown
		cost := took // one reading may have waited for a processor, two of a kind hardly
		if f.took > 0 && walked == f.walked {
			cost = min(took, f.took)
		}
		if walked {
			f.counted = told.Drivers
		} else {
			told.DriversPages = f.DriversPages
		}
		f.MappedFiles, f.seen, f.took, f.walked = told, m.File+m.Shmem, took, walked
		f.after = end + max(int64(filesEvery), filesShare*cost)
	} else {
		f.MappedFiles, f.after = unknownFiles(), end+int64(filesAgain)
	}
}
