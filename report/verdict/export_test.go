package verdict

import (
	"fmt"

	"github.com/gpumem/gpumem/tracer/record"
)

// FaultyRuns are runs by name that are each given a cause: those of the table
// planted, on each driver for which causes of Metal are named, holders that
// decide, and libraries that first touched what grew.
func FaultyRuns() map[string]*record.Run {
	out := map[string]*record.Run{}
	for i, c := range planted {
		name := fmt.Sprintf("%d %s, %s", i, c.cause, c.fault)
		out[name] = c.make().run()
		driver := [...]string{"apple", "soft", "metal", "mps"}[i%4]
		p := c.make()
		p.meta.Driver, p.meta.OS = driver, "darwin/arm64 25.1.0"
		out[name+", driver "+driver] = p.run()
	}
	history := record.Holder{Path: "list train() local history", Gone: true, Bytes: 8 * mib, Count: 128}
	total := record.Holder{Path: "train() local total", Graph: "Add outputs", Gone: true, Bytes: 12 * mib, Count: 1}
	out["a cycle"] = ending(record.ColLive, false).run()
	out["no cycle: a list held it"] = ending(record.ColLive, false, history).run()
	out["a graph that an output keeps"] = ending(record.ColFootprint, false, total).run()
	for _, library := range driversLibraries {
		p := newProgram(600).healthy().grows(record.ColRSS, 500*mib, 64*kib, 64*kib)
		delete(p.cols, record.ColHostHeap)
		p.events = append(p.events, record.Event{Kind: record.KindFirstTouch, FirstTouch: &record.FirstTouch{
			Seconds: 10, Judgement: "growth", Owners: []record.TouchOwner{{Library: library, Share: .9}},
		}})
		out["first touched by "+library] = p.run()
	}
	return out
}

// driversLibraries are files of the user-mode parts of GPU drivers, and one that
// is a program's.
var driversLibraries = [...]string{
	"libcuda.so.580.159.04", "libcuda.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-glcore.so.580.159.04",
	"libGLX_nvidia.so.0", "libEGL_nvidia.so.0", "libnvcuvid.so.1", "libamdhip64.so.7", "libhsa-runtime64.so.1",
	"libamdocl64.so", "libdrm.so.2", "libdrm_amdgpu.so.1", "libdrm_intel.so.1", "libdrm_nouveau.so.2",
	"libze_loader.so.1", "libze_intel_gpu.so.1", "libigdrcl.so", "libigdgmm.so.12",
	"libvulkan_radeon.so", "libvulkan_intel.so", "libvulkan_lvp.so", "libvulkan_nouveau.so",
	"libtorch_cpu.so", "libcudart.so.13", "libalice.so",
}

// Causes are the identifiers of the catalogue that planted has.
func Causes() []string {
	var out []string
	for _, c := range planted {
		out = append(out, c.cause)
	}
	return out
}

// HeldRuns are runs by name whose growth a container holds that the looks found longer
// each time: its path stands in the answer, and its words tell the cause.
func HeldRuns() map[string]*record.Run {
	out := map[string]*record.Run{}
	for _, path := range []string{"list train.snapshots", "dict train.embedding_cache", "OrderedDict net._forward_hooks"} {
		out["held by "+path] = newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, 256*kib).
			set(record.ColGPU, func(i int) float64 { return 700*mib + 256*kib*float64(i) }).
			lookedAt(path, 256*kib, 0).run()
	}
	return out
}
