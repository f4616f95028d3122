package capture

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestEachCallOfHIPThatHasATwinIsRecorded(t *testing.T) {
	t.Parallel()
	tools := build(t)
	const kib = 1 << 10
	arrays := int64(16+64+16+64+72+72) * kib
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		for scenario, want := range map[string]map[string]int64{
			"all": {
				record.ColDriverArrayBytes: arrays, record.ColDriverManagedBytes: 64 * kib,
				record.ColDriverAllocBytes: arrays + (16+16+64+32+128)*kib, record.ColModules: 2,
			},
			"given": {record.ColDriverAllocBytes: 0, record.ColDriverArrayBytes: 0, record.ColModules: 0},
			"reset": {record.ColDriverAllocBytes: 128 * kib},
		} {
			t.Run(fmt.Sprintf("%s, %s", scenario, mode), func(t *testing.T) {
				t.Parallel()
				wantCells(t, run(t, launch{mode: mode, args: []string{tools.path("twins_hip"), scenario}}), want)
			})
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

func TestEachHookOfCUDAHasItsTwinOfHIP(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("inject/hip.h")
	if err != nil {
		t.Fatal(err)
	}
	var hip []string
	for _, m := range regexp.MustCompile(`X\((hip\w+),`).FindAllStringSubmatch(string(b), -1) {
		hip = append(hip, m[1])
	}
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
