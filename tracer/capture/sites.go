package capture

import (
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
	"github.com/gpumem/gpumem/tracer/record"
)

// proc is the proc file system of this machine.
const proc procfs.Dir = ""

// Final keeps what a process holds now: it is about to end, and what it gives
// back while it ends is no work of its own. Sites tells this from then on. The
// error is that of Poll, which it does first.
func (r *Reader) Final(pid int) error {
	err := r.Poll()
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.procs[pid]; p != nil {
		p.final = p.ledger.held()
		p.history.ends(p.final, time.Now())
	}
	return err
}

// Sites are what a process still holds, or held at Final or when its last
// context ended, by the place that asked for it, the largest first: memory by
// bytes, then handles by number. A place is "file:line function", with
// the functions that this one was inlined into behind, where the library has debugging
// information or its own file of them is installed, else "library+0xoffset symbol": the
// innermost frame outside the CUDA libraries; symbols of C++ and Rust are as the
// source calls them. In a program in Python whose agent told the interposer where its
// frames lie it is the program's own line, of a library's own memory with the library
// before it. GrowthBytes is what it holds more than when a third to a half of the time
// since the first call was over; 0 where nobody looked by then. Handles have their kind
// behind, as "[event]", and no bytes. Of a kind of which less than half is left, the
// sites are those of the time when most was held, as record.GoneSite says. It reads the
// libraries' symbol tables, which for large ones takes a second.
func (r *Reader) Sites(pid int) []record.Site {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil {
		return nil
	}
	p.space.places = &r.places
	return p.sites()
}

type siteKey struct {
	stack uint32
	class class
}

func (p *process) sites() []record.Site {
	sums := p.final
	if sums == nil {
		sums = p.ledger.held()
	}
	earlier := p.history.before()
	sums, gone := p.gone(sums)
	names := p.resolve(func(want func(uint32)) {
		for k := range sums {
			want(k.stack)
		}
		for k := range earlier {
			want(k.stack)
		}
	})
	merged := map[string]record.Site{}
	for k, s := range sums {
		name := k.name(names)
		if gone[k.class] {
			name = record.GoneSite(name)
		}
		m := merged[name]
		m = record.Site{Site: name, Bytes: m.Bytes + s.Bytes, Count: m.Count + s.Count,
			GrowthBytes: m.GrowthBytes}
		if earlier != nil && !gone[k.class] {
			m.GrowthBytes += s.Bytes
		}
		merged[name] = m
	}
	for k, s := range earlier {
		if m, there := merged[k.name(names)]; there {
			m.GrowthBytes -= s.Bytes
			merged[m.Site] = m
		}
	}
	return largestFirst(merged)
}

func largestFirst(sites map[string]record.Site) []record.Site {
	return slices.SortedFunc(maps.Values(sites), func(a, b record.Site) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count),
			strings.Compare(a.Site, b.Site))
	})
}

// name is the site's, by the names of call stacks.
func (k siteKey) name(names map[uint32]string) string {
	name := names[k.stack]
	if name == "" {
		name = "unknown site"
	}
	if k.class != classDevice {
		name += " [" + classNames[k.class] + "]"
	}
	return name
}

// held is what the program holds by call stack and class. Runtimes give their
// context up at exit, and all that leaked with it: once there is none any more,
// what the last one took with it counts as well.
func (l *ledger) held() map[siteKey]record.Site {
	sums := map[siteKey]record.Site{}
	for _, it := range l.items {
		addTo(sums, it)
	}
	if l.contexts() == 0 {
		for k, s := range l.ended {
			sums[k] = record.Site{Bytes: sums[k].Bytes + s.Bytes, Count: sums[k].Count + s.Count}
		}
	}
	return sums
}

func addTo(sums map[siteKey]record.Site, it item) {
	k := siteKey{it.stack, it.class}
	s := sums[k]
	s.Bytes += clamp(it.size)
	s.Count++
	sums[k] = s
}

