package importer

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// seedCheck is the headline of the investigation (TLG-09) in the layout of
// TensorLogic at f2a68ab.
const seedCheck = `
=== GPU Memory Check: Before Execution ===
GPU memory allocated: 0.61 MB
==========================================


Executing...

[GPU_MEMORY] Before allocation: 0.61 MB allocated
[GPU_MEMORY] After allocation: 22.61 MB (+22.00 MB) - size_class=11534336, bytes=23068672
[GPU_MEMORY] Before cleanup: 2098.73 MB - clearing 2 variables
[GPU_MEMORY] Before deallocation: 2098.73 MB - buffer_length=11534336, ref_count=1, pooled=true
[GPU_MEMORY] After pool return: 2098.73 MB - returned to pool, size_class=11534336
[GPU_MEMORY] After cleanup: 1180.61 MB - all variables cleared

=== GPU Memory Check: After Execution ===
GPU memory allocated: 1180.61 MB
Memory change: +1180.00 MB

Buffer Pool Stats:
  Pooled buffers: 122
  Pool memory: 1180.12 MB
  Reuse rate: 0.5%

⚠️  WARNING: GPU memory leak detected!
   1180.00 MB of GPU memory was not freed after execution.
🔧 Attempting to force-release GPU memory...
[GPU_MEMORY] Purged 122 buffers (1180.12 MB) from buffer pool
   After purge: 0.45 MB (+1180.16 MB freed)
`

func mibs(v float64) float64 { return float64(int64(v*mib + .5)) }

func TestTheMemoryCheckOfTensorLogicIsReadBack(t *testing.T) {
	t.Parallel()
	run := readFile(t, []byte(seedCheck), "run.log")
	none := record.Unknown()
	want(t, run, record.ColGPU, mibs(.61), mibs(.61), mibs(22.61), mibs(2098.73), mibs(2098.73), mibs(2098.73),
		mibs(1180.61), mibs(1180.61), mibs(.45))
	want(t, run, record.ColIdle, 0, none, none, none, none, none, none, mibs(1180.12), none)
	want(t, run, record.ColIdleCount, 0, none, none, none, none, none, none, 122, none)
	want(t, run, record.ColLive, mibs(.61), none, none, none, none, none, none, mibs(1180.61)-mibs(1180.12), none)
	if len(run.Events) != 2 || run.Events[0].Name != record.PhaseBaseline || run.Events[0].TMs != 0 ||
		run.Events[1].Name != record.PhaseReleased || run.Events[1].TMs != 7000 {
		t.Errorf("%+v", run.Events)
	}
}

func TestAPoolsStatisticsAreReadBack(t *testing.T) {
	t.Parallel()
	run := readFile(t, []byte(markGPU+"After cleanup: 1.00 MB - all variables cleared\n\n"+
		markStats+"Program Execution ===\n  Pooled buffers: 3\n  Size classes: 2\n  Total memory: 7 MB\n"),
		"run.log")
	none := record.Unknown()
	want(t, run, record.ColIdle, none, 7*mib)
	want(t, run, record.ColIdleCount, none, 3)
	want(t, run, record.ColGPU, mib, none)
}

func TestASizeThatCannotBeReadIsAWarning(t *testing.T) {
	t.Parallel()
	run := readFile(t, []byte(seedCheck+markGPU+"After cleanup: oops\n"), "run.log")
	if !slices.ContainsFunc(run.Warnings, func(w record.Warning) bool {
		return w.Line == 30 && strings.Contains(w.Text, "cannot be read")
	}) {
		t.Errorf("%+v", run.Warnings)
	}
}
