//go:build (amd64 || arm64) && !nodl

package apple_test

import (
	"fmt"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/apple/appletest"
	"github.com/gpumem/gpumem/probe/probetest"
)

func TestMacOSConformsAsASource(t *testing.T) {
	t.Parallel()
	gpu := []string{"gpu AGXAcceleratorG15X", "model Apple M3 Max", "statistic 5000 In use system memory"}
	system, iokit := appletest.System(t), appletest.IOKit(t, gpu...)
	probetest.TestSource(t, func(t *testing.T) probetest.Stage {
		kernel, registry := standin.Copy(t, system), standin.Copy(t, iokit, gpu...)
		s, err := apple.OpenSource(apple.Options{System: kernel, IOKit: registry, CoreFoundation: registry})
		if err != nil {
			t.Fatal(err)
		}
		known := map[int]bool{}
		return probetest.Stage{
			Source: s,
			Holds: func(holds map[int]int64) {
				// Others run too and hold nothing. One that has ended is told by its
				// record: purego takes errno over on macOS only.
				conf := []string{"process 44 resident=9 graphics=0"}
				for pid := range known {
					if _, runs := holds[pid]; !runs {
						conf = append(conf, fmt.Sprintf("process %d exited=9", pid))
					}
				}
				for pid, bytes := range holds {
					known[pid] = true
					line := fmt.Sprintf("process %d foreign=1", pid)
					if bytes != apple.Unknown {
						line = fmt.Sprintf("process %d resident=9 graphics=%d", pid, bytes)
					}
					conf = append(conf, line)
				}
				standin.Write(t, kernel, conf...)
			},
			Vanish: func() { standin.Write(t, kernel) },
			Most:   200, // the stand-in reads its file anew for each call
		}
	})
}
