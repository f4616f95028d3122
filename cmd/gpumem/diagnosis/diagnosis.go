package diagnosis

import (
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/scan"
)

// Diagnosis is a scan of the machine with what was found out besides. Text and
// JSON are made of nothing else.
type Diagnosis struct {
	Host   string // the machine's name, empty when it has none
	Scan   *scan.Scan
	Absent []scan.Absence // sources of GPU bytes that are not here
	GPUOff bool           // nobody was asked for GPU bytes
	Chosen bool           // the scan has the processes that somebody named, and no others
	All    bool           // text shows every process
	Wide   bool           // text shows the build of each process
	// Sections is set for the five sections of the investigations instead of the
	// answer for who runs the machine.
	Sections bool
	Runtime  []string     // executables of the runtime to look for
	Watched  *Observation // nil when nothing was watched

	Machine *host.Facts   // nil when nobody looked
	Sensors []host.Sensor // none where there are none

	made  map[int]composition  // of Compose, by pid
	about map[int]host.Process // of Compose, by pid
}
