package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// mapsSuffix is behind the name of a ring in the name of its mappings.
const mapsSuffix = ".maps"

// linesSuffix is that of the lines of Python that its calls came from.
const linesSuffix = ".places"

// Reader follows what programs record: the rings of a capture directory
// (Open), or the probes on one process (Attach). It is safe for concurrent
// use; Poll is to be called often enough that rings do not overflow, which at
// 20 Hz means below 650,000 calls of the driver a second and process.
type Reader struct {
	mu       sync.Mutex
	dir      string
	files    map[string]*ring // nil: read to its end, or not a ring
	procs    map[int]*process
	idle     map[int]outcome // of processes that ended without a call
	warnings []string
	taps     map[int]source
	buf      []byte
	places   places
	// listed is the time of the directory when it was listed last, zero where it may
	// change without a new time.
	listed time.Time
}

// source is the probes on one process.
type source interface {
	// poll applies what is new to the process.
	poll() error
	Close() error
}

// process is one program that was seen. A PID has several, one after another,
// when it calls exec; the last is the one that counts.
type process struct {
	pid     int
	ledger  *ledger
	ring    *ring  // nil when probes see it
	lost    uint64 // events that are not in the ledger
	partial bool   // what was before is not known
	driver  bool   // libcuda was seen in it
	looked  time.Time
	looks   int // for the driver, in vain
	space   addressSpace
	final   map[siteKey]record.Site // nil while it works
	most    [classCount]most
	history history
	owners  []owner           // by stack number
	asks    bool              // the program itself asked for memory
	unclear bool              // so did somebody whose part nobody tells
	lines   map[uint32]string // of Python, by number
}

// ring is one file.
type ring struct {
	of    *process
	path  string
	file  ringFile
	head  header
	next  uint64 // the event to read
	stuck int    // polls that found it pending
	idle  int    // polls without news
	dead  bool   // the process is gone
}

// ringFile is what a ring is read from.
type ringFile interface {
	io.ReaderAt
	io.Closer
}

const (
	chunkSlots = 256
	// stuckPolls is after how many polls an event that was begun and not
	// completed is given up: its thread was stopped or killed in between.
	stuckPolls = 3
	// youngFile is how long a file may take to become a ring.
	youngFile = time.Second
	// coarse is more than the clock of any file system is behind: of a directory that
	// changed longer ago, each further change has a time of its own.
	coarse = 2 * time.Second
)

// Open follows the rings of a capture directory, which Prepare made.
func Open(dir string) (*Reader, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("open capture directory: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open capture directory: %s is a file", dir)
	}
	return newReader(dir), nil
}

func newReader(dir string) *Reader {
	return &Reader{dir: dir, files: map[string]*ring{}, procs: map[int]*process{}, idle: map[int]outcome{},
		taps: map[int]source{}}
}

// Poll takes in what was recorded since the last. The error is for a directory
// that can no longer be read, or for probes that could not be placed or no
// longer deliver, which are then taken away; what is wrong with one ring is a
// warning. After an error it may be called again.
func (r *Reader) Poll() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.scan(); err != nil {
		return err
	}
	for pid, t := range r.taps {
		if err := t.poll(); err != nil {
			delete(r.taps, pid)
			return errors.Join(err, t.Close())
		}
	}
	for name, f := range r.files {
		if f != nil && r.poll(f) {
			r.retire(name, f)
		}
	}
	for _, p := range r.procs {
		p.look()
		for c := classDevice; c < classCount; c++ {
			p.noteMost(c)
		}
		if p.final == nil && (p.ring == nil || !p.ring.dead) {
			p.history.note(p.ledger, time.Now())
		}
	}
	return nil
}

// Close ends the following. What was read stays readable through Cells, Sites
// and the others.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for name, f := range r.files {
		if f != nil {
			errs = append(errs, f.file.Close())
			r.files[name] = nil
		}
	}
	for pid, t := range r.taps {
		errs = append(errs, t.Close())
		delete(r.taps, pid)
	}
	return errors.Join(errs...)
}

// scan finds new rings.
func (r *Reader) scan() error {
	if r.dir == "" {
		return nil
	}
	info, err := os.Stat(r.dir)
	if err != nil {
		return fmt.Errorf("read capture directory: %w", err)
	}
	if !r.listed.IsZero() && info.ModTime().Equal(r.listed) {
		return nil
	}
	begun := time.Now()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("read capture directory: %w", err)
	}
	r.listed = time.Time{}
	if begun.Sub(info.ModTime()) > coarse {
		r.listed = info.ModTime()
	}
	var found []string
	for _, e := range entries {
		_, known := r.files[e.Name()]
		if !known && strings.HasSuffix(e.Name(), ".ring") && e.Type().IsRegular() {
			found = append(found, e.Name())
		}
	}
	slices.SortFunc(found, byRingNumber)
	for _, name := range found {
		r.openRing(name)
		if _, known := r.files[name]; !known { // it is on its way to a ring
			r.listed = time.Time{}
		}
	}
	return nil
}

