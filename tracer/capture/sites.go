package capture

import (
	"os"
	"slices"
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
	askers := p.resolve(func(want func(uint32)) {
		for k := range sums {
			want(k.stack)
		}
		for k := range earlier {
			want(k.stack)
		}
	})
	merged := merge(askers)
	for k, s := range sums {
		if earlier != nil && !gone[k.class] {
			s.GrowthBytes = s.Bytes
		}
		merged.add(k, s, gone[k.class])
	}
	for k, s := range earlier {
		merged.less(k, s.Bytes)
	}
	return merged.largestFirst()
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
func (p *process) resolve(each func(want func(uint32))) map[uint32]asker {
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
	takers := p.takersCallers()
	texts := p.space.name(p.pid, slices.Concat(append(takers, list)...))
	through := wayOf(takers, texts)
	askers := map[uint32]asker{}
	for n, chain := range pcs {
		i := through.past(&p.space, chain, texts, max(outsideRuntime(chain, texts), 0))
		by := asker{site: texts[chain[i]]}
		line, caller := lineOf(p.ledger.stackAt[n])
		if text := p.lines[line]; text != "" {
			by = asker{p.space.withLine(by.site, chain[i], text), p.lines[caller]}
		} else if pc := p.space.programsCall(chain[i:]); pc != 0 {
			by.site += ", called by " + texts[pc]
		}
		askers[n] = by
	}
	return askers
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
