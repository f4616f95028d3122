package loader_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader"
)

func TestNVIDIAsLibrariesAreSearchedByTheLoaderFirst(t *testing.T) {
	t.Parallel()
	want := "libx.so.1 /usr/lib/wsl/lib/libx.so.1 /run/opengl-driver/lib/libx.so.1"
	if runtime.GOOS == "windows" {
		want = "x.dll"
	}
	if got := strings.Join(loader.NVIDIA("libx.so.1", "x.dll"), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
