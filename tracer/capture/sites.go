package capture

import (
	"cmp"
	"io"
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
	}
	return err
}

// Sites are what a process still holds, or held at Final or when its last
// context ended, by the place that asked for it, the largest first: memory by
// bytes, then handles by number. A place is "library+0xoffset symbol": the
// innermost frame outside the CUDA libraries; symbols of C++ and Rust are as the
// source calls them. Handles have their kind behind, as "[event]", and no bytes.
// Of a kind of which less than half is left, the sites are those of the time
// when most was held, as record.GoneSite says. It reads the libraries' symbol
// tables, which for large ones takes a second.
func (r *Reader) Sites(pid int) []record.Site {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil {
		return nil
	}
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
	sums, gone := p.gone(sums)
	names := p.resolve(func(want func(uint32)) {
		for k := range sums {
			want(k.stack)
		}
	})
	merged := map[string]record.Site{}
	for k, s := range sums {
		name := names[k.stack]
		if name == "" {
			name = "unknown site"
		}
		if k.class != classDevice {
			name += " [" + classNames[k.class] + "]"
		}
		if gone[k.class] {
			name = record.GoneSite(name)
		}
		m := merged[name]
		merged[name] = record.Site{Site: name, Bytes: m.Bytes + s.Bytes, Count: m.Count + s.Count}
	}
	out := make([]record.Site, 0, len(merged))
	for _, s := range merged {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b record.Site) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count),
			strings.Compare(a.Site, b.Site))
	})
	return out
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
		names[n] = texts[chain[0]]
		if i := outsideRuntime(chain, texts); i >= 0 {
			names[n] = texts[chain[i]]
		}
	}
	return names
}

// outsideRuntime is the place in a chain of callers of who called the runtime that
// is linked into the program; -1 where there is none. The runtime's public functions
// have plain names, and stand between its own and the caller's.
func outsideRuntime(chain []uint64, texts map[uint64]string) int {
	at := -1
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
	names    map[uint64]string
	program  string // the file that the process runs, empty while unknown
}

// snapshotEvery is how often mappings are read while stacks come that none
// covers.
const snapshotEvery = time.Second

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
	due := time.Since(p.looked) > snapshotEvery
	if !due || (!p.space.unknown && (p.driver || p.ledger.started)) {
		return
	}
	p.looked = time.Now()
	if found, err := readMaps(mapsPath(p.pid)); err == nil {
		p.space.learnProgram(p.pid, found)
		p.driver = p.driver || slices.ContainsFunc(found, func(m mapping) bool { return isDriver(m.path) })
		if p.space.unknown {
			p.space.learn(found)
		}
	}
}

// refresh reads the mappings when frames are to be named.
func (s *addressSpace) refresh(p *process) {
	if found, err := readMaps(mapsPath(p.pid)); err == nil && len(found) > 0 {
		s.learnProgram(p.pid, found)
		s.learn(found)
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
// there are none, the outermost one in these. Frames after one that lies in no code
// are what a caller without frame pointers left.
func (s *addressSpace) callers(frames stack) []uint64 {
	var out []uint64
	last := frames[0]
	for _, pc := range frames {
		m, ok := s.find(pc)
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
	return out
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
	return isDriver(path) || strings.HasPrefix(base, "libcudart.so") || strings.HasPrefix(base, "libgpumem_")
}

func isDriver(path string) bool {
	base := filepath.Base(path)
	return base == "libcuda.so" || strings.HasPrefix(base, "libcuda.so.")
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
