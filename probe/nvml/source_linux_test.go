//go:build (amd64 || arm64) && !nodl

package nvml

import (
	"context"
	"fmt"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
	"github.com/gpumem/gpumem/probe/probetest"
)

func TestTheLibraryConformsAsASource(t *testing.T) {
	t.Parallel()
	machine := []string{"device H200 GPU-aa 00000000:65:00.0 1000000000 900000 5000", "reload 1"}
	built := nvmltest.Build(t, nvmltest.Newest, machine...)
	probetest.TestSource(t, func(t *testing.T) probetest.Stage {
		library := standin.Copy(t, built, machine...)
		s, err := OpenSource(context.Background(), Options{Library: library, Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return probetest.Stage{
			Source: s,
			Holds: func(holds map[int]int64) {
				conf := machine
				for pid, bytes := range holds {
					figure := "na"
					if bytes != Unknown {
						figure = fmt.Sprint(bytes)
					}
					conf = append(conf[:len(conf):len(conf)], fmt.Sprintf("process 0 c %d %s", pid, figure))
				}
				standin.Write(t, library, conf...)
			},
			Vanish: func() { standin.Write(t, library, append(machine[:2:2], "list_code 0 15")...) },
		}
	})
}
