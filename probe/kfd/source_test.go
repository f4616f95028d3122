package kfd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/probe/probetest"
)

func TestTheComputeDriverConformsAsASource(t *testing.T) {
	t.Parallel()
	probetest.TestSource(t, func(t *testing.T) probetest.Stage {
		root := probetest.NewRoot(t)
		const node = "sys/class/kfd/kfd/topology/nodes/1/"
		root.File(node+"gpu_id", "51110\n")
		root.File(node+"name", "gfx942\n")
		root.File(node+"properties", "location_id 17152\ndomain 0\n")
		s, err := OpenSource(root.Path)
		if err != nil {
			t.Fatal(err)
		}
		remove := func(folder string) {
			if err := os.RemoveAll(filepath.Join(root.Path, folder)); err != nil {
				t.Fatal(err)
			}
		}
		return probetest.Stage{
			Source: s,
			Holds: func(holds map[int]int64) {
				remove("sys/class/kfd/kfd/proc")
				for pid, bytes := range holds {
					figure := "not a number"
					if bytes != Unknown {
						figure = fmt.Sprint(bytes)
					}
					root.File(fmt.Sprintf("sys/class/kfd/kfd/proc/%d/vram_51110", pid), figure+"\n")
				}
			},
			Most:   2000, // files of more take a minute to write on a slow disk
			Vanish: func() { remove("sys") },
		}
	})
}
