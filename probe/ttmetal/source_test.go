package ttmetal

import (
	"os"
	"path/filepath"
	"slices"
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

func TestADeviceTellsItsMemoryByKind(t *testing.T) {
	t.Parallel()
	got := kindsOf(Memory{DRAM: 5, L1Small: 4, Trace: 3, CB: 2, Kernel: 1})
	want := []source.Kind{{Name: "DRAM", Bytes: 5}, {Name: "L1_SMALL", Bytes: 4}, {Name: "TRACE", Bytes: 3},
		{Name: "CB", Bytes: 2}, {Name: "KERNEL", Bytes: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := kindsOf(Memory{DRAM: 5, L1: 1 << 63}); got != nil {
		t.Errorf("of a file that is not to be believed: %v", got)
	}
}
