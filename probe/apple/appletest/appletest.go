// Package appletest builds stand-ins for the libraries of macOS that package
// apple calls out of C, so that what reads them runs on Linux. They keep to the
// structures and rules that Apple publishes; they were not recorded on a Mac.
// It needs a C compiler: cc, or what the variable CC names.
package appletest

import (
	_ "embed"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
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
func System(tb testing.TB, conf ...string) string {
	return standin.Build(tb, "system.dylib", system, nil, conf)
}

// IOKit builds a stand-in for IOKit and CoreFoundation together. Lines: "gpu
// CLASS", then of it "model TEXT", "statistic VALUE KEY", "client PID NAME
// NANOSECONDS" and "odd"; "changing N".
func IOKit(tb testing.TB, conf ...string) string {
	return standin.Build(tb, "iokit.dylib", iokit, nil, conf)
}

// Options are all libraries.
func Options(tb testing.TB, process, gpu []string) apple.Options {
	io := IOKit(tb, gpu...)
	return apple.Options{System: System(tb, process...), IOKit: io, CoreFoundation: io}
}
