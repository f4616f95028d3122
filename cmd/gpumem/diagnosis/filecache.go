package diagnosis

import (
	"fmt"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
)

// footprintText is a footprint with what it is made of.
func footprintText(footprint string, m *probe.Memory) string {
	text := fmt.Sprintf("%s: anonymous %s, shared %s, swapped %s", footprint, plain.Size(m.Anon),
		plain.Size(m.Shmem), plain.Size(m.Swap))
	if m.Dirty > 0 {
		text += ", changed pages of files " + plain.Size(m.Dirty)
	}
	return text
}

// fileCache says what of the mapped files is resident and not in the footprint; empty
// where nobody tells.
func (t *page) fileCache(p *scan.Process) string {
	bytes, which := p.Memory.FileCache(), "clean pages of mapped files"
	if bytes == scan.Unknown {
		bytes, which = p.Memory.File, "pages of mapped files"
	}
	if bytes == scan.Unknown {
		return ""
	}
	return fmt.Sprintf("%s of %s, which the system drops when it needs memory", plain.Size(bytes), which)
}

// completeDirty asks how much of the mapped files a process has changed, or is a driver's, and adds that
// to its footprint. What cannot be asked stays unknown.
func completeDirty(p *scan.Process) {
	const most = 8 << 30 // resident bytes: the walk over them holds up the process's calls of mmap
	m := &p.Memory
	if m.File <= 0 || m.Footprint == scan.Unknown || m.Shmem == scan.Unknown {
		return
	}
	file, err := probe.Open(p.PID)
	if err != nil {
		return
	}
	defer file.Close() //nolint:errcheck // files that were only read
	files, err := file.Files(m.RSS < most, 0)
	if err != nil || files.Dirty == probe.Unknown {
		return
	}
	m.Dirty = min(files.Dirty+max(files.DriversPages, 0), m.File)
	m.Footprint += m.Dirty
}
