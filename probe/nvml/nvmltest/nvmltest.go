// Package nvmltest builds a stand-in for NVIDIA's management library out of C,
// so that tests of everything above it run on machines without a GPU. It needs
// a C compiler; it is meant for Linux.
package nvmltest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed stub/nvml.c
var source []byte

// Variant is how much of the library's history a stub exports.
type Variant string

// The variants. NoHandle lacks the call that everything needs.
const (
	Newest   Variant = ""
	OnlyV1   Variant = "-DONLY_V1"
	OnlyV2   Variant = "-DONLY_V2"
	NoHandle Variant = "-DNO_HANDLE"
)

// Build compiles a stub that speaks the lines of conf and returns its path.
// Lines: "device NAME UUID PCI TOTAL USED RESERVED", "process DEVICE c|g|m PID
// BYTES|na [GPU_INSTANCE COMPUTE_INSTANCE]", "part DEVICE GPU_INSTANCE
// COMPUTE_INSTANCE UUID TOTAL USED" (a MIG instance), "accounting DEVICE",
// "peak DEVICE PID BYTES MILLIS RUNNING", "driver VERSION"; faults: "init
// CODE", "memory_code DEVICE CODE", "list_code DEVICE CODE", "slow MILLIS"
// for each list, "lost_after CALLS [CODE]", "grow ENTRIES" (the list never
// fits), "lie ENTRIES" (claims more than it wrote), "growbytes BYTES" for
// each call, "reload 1" (the file is read again at each list; see Write).
func Build(tb testing.TB, v Variant, conf ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	c, so := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	if err := os.WriteFile(c, source, 0o600); err != nil {
		tb.Fatalf("write the stub's source: %v", err)
	}
	args := []string{"-O1", "-shared", "-fPIC", "-o", so, c, "-ldl"}
	if v != Newest {
		args = append([]string{string(v)}, args...)
	}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		tb.Fatalf("build the stub library (needs a C compiler): %v\n%s", err, out)
	}
	Write(tb, so, conf...)
	return so
}

// Write replaces what a stub says, at once for a reader that reloads.
func Write(tb testing.TB, library string, conf ...string) {
	tb.Helper()
	tmp := library + ".new"
	err := os.WriteFile(tmp, fmt.Appendln(nil, strings.Join(conf, "\n")), 0o600)
	if err == nil {
		err = os.Rename(tmp, library+".conf")
	}
	if err != nil {
		tb.Fatalf("write what the stub says: %v", err)
	}
}
