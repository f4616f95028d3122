package ttmetal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/probe/probetest"
	"github.com/gpumem/gpumem/probe/source"
)

func TestTheSharedMemoryConformsAsASource(t *testing.T) {
	t.Parallel()
	probetest.TestSource(t, func(t *testing.T) probetest.Stage {
		root := probetest.NewRoot(t)
		path := filepath.Join(root.Path, "dev/shm/tt_device_1_memory")
		holds := func(holds map[int]int64) {
			entries, slot := map[int]Process{}, 0
			for pid, bytes := range holds {
				used := Memory{DRAM: uint64(bytes)}
				if bytes == source.Unknown {
					used.DRAM = 1 << 63 // no device has as much
				}
				entries[slot] = Process{PID: pid, Used: used}
				slot++
			}
			root.File("dev/shm/tt_device_1_memory", string(file(entries)))
		}
		holds(nil)
		s, err := OpenSource(root.Path)
		if err != nil {
			t.Fatal(err)
		}
		return probetest.Stage{Source: s, Holds: holds, Most: mostProcs, Vanish: func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}}
	})
}
