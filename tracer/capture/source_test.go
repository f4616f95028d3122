package capture

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func interposerSource(t *testing.T) string {
	t.Helper()
	return string(readFile(t, "inject/ring.h")) + string(readFile(t, "inject/bind.h"))
}

// hooksInSource are the functions that the interposer hooks.
func hooksInSource(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^\tX\((cu\w+), "`).FindAllStringSubmatch(interposerSource(t),
		-1) {
		out = append(out, m[1])
	}
	if len(out) < 60 {
		t.Fatalf("only %d hooks found in inject/bind.h", len(out))
	}
	return out
}

func TestTheKindsAreThoseOfTheInterposer(t *testing.T) {
	t.Parallel()
	body := regexp.MustCompile(`(?s)enum kind \{(.*?)\};`).FindStringSubmatch(interposerSource(t))
	if body == nil {
		t.Fatal("no enum kind in inject/ring.h")
	}
	names := regexp.MustCompile(`K_\w+`).FindAllString(body[1], -1)
	if len(names) != int(kindCount) {
		t.Fatalf("the interposer has %d kinds, the reader %d", len(names), kindCount)
	}
	for name, k := range map[string]kind{
		"K_ALLOC": kindAlloc, "K_HOST": kindHost, "K_FREE": kindFree, "K_MAP": kindMap, "K_POOL": kindPool,
		"K_CTX":           kindCtx,
		"K_PRIMARY_RESET": kindPrimaryReset, "K_INIT": kindInit, "K_EVENT": kindEvent,
		"K_LIBRARY_UNLOAD": kindLibraryUnload,
	} {
		if slices.Index(names, name) != int(k) {
			t.Errorf("%s is number %d in the interposer, %d in the reader",
				name, slices.Index(names, name), k)
		}
	}
}

// The embedded library is what the source makes: byte for byte with the tools
// that are written down beside it, else by what it exports.
func TestTheEmbeddedInterposersAreWhatTheSourceMakes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the interposer is built on Linux")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, err := exec.Command("bash", "../../scripts/build_interposer.sh", arch, dir).CombinedOutput()
			if err != nil && strings.Contains(string(out), "is not built") {
				t.Skipf("no compiler for it here: %s", lastOf(string(out)))
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			name := "libgpumem_" + arch
			want, have := readFile(t, filepath.Join(dir, name+".txt")), readFile(t, name+".txt")
			rebuilt, embedded := readFile(t, filepath.Join(dir, name+".so")), readFile(t, name+".so")
			if bytes.Equal(want, have) {
				if !bytes.Equal(rebuilt, embedded) {
					t.Errorf(
						"%s.so is not what inject makes with the same tools: run "+
							"scripts/build_interposer.sh", name)
				}
				return
			}
			t.Logf("built with other tools (%s), so only what is exported is compared", bytes.TrimSpace(want))
			if a, b := exportsOf(t, filepath.Join(dir, name+".so")),
				exportsOf(t, name+".so"); !slices.Equal(a, b) {
				t.Errorf("a rebuild exports\n%q\nthe embedded library\n%q", a, b)
			}
		})
	}
}

func TestTheInterposersLoadOnOldSystemsAndHookTheSameFunctions(t *testing.T) {
	t.Parallel()
	hooks := hooksInSource(t)
	for _, arch := range []string{"amd64", "arm64"} {
		exports := exportsOf(t, "libgpumem_"+arch+".so")
		for _, h := range hooks {
			if !slices.Contains(exports, h+"@GPUMEM_1") {
				t.Errorf("%s: %s is not exported", arch, h)
			}
		}
		for _, e := range exports {
			if name, _, _ := strings.Cut(e, "@"); strings.HasPrefix(name, "cu") &&
				!slices.Contains(hooks, name) {
				t.Errorf("%s: %s is exported and not hooked", arch, name)
			}
		}
		for _, version := range needsOf(t, "libgpumem_"+arch+".so") {
			if newerThan(version, "GLIBC_2.17") {
				t.Errorf("%s: needs %s, which CUDA's oldest system has not", arch, version)
			}
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
