// Package appletest builds stand-ins for the libraries of macOS that package
// apple calls out of C, so that what reads them runs on Linux. They keep to the
// structures and rules that Apple publishes; they were not recorded on a Mac.
// It needs a C compiler: cc, or what the variable CC names.
package appletest

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe/apple"
)

//go:embed stub/system.c
var system []byte

//go:embed stub/iokit.c
var iokit []byte

// System builds a stand-in for libSystem that speaks the lines of conf, and
// returns its path. Lines: "process PID key=value …" with the keys resident,
// footprint, peak, wired, user, system (ticks), started, exited, threads,
// internal, external, compressed, purgeable, graphics, graphics_compressed,
// graphics_nofootprint, words (that the kernel fills), task (which task the
// process has now) and foreign=1 (another user's); "machine free=PAGES
// inactive=PAGES".
func System(tb testing.TB, conf ...string) string { return build(tb, "system", system, conf) }

// IOKit builds a stand-in for IOKit and CoreFoundation together. Lines: "gpu
// CLASS", then of it "model TEXT", "statistic VALUE KEY", "client PID NAME
// NANOSECONDS" and "odd"; "changing N".
func IOKit(tb testing.TB, conf ...string) string { return build(tb, "iokit", iokit, conf) }

// Options are all libraries.
func Options(tb testing.TB, process, gpu []string) apple.Options {
	io := IOKit(tb, gpu...)
	return apple.Options{System: System(tb, process...), IOKit: io, CoreFoundation: io}
}

func build(tb testing.TB, name string, source []byte, conf []string) string {
	tb.Helper()
	dir := tb.TempDir()
	c, so := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".dylib")
	if err := os.WriteFile(c, source, 0o600); err != nil {
		tb.Fatalf("write the stand-in's source: %v", err)
	}
	cc := cmp.Or(os.Getenv("CC"), "cc")
	if out, err := exec.Command(cc, "-O1", "-Wall", "-shared", "-fPIC", "-o", so, c, "-ldl").CombinedOutput(); err != nil {
		tb.Fatalf("build the stand-in (needs a C compiler): %v\n%s", err, out)
	}
	Write(tb, so, conf...)
	return so
}

// Write replaces what a stand-in for libSystem says, at once.
func Write(tb testing.TB, library string, conf ...string) {
	tb.Helper()
	tmp := library + ".new"
	err := os.WriteFile(tmp, fmt.Appendln(nil, strings.Join(conf, "\n")), 0o600)
	if err == nil {
		err = os.Rename(tmp, library+".conf")
	}
	if err != nil {
		tb.Fatalf("write what the stand-in says: %v", err)
	}
}
