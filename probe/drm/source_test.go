package drm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe/probetest"
)

func TestTheGraphicsDriversConformAsASource(t *testing.T) {
	t.Parallel()
	probetest.TestSource(t, func(t *testing.T) probetest.Stage {
		root := probetest.NewRoot(t)
		root.File("sys/class/drm/card1/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:43:00.0\n")
		root.File("sys/class/drm/card1/device/mem_info_vram_used", "900000\n")
		root.Folder("proc")
		s, err := OpenSource(root.Path)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		s.(*cards).index.now = func() time.Time { // made-up files stay readable: look for them each time
			now = now.Add(time.Hour)
			return now
		}
		return probetest.Stage{
			Source: s,
			Holds: func(holds map[int]int64) {
				vanish(t, root.Path, "proc")
				root.Folder("proc")
				for pid, bytes := range holds {
					info := fmt.Sprintf("drm-driver:\tamdgpu\ndrm-pdev:\t0000:43:00.0\ndrm-client-id:\t%d\n",
						pid)
					if bytes != Unknown {
						info += fmt.Sprintf("drm-memory-vram:\t%d KiB\n", bytes>>10)
					}
					root.FD(pid, 5, "/dev/dri/renderD128", info)
				}
			},
			Most:   2000, // files of more take a minute to write on a slow disk
			Vanish: func() { vanish(t, root.Path, "proc"); vanish(t, root.Path, "sys") },
		}
	})
}

// vanish takes a folder of a made-up machine away.
func vanish(t *testing.T, root, folder string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, folder)); err != nil {
		t.Fatal(err)
	}
}
