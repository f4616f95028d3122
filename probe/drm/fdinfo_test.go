package drm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".fdinfo"))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestFdinfoOfEveryDriverIsUnderstood(t *testing.T) {
	t.Parallel()
	const KiB, MiB = 1 << 10, 1 << 20
	cases := []struct {
		name, driver, pdev string
		client             int64
		local, host        int64
	}{
		{"amdgpu-old", "amdgpu", "0000:03:00.0", 27, 1048576 * KiB, 8192 * KiB},
		{"amdgpu-new", "amdgpu", "0000:03:00.0", 41, 2097152 * KiB, 4096 * KiB},
		{"i915", "i915", "0000:00:02.0", 8, 262144 * KiB, 49152 * KiB},
		{"xe", "xe", "0000:04:00.0", 5, 23992*KiB + MiB, 192 * KiB},
		{"msm", "msm", "", 3, Unknown, 4 * MiB},
		{"panfrost", "panfrost", "", 12, Unknown, 2 * MiB},
		{"panthor", "panthor", "", 10, Unknown, 18 * MiB},
		{"v3d", "v3d", "", 2, Unknown, 12 * MiB},
		{"amdxdna", "amdxdna_accel_driver", "0000:c5:00.1", 1, Unknown, 32 * MiB},
		{"nvidia", "", "", Unknown, Unknown, Unknown},
	}
	for _, c := range cases {
		i := parseFdinfo(fixture(t, c.name))
		if i.Driver != c.driver || i.PDev != c.pdev || i.ClientID != c.client || i.Bad != 0 {
			t.Errorf("%s: identity %+v", c.name, i)
		}
		if i.LocalBytes() != c.local || i.HostBytes() != c.host {
			t.Errorf("%s: local %d, host %d; want %d, %d", c.name, i.LocalBytes(), i.HostBytes(),
				c.local, c.host)
		}
	}
}

func TestAmdgpusOwnKeysAreKeptApart(t *testing.T) {
	t.Parallel()
	i := parseFdinfo(fixture(t, "amdgpu-new"))
	if i.Name != "train" || i.PASID != 32771 || i.EvictedVRAM != 1<<30 || i.RequestedVRAM != 3<<30 ||
		i.VisibleVRAM != Unknown {
		t.Errorf("got %+v", i)
	}
}

func TestAFigureThatCannotBeReadIsUnknownAndCounted(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"12 parsecs", "-1", "", "99999999999999999999",
		"9223372036854775807 KiB", "KiB"} {
		i := parseFdinfo([]byte("drm-driver: x\ndrm-total-vram: " + value + "\n"))
		if i.LocalBytes() != Unknown || i.Bad != 1 {
			t.Errorf("%q: %d bytes, %d bad", value, i.LocalBytes(), i.Bad)
		}
	}
}

func TestRereadingForgetsWhatIsNoLongerPrinted(t *testing.T) {
	t.Parallel()
	var i Info
	i.parse(fixture(t, "amdgpu-new"))
	i.parse(fixture(t, "v3d"))
	if i.PDev != "" || i.Name != "" || i.LocalBytes() != Unknown || i.HostBytes() != 12<<20 ||
		i.PASID != Unknown {
		t.Errorf("got %+v", i)
	}
	i.parse(nil)
	if i.Driver != "" || len(i.Regions) != 0 {
		t.Errorf("after nothing: %+v", i)
	}
}

func TestErrUnsupportedIsTheStandardLibrarysToo(t *testing.T) {
	t.Parallel()
	if !errors.Is(ErrUnsupported, errors.ErrUnsupported) {
		t.Error("it is not")
	}
}

func FuzzFdinfo(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.fdinfo")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Add([]byte("drm-total-vram:1\ndrm-total-vram:\n:\n"), []byte("drm-driver:"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		fresh := parseFdinfo(b)
		var reused Info
		reused.parse(a)
		reused.parse(b)
		if fresh.LocalBytes() < Unknown || fresh.HostBytes() < Unknown || fresh.Bad < 0 {
			t.Fatalf("impossible figures %+v", fresh)
		}
		if fresh.clientKey() != reused.clientKey() || fresh.LocalBytes() != reused.LocalBytes() ||
			fresh.HostBytes() != reused.HostBytes() || fresh.Name != reused.Name || fresh.Bad != reused.Bad {
			t.Fatalf("what was read before changes the reading:\n%+v\n%+v", fresh, reused)
		}
		if strings.Contains(fresh.Driver, "\n") {
			t.Fatalf("driver %q", fresh.Driver)
		}
	})
}

func BenchmarkParseFdinfo(b *testing.B) {
	text := fixture(b, "amdgpu-new")
	var i Info
	b.ReportAllocs()
	for b.Loop() {
		i.parse(text)
	}
}

// parseFdinfo reads a fdinfo file.
func parseFdinfo(b []byte) Info {
	var i Info
	i.parse(b)
	return i
}
