package capture

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// allTwins is what the program twins holds at its end.
var allTwins = map[string]int64{
	record.ColDriverArrayBytes:   (16 + 64 + 16 + 64 + 72 + 72) << 10,
	record.ColDriverManagedBytes: 64 << 10,
	record.ColDriverAllocBytes:   (16 + 64 + 16 + 64 + 72 + 72 + 16 + 16 + 64 + 32 + 128) << 10,
	record.ColModules:            2,
}

func TestProbesSeeWhatARunningProcessAsksOfHIP(t *testing.T) {
	tools := build(t)
	for scenario, want := range map[string]map[string]int64{
		"all":   allTwins,
		"given": {record.ColDriverAllocBytes: 0, record.ColDriverArrayBytes: 0, record.ColModules: 0},
	} {
		t.Run(scenario, func(t *testing.T) {
			r, cmd, say := attached(t, tools.path("twins_hip"), scenario, "wait")
			say("go")
			if err := r.Poll(); err != nil {
				t.Fatal(err)
			}
			e := ended{pid: cmd.Process.Pid, reader: r}
			wantCells(t, e, want)
			if scenario == "given" {
				return
			}
			if s, ok := siteWith(r.Sites(e.pid), "twins.c:"); !ok || s.Bytes != 128<<10 {
				t.Errorf("sites %+v", r.Sites(e.pid))
			}
		})
	}
}

func TestEachCallOfHIPThatHasATwinIsRecorded(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		for scenario, want := range map[string]map[string]int64{
			"all":   allTwins,
			"given": {record.ColDriverAllocBytes: 0, record.ColDriverArrayBytes: 0, record.ColModules: 0},
			"reset": {record.ColDriverAllocBytes: 128 << 10},
		} {
			t.Run(fmt.Sprintf("%s, %s", scenario, mode), func(t *testing.T) {
				t.Parallel()
				wantCells(t, run(t, launch{mode: mode, args: []string{tools.path("twins_hip"), scenario}}), want)
			})
		}
	}
}

func TestARefusalOfHIPTellsWhatTheDeviceHadLeftAndLeavesTheProgramItsError(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		e := run(t, launch{mode: mode, env: []string{"STUB_LIMIT=" + strconv.Itoa(4<<20)},
			args: []string{tools.path("twins_hip"), "refused"}})
		got := e.reader.Failures(e.pid)
		if len(got) != 1 {
			t.Fatalf("%s: %d refused allocations, want one", mode, len(got))
		}
		if f := got[0]; f.Bytes != 2<<20 || f.Device != 1 || f.FreeBytes != 1<<20 {
			t.Errorf("%s: the refused allocation is %+v", mode, f)
		}
	}
}

// A function of CUDA's that has no twin in HIP's runtime, or one of a name that its own
// rules do not make.
var twinless = map[string]string{
	"cuInit": "", "cuCtxSynchronize": "hipDeviceSynchronize", "cuMemAlloc": "hipMalloc",
	"cuMemAllocAsync": "hipMallocAsync", "cuMemAllocFromPoolAsync": "hipMallocFromPoolAsync",
	"cuMemAllocManaged": "hipMallocManaged", "cuMemFree": "hipFree", "cuMemFreeAsync": "hipFreeAsync",
	"cuMemFreeHost": "hipHostFree", "cuMemHostAlloc": "hipHostMalloc", "cuMemHostRegister": "hipHostRegister",
	"cuMemHostUnregister": "hipHostUnregister",
	// Contexts are deprecated there: a device has one, which ends with hipDeviceReset.
	"cuCtxCreate": "", "cuCtxDestroy": "", "cuDevicePrimaryCtxRetain": "", "cuDevicePrimaryCtxRelease": "",
	"cuDevicePrimaryCtxReset": "hipDeviceReset",
}

// hooksOfHIP are the functions of HIP's runtime that the interposer hooks.
func hooksOfHIP(t *testing.T) (hip []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`X\((hip\w+),`).FindAllStringSubmatch(string(readFile(t,
		"inject/hiphooks.h")), -1) {
		hip = append(hip, m[1])
	}
	return hip
}

func TestEachHookOfCUDAHasItsTwinOfHIP(t *testing.T) {
	t.Parallel()
	hip := hooksOfHIP(t)
	for _, name := range hooksInSource(t) {
		base := regexp.MustCompile(`(_v\d|_ptsz)+$`).ReplaceAllString(name, "")
		twin, listed := twinless[base]
		if !listed {
			twin = "hip" + strings.TrimPrefix(base, "cu")
		}
		if twin != "" && !slices.Contains(hip, twin) {
			t.Errorf("%s has no twin %s", name, twin)
		}
	}
}
