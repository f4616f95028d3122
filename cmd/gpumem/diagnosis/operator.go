package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe/scan"
)

// topHost is how many processes by host memory stand below those of the devices
// without --all.
const topHost = 10

// operator is the machine for who runs it: the devices and who holds their memory
// first, then the host's memory, then what the machine has left.
func (t *page) operator() {
	t.head("GPU memory")
	if len(t.d.Scan.Devices) == 0 && !t.d.GPUOff {
		t.line("  no GPU was found that tells its memory")
	}
	t.gpuMemory("")
	if len(t.d.Scan.Devices) > 0 {
		t.head("Processes with GPU memory")
		t.list(holders(t.d.Scan))
	}
	all := pick(t.d.Scan, func(*scan.Process) bool { return true })
	top, head := all, "All processes, by host memory"
	if !t.d.All && len(all) > topHost {
		top = all[:topHost]
		head = fmt.Sprintf("The %d processes with the most host memory, of %d (--all shows every one)",
			topHost, len(all))
	}
	t.head(head)
	t.list(top)
	t.head("Machine")
	t.machine()
	if list := builds(t.d.Scan); len(list) > 0 && t.d.Wide {
		t.head("Programs that run in several builds, the newest first")
		t.builds(list)
	}
}

// head begins a part without a number.
func (t *page) head(s string) { t.line("\n%s", t.bold(plain.Cut(s, plain.Width))) }

// holders are the processes that a device holds memory for, those with the most
// first and those whose bytes nobody tells last.
func holders(s *scan.Scan) []scan.Process {
	list := pick(s, func(p *scan.Process) bool { return len(p.GPU) > 0 || p.GPUBytes() > 0 })
	mostFirst := func(a, b scan.Process) int { return cmp.Compare(b.GPUBytes(), a.GPUBytes()) }
	slices.SortStableFunc(list, mostFirst)
	return list
}

// buildsNote says which programs run in several builds, which is told apart only
// where somebody asks for it.
func (t *page) buildsNote() string {
	if t.d.Wide || t.d.Sections {
		return ""
	}
	count := map[string]int{}
	var names []string
	for _, b := range builds(t.d.Scan) {
		if count[b.program]++; count[b.program] == 1 {
			names = append(names, b.program)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s runs in %s", name, units.Counted(count[name], "build", "builds"))
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + "; --wide tells them apart"
}