// resolve names the stacks that each asks for.
func (p *process) resolve(each func(want func(uint32))) map[uint32]string {
	p.space.refresh(p)
	p.learnLines()
	pcs := map[uint32][]uint64{}
	var list []uint64
	each(func(n uint32) {
		if _, known := pcs[n]; known || n == 0 || int(n) >= len(p.ledger.stackAt) {
			return
		}
		pcs[n] = p.space.callers(p.ledger.stackAt[n])
		list = append(list, pcs[n]...)
	})
	texts := p.space.name(p.pid, list)
	names := map[uint32]string{}
	for n, chain := range pcs {
		i := max(outsideRuntime(chain, texts), 0)
		names[n] = texts[chain[i]]
		if line := p.lines[lineOf(p.ledger.stackAt[n])]; line != "" {
			names[n] = p.space.withLine(names[n], chain[i], line)
		} else if by := p.space.programsCall(chain[i:]); by != 0 {
			names[n] += ", called by " + texts[by]
		}
	}
	return names
}

// learnLines reads the lines of Python that the process's calls came from.
func (p *process) learnLines() {
	if p.ring == nil {
		return
	}
	f, err := os.Open(p.ring.path + linesSuffix)
	if err != nil {
		return // nobody told of any
	}
	defer f.Close()
	p.lines = parseLines(f)
}

// withLine is a place with the line of Python that the call came from. What an
// allocator or ctypes asks for, it asks for that line. The memory of a library, or of
// a program that has Python in it, has the line beside its place.
func (s *addressSpace) withLine(place string, pc uint64, line string) string {
	m, ok := s.find(pc)
	if !ok || isBinding(m.path) || s.ownerIn(m.path) == anAllocator {
		return line
	}
	return place + ", called by " + line
}

// programsCall is the place in the program from where a library of its own was called
// that asked; 0 where the program asked itself, or where that is not known.
func (s *addressSpace) programsCall(chain []uint64) uint64 {
	m, ok := s.find(chain[0])
	if !ok || m.path == s.program || s.ownerIn(m.path) != theProgram || interprets(s.program) {
		return 0
	}
	for _, pc := range chain[1:] {
		if m, ok := s.find(pc); ok && m.path == s.program {
			return pc
		}
	}
	return 0
}

// outsideRuntime is the place in a chain of callers of who called the runtime that
// is linked into the program; -1 where there is none. The runtime's public functions
// have plain names, and stand between its own and the caller's.
func outsideRuntime(chain []uint64, texts map[uint64]string) int {
	at := -1
	for i := 0; i < len(chain) && fromGo(texts[chain[i]]); i++ {
		at = i + 1
	}
	for i, pc := range chain {
		_, symbol, _ := strings.Cut(texts[pc], " ")
		if isStaticRuntime(texts[pc]) || at == i && strings.HasPrefix(symbol, "cuda") {
			at = i + 1
		}
	}
	if at >= len(chain) {
		return -1
	}
	return at
}

// mapping is one executable file mapping of a process.
type mapping struct {
	start, end, offset uint64
	path               string
}

// addressSpace knows which file lay where in a process. Mappings that went
// away are kept, so that the stacks of a library that was closed have names.
type addressSpace struct {
	mappings []mapping // newest snapshot last
	unknown  bool      // a stack came that no mapping covers
	checked  int       // stacks whose frames were checked
	settled  int       // stacks that were there when a living process's mappings were read
	names    map[uint64]string
	places   *places // of all processes; nil keeps nothing
	program  string  // the file that the process runs, empty while unknown
}

// snapshotEvery is how often mappings are read while stacks come that none
// covers.
const snapshotEvery = time.Second

// driverLooks is how often each second a process is looked at for the driver before it
// is looked at driverLooks times less often: most never load it, and the mappings of a
// large program are dear to read. The interposer tells of the driver by itself.
const driverLooks = 10

// saw notes that there are stacks in libraries not known yet.
func (s *addressSpace) saw(l *ledger) {
	for ; s.checked < len(l.stackAt); s.checked++ {
		if _, ok := s.find(l.stackAt[s.checked][0]); !ok {
			s.unknown = true
		}
	}
}

// look takes a snapshot of a living process when one is needed.
func (p *process) look() {
	every := snapshotEvery
	if !p.space.unknown && p.looks >= driverLooks {
		every *= driverLooks
	}
	due := time.Since(p.looked) > every
	if !due || (!p.space.unknown && (p.driver || p.ledger.started)) {
		return
	}
	p.looked = time.Now()
	p.looks++
	if found, err := readMaps(mapsPath(p.pid)); err == nil {
		p.space.learnProgram(p.pid, found)
		p.driver = p.driver || slices.ContainsFunc(found, func(m mapping) bool { return isDriver(m.path) })
		if p.space.unknown {
			p.space.learn(found)
			p.space.settled = len(p.ledger.stackAt)
		}
	}
}

