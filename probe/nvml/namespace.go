package nvml

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gpumem/gpumem/probe/procfs"
)

// surroundings looks at where we run: the sentences about what cannot be
// known here, and whether PIDs of the driver may be foreign to us.
func surroundings(root string) (limits []string, foreign bool) {
	if runtime.GOOS == "windows" {
		return []string{"Windows: in display mode (WDDM) the driver gives no memory by process; device " +
			"totals only"}, false
	}
	proc := procfs.Dir(filepath.Join(rootOf(root), "proc"))
	if b, err := os.ReadFile(proc.Process("sys/kernel/osrelease")); err == nil &&
		strings.Contains(strings.ToLower(string(b)), "microsoft") {
		limits = append(limits, "WSL: the driver gives no memory by process; device totals only")
	}
	if proc.Inner() {
		foreign = true
		limits = append(limits,
			"container: the driver may list PIDs of the host; a process that it does not list here is "+
				"unknown, not zero")
	}
	return limits, foreign
}

func rootOf(root string) string {
	if root == "" {
		return "/"
	}
	return root
}

// PIDMap translates PIDs of inner namespaces into those of the proc file
// system at hand. It is a snapshot, immutable, and costs one pass over all
// processes; make one only when a listed PID does not exist here.
type PIDMap struct {
	inner map[int][]int // PID inside a namespace -> PIDs here
}

// LoadPIDMap reads the status of every process under root ("" means "/").
// Status files are readable for everyone, so nothing is hidden from it.
func LoadPIDMap(root string) (*PIDMap, error) {
	proc := procfs.Dir(filepath.Join(rootOf(root), "proc"))
	pids, err := proc.PIDs(nil)
	if err != nil {
		return nil, err
	}
	m := &PIDMap{inner: make(map[int][]int)}
	for _, pid := range pids {
		status, err := proc.Read(pid, "status")
		if err != nil {
			continue // ended meanwhile
		}
		if list := procfs.ParseNSpid(status); len(list) > 1 {
			for _, p := range list[1:] {
				m.inner[p] = append(m.inner[p], pid)
			}
		}
	}
	return m, nil
}

// Candidates are the processes here that have the PID in an inner namespace.
// Several containers may use the same number, so there may be several.
func (m *PIDMap) Candidates(pid int) []int { return append([]int(nil), m.inner[pid]...) }
