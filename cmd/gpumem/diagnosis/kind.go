package diagnosis

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/probe/scan"
)

// maxComm is how long a short name of the system is on Linux; what a program
// is really called may be longer.
const maxComm = 15

// named reports whether a process's executable, or the script that an
// interpreter runs, has the name. Never the whole command line: "tl" is in the
// arguments of half the processes of a machine.
func named(p *scan.Process, name string) bool {
	if naming.Executable(p) == name || naming.Script(p) == name {
		return true
	}
	// A zombie and another user's process show no more than the short name.
	return p.Executable == "" && len(p.Command) == 0 &&
		(p.Name == name || len(p.Name) == maxComm && strings.HasPrefix(name, p.Name))
}

func namedAny(p *scan.Process, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return named(p, name) })
}

// gpuProgram matches executables that are there for a GPU.
var gpuProgram = regexp.MustCompile(
	`(?i)^(metal|mtl|gpu|nvidia|cuda|rocm|amdgpu|i915|xe$|xe_)|mtlcompiler|gpu-process`)

// gpuProcesses are those that a device holds memory for, and those whose name
// says that they are there for one.
func gpuProcesses(s *scan.Scan) []scan.Process {
	return pick(s, func(p *scan.Process) bool {
		name := naming.Executable(p)
		return len(p.GPU) > 0 || name != "gpumem" && gpuProgram.MatchString(name)
	})
}

var editor = regexp.MustCompile(`(?i)^(code|code-oss|code-insiders|codium|vscodium|cursor|electron)`)

// editorHelpers are the GPU helper processes of VSCode and its kin.
func editorHelpers(s *scan.Scan) []scan.Process {
	return pick(s, func(p *scan.Process) bool {
		line := strings.Join(p.Command, " ")
		ours := editor.MatchString(naming.Executable(p)) || strings.Contains(line, "Code Helper")
		return ours && (strings.Contains(line, "--type=gpu-process") ||
			strings.Contains(line, "Helper (GPU)"))
	})
}

// pick are the processes that f wants, without ourselves.
func pick(s *scan.Scan, f func(*scan.Process) bool) []scan.Process {
	var list []scan.Process
	for i := range s.Processes {
		if p := &s.Processes[i]; p.PID != os.Getpid() && f(p) {
			list = append(list, *p)
		}
	}
	return list
}

// build is the processes of one program that run one build of it.
type build struct {
	program   string
	version   scan.Version
	processes []scan.Process
}

// footprint is the sum and the median of what is known.
func (b *build) footprint() (total, median int64) {
	var known []int64
	for i := range b.processes {
		if f := b.processes[i].Footprint(); f != scan.Unknown {
			known = append(known, f)
			total += f
		}
	}
	if len(known) == 0 {
		return scan.Unknown, scan.Unknown
	}
	slices.Sort(known)
	return total, known[len(known)/2]
}

// builds are the programs that run in more than one build, so that one build
// which grows stands out beside the others; the newest build comes first.
func builds(s *scan.Scan) []build {
	programs := map[string][]*build{}
	var names []string
	for _, p := range s.Processes {
		name := naming.Executable(&p)
		if p.Version.ID == "" || name == "" {
			continue
		}
		list := programs[name]
		i := slices.IndexFunc(list, func(b *build) bool { return b.version.ID == p.Version.ID })
		if i < 0 {
			if list == nil {
				names = append(names, name)
			}
			i, list = len(list), append(list, &build{program: name, version: p.Version})
			programs[name] = list
		}
		list[i].processes = append(list[i].processes, p)
	}
	slices.Sort(names)
	var out []build
	for _, name := range names {
		list := programs[name]
		if len(list) < 2 {
			continue
		}
		slices.SortFunc(list, func(a, b *build) int {
			return cmp.Or(b.version.Modified.Compare(a.version.Modified),
				cmp.Compare(a.version.ID, b.version.ID))
		})
		for _, b := range list {
			out = append(out, *b)
		}
	}
	return out
}