// refresh reads the mappings when frames are to be named.
func (s *addressSpace) refresh(p *process) {
	if found, err := readMaps(mapsPath(p.pid)); err == nil && len(found) > 0 {
		s.learnProgram(p.pid, found)
		s.learn(found)
		s.settled = len(p.ledger.stackAt)
	}
	if p.ring != nil {
		if found, err := readMaps(p.ring.path + mapsSuffix); err == nil {
			s.learnProgram(p.pid, found)
			s.learn(found)
		}
	}
}

func mapsPath(pid int) string { return proc.Path(pid, "maps") }

func (s *addressSpace) learn(found []mapping) {
	s.unknown = false
	for _, m := range found {
		if !slices.Contains(s.mappings, m) {
			s.mappings = append(s.mappings, m)
		}
	}
}

func (s *addressSpace) find(pc uint64) (mapping, bool) {
	for i := len(s.mappings) - 1; i >= 0; i-- {
		if m := s.mappings[i]; pc >= m.start && pc < m.end {
			return m, true
		}
	}
	return mapping{}, false
}

// callers are the frames outside the CUDA libraries, the innermost first; where
// there are none, the outermost one in these. Before them may lie what was generated, or
// is gone by now. Frames after one that lies in no code are what a caller without frame
// pointers left.
func (s *addressSpace) callers(frames stack) []uint64 {
	var out []uint64
	last := frames[0]
	for _, pc := range frames {
		m, ok := s.find(pc)
		if pc != 0 && !ok && len(out) == 0 {
			continue
		}
		if pc == 0 || !ok {
			break
		}
		last = pc
		if !isRuntime(m.path) {
			out = append(out, pc)
		}
	}
	if len(out) == 0 {
		return []uint64{last}
	}
	outside := slices.IndexFunc(out, func(pc uint64) bool {
		m, _ := s.find(pc)
		return !handsOn(m.path)
	})
	return out[max(outside, 0):]
}

// handsOn reports whether a library asks for memory only because a program told it to
// make a buffer, and keeps none of its own: ggml's, of llama.cpp and others. The place
// is then who told it.
func handsOn(path string) bool { return strings.HasPrefix(filepath.Base(path), "libggml") }

// fromGo reports whether a place is where Go leaves its own code for C's.
func fromGo(place string) bool {
	_, symbol, _ := strings.Cut(place, " ")
	return symbol == "syscallX" || symbol == "syscall15X" || strings.HasPrefix(symbol, "runtime.") ||
		strings.HasPrefix(symbol, "github.com/ebitengine/purego.") || strings.HasPrefix(symbol, "_cgo_")
}

// isStaticRuntime reports whether a place is in the CUDA runtime that nvcc links
// into programs by default. NVIDIA names all its functions but the public ones so.
func isStaticRuntime(place string) bool {
	_, symbol, _ := strings.Cut(place, " ")
	return strings.HasPrefix(symbol, "libcudart_static_")
}

// isRuntime reports whether a library only passes allocations on.
func isRuntime(path string) bool {
	base := filepath.Base(path)
	return isDriver(path) || strings.HasPrefix(base, "libcudart.so") ||
		strings.HasPrefix(base, "libhsa-runtime64.so") || strings.HasPrefix(base, libraryPrefix)
}

// isDriver reports whether a library is the one whose functions are captured.
func isDriver(path string) bool {
	base := filepath.Base(path)
	for _, name := range [...]string{"libcuda.so", "libamdhip64.so"} {
		if base == name || strings.HasPrefix(base, name+".") {
			return true
		}
	}
	return false
}

// readMaps reads the executable file mappings of a maps file, or of what of
// one was written.
func readMaps(path string) ([]mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMaps(f), nil
}

func parseMaps(r io.Reader) []mapping {
	var out []mapping
	entries := procfs.NewScanner(r)
	for entries.Scan() {
		m := entries.Mapping()
		if m.Executable() && strings.HasPrefix(m.Path, "/") && m.End > m.Start {
			out = append(out, mapping{m.Start, m.End, m.Offset, m.Path})
		}
	}
	return out
}
