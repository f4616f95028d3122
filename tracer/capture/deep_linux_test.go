package capture

import (
	"os"
	"path/filepath"
	"testing"
)

// A library finds others where it was told to look when it was linked: dlopen looks at
// who calls it.
func TestALibraryOpensOthersFromItsOwnFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(in("below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"found.c": `int found(void) { return 0; }`,
		"opens.c": `#define _GNU_SOURCE
#include <dlfcn.h>
int opens(int flags)
{
	void *l = dlopen("libfound_only_here.so", RTLD_NOW | flags);
	int (*found)(void) = l ? (int (*)(void))dlsym(l, "found") : 0;
	return found ? found() : 1;
}`,
		"main.c": `#define _GNU_SOURCE
#include <dlfcn.h>
int opens(int);
int main(void) { return opens(0) || opens(RTLD_DEEPBIND) || dlopen("libfound_only_here.so.2", RTLD_NOW) || !dlopen(0, RTLD_NOW); }`,
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool(t, "cc", "-O2", "-shared", "-fPIC", "-o", in("below/libfound_only_here.so"), in("found.c"))
	tool(t, "cc", "-O2", "-shared", "-fPIC", "-o", in("libopens.so"), in("opens.c"), "-ldl",
		"-Wl,--enable-new-dtags,-rpath,$ORIGIN/below")
	tool(t, "cc", "-O2", "-o", in("main"), in("main.c"), in("libopens.so"), "-ldl",
		"-Wl,--enable-new-dtags,-rpath,$ORIGIN")
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		run(t, launch{mode: mode, args: []string{in("main")}})
	}
}
