// Package nvmltest builds a stand-in for NVIDIA's management library out of C,
// so that tests of everything above it run on machines without a GPU. It needs
// a C compiler; it is meant for Linux.
package nvmltest

import (
	_ "embed"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
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
// COMPUTE_INSTANCE UUID TOTAL USED" (a MIG instance), "vitals DEVICE BUSY
// MEMORY_BUSY CELSIUS MILLIWATTS LIMIT MHZ MEMORY_MHZ" (each may be na, as all are
// without the line), "accounting DEVICE",
// "peak DEVICE PID BYTES MILLIS RUNNING", "driver VERSION"; faults: "init
// CODE", "memory_code DEVICE CODE", "list_code DEVICE CODE", "slow MILLIS"
// for each list, "lost_after CALLS [CODE]", "grow ENTRIES" (the list never
// fits), "lie ENTRIES" (claims more than it wrote), "growbytes BYTES" for
// each call, "reload 1" (the file is read again at each list; see standin.Write).
func Build(tb testing.TB, v Variant, conf ...string) string {
	tb.Helper()
	var flags []string
	if v != Newest {
		flags = []string{string(v)}
	}
	return standin.Build(tb, "libnvidia-ml.so.1", source, flags, conf)
}