// byRingNumber orders PID.N.ring by N, so that exec's programs come in turn.
func byRingNumber(a, b string) int {
	number := func(name string) int {
		parts := strings.Split(name, ".")
		n, _ := strconv.Atoi(parts[min(1, len(parts)-1)])
		return n
	}
	if d := number(a) - number(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func (r *Reader) openRing(name string) {
	path := filepath.Join(r.dir, name)
	f, err := os.Open(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.files[name] = nil
			r.warn(fmt.Sprintf("capture of one process is missing: %v", err))
		}
		return
	}
	if !r.follow(name, &ring{path: path, file: f}) {
		// The magic comes last; a young file may still be on its way to it.
		if info, err := f.Stat(); err != nil || time.Since(info.ModTime()) > youngFile {
			r.files[name] = nil
			r.warn(fmt.Sprintf("capture of one process is missing: %s is %v", name, errNoRing))
		}
		f.Close()
	}
}

// follow takes a ring in and reports whether it is one.
func (r *Reader) follow(name string, g *ring) bool {
	if !g.readHeader(r) {
		return false
	}
	r.files[name] = g
	g.of = &process{pid: g.head.pid, ledger: newLedger(), ring: g}
	r.procs[g.head.pid] = g.of
	return true
}

func (g *ring) readHeader(r *Reader) bool {
	b := r.buffer()[:headerUsed]
	if _, err := g.file.ReadAt(b, 0); err != nil {
		return false
	}
	h, err := decodeHeader(b)
	if err != nil || (g.head.capacity != 0 && (h.capacity != g.head.capacity || h.pid != g.head.pid)) {
		return false
	}
	g.head = h
	return true
}

func (r *Reader) buffer() []byte {
	if r.buf == nil {
		r.buf = make([]byte, chunkSlots*slotSize)
	}
	return r.buf
}

// poll reads what is new in a ring and reports whether it has ended.
func (r *Reader) poll(g *ring) bool {
	g.dead = !processAlive(g.head.pid) // asked before the reading, so that nothing is missed
	if !g.readHeader(r) {
		r.warn(fmt.Sprintf("capture of process %d broke off: its ring was damaged", g.head.pid))
		return true
	}
	p := g.of
	before := g.next
	r.drain(g)
	if g.next != before {
		g.idle = 0
	} else {
		g.idle++
	}
	if g.head.flags&flagDriver != 0 {
		p.driver = true
	}
	return (g.dead || g.head.flags&flagExited != 0) && g.idle > stuckPolls
}

// drain applies the events of a ring from g.next to its head.
func (r *Reader) drain(g *ring) {
	p := g.of
	if g.head.flags&flagSlots == 0 {
		return
	}
	capacity := uint64(g.head.capacity)
	if g.head.head > g.next && g.head.head-g.next > capacity {
		p.lost += g.head.head - g.next - capacity
		g.next = g.head.head - capacity
	}
	for g.next < g.head.head {
		first := g.next % capacity
		n := min(chunkSlots, g.head.head-g.next, capacity-first)
		b := r.buffer()[:n*slotSize]
		if _, err := g.file.ReadAt(b, headerSize+int64(first)*slotSize); err != nil {
			p.lost += g.head.head - g.next
			g.next = g.head.head
			return
		}
		for i := range n {
			if !g.take(b[i*slotSize : (i+1)*slotSize]) {
				return
			}
		}
	}
}

// take applies the event g.next, or counts it as lost, and reports false when
// it must be waited for.
func (g *ring) take(b []byte) bool {
	p := g.of
	e, state := decodeSlot(b, g.next)
	switch state {
	case slotPending:
		if g.stuck++; g.stuck <= stuckPolls && !g.dead {
			return false
		}
		p.lost++
	case slotGone, slotTorn:
		p.lost++
	case slotReady:
		p.ledger.apply(&e)
		if e.kind == kindAsync {
			p.noteMost(classAsync) // it is given back before anybody looks
		}
		p.space.saw(p.ledger)
	}
	g.stuck = 0
	g.next++
	return true
}

// retire takes a ring that was read to its end out of the following, and its
// files out of the directory, which may be small: a build starts thousands of
// programs. Of one that never called the driver little is kept.
func (r *Reader) retire(name string, g *ring) {
	p := g.of
	if p.ledger.started {
		p.space.refresh(p)
		p.learnLines()
	} else if r.procs[p.pid] == p {
		delete(r.procs, p.pid)
		r.idle[p.pid] = p.outcome()
	}
	g.file.Close() // it was only read
	g.file = nil
	os.Remove(g.path + mapsSuffix)
	os.Remove(g.path + linesSuffix)
	r.files[name] = nil
	if os.Remove(g.path) == nil {
		delete(r.files, name)
	}
}

func (r *Reader) warn(text string) {
	if !slices.Contains(r.warnings, text) && len(r.warnings) < 100 {
		r.warnings = append(r.warnings, text)
	}
}

// PIDs are the processes that came near the driver, and the first of a run, as
// long as it runs, in ascending order.
func (r *Reader) PIDs() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	pids := make([]int, 0, len(r.procs))
	for pid := range r.procs {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}
