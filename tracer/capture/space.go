package capture

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
)

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
