package importer

import (
	"fmt"
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

// seedLines are those of the investigation without the memory check: cleanup, warning
// and purge.
const seedLines = `[GPU_MEMORY] Before allocation: 0.61 MB allocated
[GPU_MEMORY] After allocation: 22.61 MB (+22.00 MB) - size_class=11534336, bytes=23068672
[GPU_MEMORY] Before cleanup: 2098.73 MB - clearing 2 variables
[GPU_MEMORY] After cleanup: 1180.61 MB - all variables cleared

⚠️  WARNING: GPU memory leak detected!
   1180.00 MB of GPU memory was not freed after execution.
🔧 Attempting to force-release GPU memory...
[GPU_MEMORY] Purged 122 buffers (1180.12 MB) from buffer pool
   After purge: 0.45 MB (+1180.16 MB freed)
`

// phasesOf are the marks as "name at row".
func phasesOf(run *record.Run) (names []string) {
	for _, e := range run.Events {
		if e.Kind == record.KindPhase {
			names = append(names, fmt.Sprintf("%s at %g", e.Name, e.TMs/1000))
		}
	}
	return names
}

func TestAllocationLinesWithoutTheCheckHaveItsPhases(t *testing.T) {
	t.Parallel()
	run := readFile(t, []byte(seedLines), "run.log")
	none := record.Unknown()
	want(t, run, record.ColGPU, mibs(.61), mibs(22.61), mibs(2098.73), mibs(1180.61), mibs(.45))
	want(t, run, record.ColIdle, 0, none, none, mibs(1180.12), none)
	want(t, run, record.ColIdleCount, 0, none, none, 122, none)
	if got := phasesOf(run); !slices.Equal(got, []string{"baseline at 0", "released at 3"}) {
		t.Errorf("%q", got)
	}
}

func TestTheWarningAloneTellsWhatThePoolKept(t *testing.T) {
	t.Parallel()
	_, warning, _ := strings.Cut(seedLines, "all variables cleared\n")
	warning = strings.Replace(warning, markGPU+"Purged 122 buffers (1180.12 MB) from buffer pool\n", "", 1)
	run := readFile(t, []byte(warning), "run.log")
	none := record.Unknown()
	want(t, run, record.ColGPU, mibs(.45)+mibs(1180.16)-mibs(1180), mibs(.45)+mibs(1180.16), mibs(.45))
	want(t, run, record.ColIdle, 0, mibs(1180.16), none)
	if got := phasesOf(run); !slices.Equal(got, []string{"baseline at 0", "released at 1"}) {
		t.Errorf("%q", got)
	}
	if run := readFile(t, []byte(scopeLog+warning), "run.log"); len(phasesOf(run)) != 0 {
		t.Errorf("beside a log with a course of its own: %q", phasesOf(run))
	}
}

// scopeLog is a memory log of the TL runtime without statements.
const scopeLog = `[TL_MEM] enter_scope depth=1
[TL_METAL] alloc_buffer size=256 total_buffers=3 total_bytes=768
[TL_MEM] exit_scope begin depth=1 allocs_total=1 allocs_tensor=1 allocs_struct=0
[TL_MEM] exit_scope end depth=0 refcount_count=2 pool_count=1
[TL_METAL] reuse_buffer size=256 total_buffers=4 total_bytes=oops
[TL_MEM] exit_scope end depth=0 refcount_count=5 pool_count=0
`

func TestEachEndOfAScopeIsARowWhereNoStatementIsOne(t *testing.T) {
	t.Parallel()
	run := readFile(t, []byte(scopeLog), "run.log")
	want(t, run, record.ColLive, 768, 768)
	want(t, run, record.ColLiveCount, 3, 3)
	want(t, run, record.ColRefs, 2, 5)
	want(t, run, record.ColIdleCount, 1, 0)
	want(t, run, record.ColScopeDepth, 0, 0)
	want(t, run, record.ColStep, 1, 2)
	if !warned(run, 0, "one scope counts as one step") || !warned(run, 5, "total_bytes") {
		t.Errorf("%+v", run.Warnings)
	}
	if run := readFile(t, []byte(traceLog+scopeLog), "run.log"); run.Samples.Len() != 4 {
		t.Errorf("%d rows beside those of statements", run.Samples.Len())
	}
}
