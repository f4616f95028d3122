package sample

import (
	"errors"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// UsualDelay is how long after its time a row may be read without being late: so
// long a busy machine keeps a process waiting.
const UsualDelay = 50 * time.Millisecond

// Options say how to sample.
type Options struct {
	// Now is the clock, in nanoseconds; it only ascends. All times of the package
	// are on it.
	Now func() int64
	// Interval is the time between the rows of a process.
	Interval time.Duration
	// SplitEvery is how often a row has the split of the resident memory and the
	// swap; 0 asks for them in each row.
	SplitEvery time.Duration
	// GPU tells what devices hold for processes; nil asks nobody. The caller
	// closes it, once nobody calls Ask any more.
	GPU probe.Reader
	// Machine is where the system's files are; the zero value is this machine.
	Machine probe.Machine
}

// Sampler samples processes. Its processes are for one goroutine at a time, all
// together; Ask and AskEach may run beside them on one other.
type Sampler struct {
	o      Options
	noSwap bool // the machine has none
	gpu    charges
}

// New makes a Sampler.
func New(o Options) *Sampler {
	s := &Sampler{o: o}
	s.gpu.expectEach(o.Interval)
	if t, err := o.Machine.ReadTotals(0); err == nil {
		s.noSwap = t.SwapTotal == 0
	}
	return s
}

// Late reports whether the time of a row is so long past that what is read now is
// not of it. Some delay is usual, and as long as an interval does no harm.
func (s *Sampler) Late(at, now int64) bool {
	return now-at > int64(max(s.o.Interval, UsualDelay))
}

// Process is one process that is sampled. The caller closes it.
type Process struct {
	s    *Sampler
	pid  int
	file *probe.Process // nil when it has gone or could not be opened
	mem  probe.Memory
	gpu  int64
	// splitAt is when the split was read last; splitDue makes the next row read it.
	splitAt  int64
	splitDue bool
	// beside is what was read last of the footprint beside anonymous memory: shared
	// memory and swap.
	beside int64
	files  files
}

// Open opens a process. It never returns nil: one that could not be opened is
// not alive, and has the rows that drivers tell of. The error says why: it is
// probe.ErrExited for a process that is not there.
func (s *Sampler) Open(pid int) (*Process, error) {
	p := &Process{s: s, pid: pid, mem: probe.UnknownMemory(), gpu: probe.Unknown, splitDue: true,
		beside: probe.Unknown, files: files{MappedFiles: unknownFiles()}}
	file, err := s.o.Machine.Open(pid)
	if err != nil {
		return p, err
	}
	p.file = file
	return p, nil
}

// Alive reports whether the process was there when it was last read.
func (p *Process) Alive() bool { return p.file != nil }

// Identity is which process it is; Start is 0 for one that is not alive.
func (p *Process) Identity() probe.Identity {
	if p.file == nil {
		return probe.Identity{PID: p.pid}
	}
	return p.file.Identity()
}

// Memory is the process's memory as last read. The caller must not change it.
func (p *Process) Memory() *probe.Memory { return &p.mem }

// GPU is the total of the GPU bytes that the last row has, probe.Unknown when it
// has none.
func (p *Process) GPU() int64 { return p.gpu }

// SplitNext has the next row read the split, whenever it was read last. It does
// nothing where Options.SplitEvery is 0.
func (p *Process) SplitNext() { p.splitDue = true }

// Row appends what is known of the process at a time to cells. The error says why
// the memory is unknown: probe.ErrExited when the process has gone, whose files
// are then closed, else what the system says. GPU bytes may be there all the same.
func (p *Process) Row(now int64, cells []record.Cell) ([]record.Cell, error) {
	err := p.Look(p.splits(now))
	cells = p.memory(cells)
	cells, p.gpu = p.s.gpu.append(cells, p.pid, now)
	return cells, err
}

// splits reports whether the row of a time has the split, and notes it.
func (p *Process) splits(now int64) bool {
	every := int64(p.s.o.SplitEvery)
	if every == 0 {
		return true
	}
	if !p.splitDue && now-p.splitAt < every {
		return false
	}
	p.splitAt, p.splitDue = now, false
	return true
}

// Look reads the memory of the process: with split all that the system tells, else
// what is quick. The error is that of Row.
func (p *Process) Look(split bool) error {
	if p.file == nil {
		p.mem = probe.UnknownMemory()
		return probe.ErrExited
	}
	read := p.file.Read
	if split {
		read = p.file.ReadSplit
	}
	err := read(&p.mem)
	if err == nil {
		if split {
			p.files.look(p.file, &p.mem, p.s.o.Now)
		}
		p.files.collected(p.file, &p.mem)
		p.completeFootprint()
		return nil
	}
	p.mem = probe.UnknownMemory()
	if !errors.Is(err, probe.ErrExited) {
		return err
	}
	p.Close() //nolint:errcheck // files that were only read
	return err
}

// completeFootprint fills in the footprint that a quick reading leaves open, by what
// the last full one told of shared memory and swap, which change more slowly. Where
// a system tells nothing of them and the machine has no swap, the resident size is
// the footprint.
func (p *Process) completeFootprint() {
	m := &p.mem
	switch {
	case m.Footprint != probe.Unknown && m.Anon != probe.Unknown:
		p.beside = m.Footprint - m.Anon
	case m.Footprint != probe.Unknown:
	case m.Anon != probe.Unknown && p.beside >= 0:
		m.Footprint = m.Anon + p.beside
	case m.Anon == probe.Unknown && m.Swap == probe.Unknown && p.s.noSwap && m.RSS != probe.Unknown:
		m.Swap, m.Footprint = 0, m.RSS
	}
}

// memory appends what is known of the process's memory.
func (p *Process) memory(cells []record.Cell) []record.Cell {
	add := func(column string, v int64) {
		if v != probe.Unknown {
			cells = append(cells, record.Cell{Column: column, Value: v})
		}
	}
	add(record.ColRSS, p.mem.RSS)
	add(record.ColRSSAnon, p.mem.Anon)
	add(record.ColRSSFile, p.mem.File)
	add(record.ColFileDirty, p.mem.Dirty)
	add(record.ColFileCode, p.mem.Code)
	add(record.ColFileCache, p.mem.FileCache())
	add(record.ColRSSShmem, p.mem.Shmem)
	add(record.ColSwap, p.mem.Swap)
	add(record.ColFootprint, p.mem.Footprint)
	add(record.ColThreads, p.mem.Threads)
	add(record.ColReserved, p.mem.Reserved)
	add(record.ColGCHeap, p.mem.Heap.Resident)
	add(record.ColGCKept, p.mem.Heap.Kept)
	add(record.ColGCCollections, p.mem.Heap.Collections)
	add(record.ColGCFull, p.mem.Heap.Full)
	return cells
}

// Close gives the process's files back; it is not alive any more. Closing it twice
// is no error.
func (p *Process) Close() error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	return file.Close()
}
