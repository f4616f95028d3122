package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
)

// hostHolder is the holder that explains the growth of host memory: the one that the
// looks found longer each time, else the one whose bytes came fastest at the last look.
// Nil where none does. Beside a device, whose arrays are what is looked for there, only
// those that say so hold host memory.
func hostHolder(s *settled, last []HolderRow) *HolderRow {
	if s.class != HostGrowth || s.primary.Counts() || len(s.Judged.Clock) == 0 {
		return nil
	}
	beside := s.Judged.Series[series.Live] != nil
	for i := range last {
		if h := &last[i]; h.Path == s.held && s.held != "" && h.Host == beside {
			return itsContainer(last, h)
		}
	}
	grew, best := hostGrew(s, last), -1
	for i := range last {
		if grew[i] > 0 && (best < 0 || grew[i] > grew[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	together := grew[best]
	for _, i := range alike(last, grew, best) {
		together += grew[i]
	}
	size := ofHolders(s)
	if most := grew[best]; most < evidence.LeastOfHost*size &&
		(most < leastOfLargest*size || together < size/2) {
		return nil
	}
	return itsContainer(last, &last[best])
}

// mostSince is how many times as much objects may have at the end as their container had at the last look.
const mostSince = 3

// itsContainer is the container that has the objects of a holder's class, where it is told as well with
// half of their bytes or more, or was before the program's functions ended: how it is filled says more than where
// these are made. Else the holder.
func itsContainer(last []HolderRow, h *HolderRow) *HolderRow {
	if had := cause.Container(last, h); had != nil && had.Filled != "" && had.Bytes >= h.Bytes/mostSince {
		return had
	}
	_, below, is := strings.Cut(h.Path, " objects below ")
	for i := range last {
		o := &last[i]
		if _, path, _ := strings.Cut(o.Path, " "); is && path == below && o.Host == h.Host && o.Length > 0 &&
			o.Filled != "" && o.Bytes >= h.Bytes/2 {
			return o
		}
	}
	return h
}

// leastOfHolders is the part of the host's growth that is left to holders at least, as what
// the heap keeps free is read seldom.
const leastOfHolders = 1. / 4

// ofHolders is the part of the host's growth that somebody holds: what the C heap keeps
// free between blocks is nobody's.
func ofHolders(s *settled) float64 {
	if !evidence.IsFragmented(&s.Examined) {
		return s.size
	}
	return max(s.size-evidence.HeapKeeps(&s.Examined), leastOfHolders*s.size)
}

// hostGrew is by how many bytes of host memory each holder grew, while the growth was
// watched; 0 of one that does not count.
func hostGrew(s *settled, last []HolderRow) []float64 {
	beside := s.Judged.Series[series.Live] != nil
	lasted := s.Judged.Clock[len(s.Judged.Clock)-1] - s.Judged.Clock[0]
	came, still := looks.LastRates(&s.Examined.Process)
	level := levelPaths(s)
	grew := make([]float64, len(last))
	for i := range last {
		h := &last[i]
		grew[i] = float64(h.Bytes) // at the end, beyond what was there when the program was under way
		if rate, looked := came[h.Path]; looked {
			if grew[i] = rate * lasted; grew[i] > looks.MostExplained*s.size {
				grew[i] = float64(h.Bytes) // it came faster than all that grows: it filled, and did not go on
			}
		}
		grew[i] = min(max(grew[i], heldBelow(last, h)), s.size)
		if grew[i] >= leastSeen*s.size && hasUnseen(last, h) {
			grew[i] = max(grew[i], evidence.LeastOfHost*s.size)
		}
		named := hasName(h.Path) || h.Filled != "" // a line of the program is as good as a name
		// What a function held is gone with it when the program has ended.
		if h.Gone && !still[h.Path] || h.Bound > 0 || !named || beside && !h.Host || level[h.Path] {
			grew[i] = 0
		}
	}
	stepBack(last, grew, s.size)
	return grew
}

// levelPaths are the paths of containers into which as much came as went.
func levelPaths(s *settled) map[string]bool {
	level := map[string]bool{}
	p := &s.Examined.Process
	for _, c := range slices.Concat(looks.Courses(p), looks.HostCourses(p)) {
		level[c.Path] = c.IsLevel()
	}
	return level
}

// heldMore are the holders of a process, of host memory that grows without those into which as much came as went.
func heldMore(s *settled) []HolderRow {
	all := s.Holders()
	if s.class != HostGrowth {
		return all
	}
	level := levelPaths(s)
	return slices.DeleteFunc(slices.Clone(all), func(h HolderRow) bool { return level[h.Path] })
}

// leastSeen is the part of the host's growth that is known of a container of an extension's objects.
const leastSeen = .15

// hasUnseen reports whether what a holder got are objects of an extension, such as sessions of a
// runtime: what they have is seen in part, as far as they keep objects of Python's.
func hasUnseen(last []HolderRow, h *HolderRow) bool {
	_, path, _ := strings.Cut(h.Path, " ")
	return slices.ContainsFunc(last, func(o HolderRow) bool {
		_, below, ok := strings.Cut(o.Path, " objects below ")
		return ok && below == path && o.Bytes == 0 && o.Host == h.Host && 2*o.Count >= h.Count
	})
}

// hostGrewBy is by how many bytes of host memory one of the holders grew.
func hostGrewBy(s *settled, last []HolderRow, h *HolderRow) float64 {
	for i, grew := range hostGrew(s, last) {
		if last[i] == *h {
			return grew
		}
	}
	return 0
}

// heldBelow are the bytes that holders have at a holder's path at the end: what graphs keep
// for it and what it has as itself are rows of their own, and so is what single elements have.
func heldBelow(last []HolderRow, h *HolderRow) float64 {
	all := 0.
	for i := range last {
		rest, below := strings.CutPrefix(last[i].Path, h.Path)
		if below && !last[i].Gone && last[i].Host == h.Host && (rest == "" || strings.HasPrefix(rest, "[…]")) {
			all += float64(last[i].Bytes)
		}
	}
	return all
}

// hasName reports whether a path begins with a name of the program. What the agent says
// of arrays without one has a colon: "Tensor (8, 8): a reference cycle or native code".
func hasName(path string) bool {
	return strings.ContainsAny(path, ".(") && !strings.Contains(path, ": ")
}

// hostHeld says who holds what the host grew by, as a part of a sentence.
func hostHeld(h *HolderRow) string {
	if h == nil {
		return ""
	}
	if h.Count == 1 || h.IsOneThing() {
		return "; held by " + h.Kept() + filledAt(h, "")
	}
	return fmt.Sprintf("; held by %s, with %s objects more when it was last looked at", h.Kept()+filledAt(h, ""),
		units.Count(h.Count))
}

// thingsOf is what a program calls what it holds: tensors, arrays, or objects where no
// framework or more than one is known.
func thingsOf(versions map[string]string) string {
	_, torch := versions["torch"]
	arrays := false
	for _, name := range [...]string{"jax", "cupy", "mlx"} {
		_, has := versions[name]
		arrays = arrays || has
	}
	switch {
	case torch && !arrays:
		return "tensors"
	case arrays && !torch:
		return "arrays"
	}
	return "objects"
}

// hostWords says whose host memory it is, or that it cannot be told.
func (s *settled) hostWords() string {
	if evidence.IsPinned(&s.Examined) {
		return ", most of it pinned memory that the program asked the driver for"
	}
	if s.class == HostGrowth && evidence.IsFragmented(&s.Examined) {
		return fmt.Sprintf("; the C heap keeps %s free between blocks in use (fragmentation)",
			units.Bytes(evidence.HeapKeeps(&s.Examined)))
	}
	if words := evidence.TouchWords(&s.Examined.Process, s.class == HostGrowth); words != "" {
		return words
	}
	if s.class == DriverGrowth && s.Records.Hold(s.size) {
		return s.Records.Words(s.size)
	}
	switch {
	case s.class == DriverGrowth:
		return " while the program's heap does not"
	case !s.UsesDevice() && !(s.Grow[series.Heap].Growing() && s.Grow[series.Heap].Amount() >= s.size/2):
		return ""
	case s.primary == series.Heap:
		return "" // its name says it
	case s.Grow[series.Heap].Growing():
		return " with the program's heap"
	case s.Judged.Series[series.Heap] == nil:
		return " (host heap or driver, unresolved: the program's heap was not recorded)"
	}
	return " (host heap or driver, unresolved)"
}
