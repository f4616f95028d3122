package cause

import (
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// purgeInVain: a purge claims to have freed what the system did not get back.
func purgeInVain(c *Case) *Cause {
	for _, e := range c.Receipts {
		r := e.Receipt
		known := r.ClaimedBytes != nil && (r.ReturnedBytes != nil || r.GPUBytes != nil)
		if r.Action != record.ActionPurge || !known {
			continue
		}
		claimed, back := float64(*r.ClaimedBytes), r.Returned()
		if claimed > c.Leftover && back < .1*claimed && !grewMeanwhile(r, .1*claimed) {
			if r.ReturnedBytes == nil && r.Account == record.AccountIdle {
				return poolKeepsRegions(claimed, back)
			}
			return &Cause{ID: Purge, Confidence: .9,
				Evidence: evidence("the purge claims %s; the system got %s back",
					units.Bytes(claimed), units.Bytes(math.Max(0, back))),
				Next: "the pool drops its books, not its memory: look for a second owner, " +
					"or for buffers released without being emptied"}
		}
	}
	return nil
}

// grewMeanwhile reports that the program took more than so many bytes while its purge
// was measured: what the system got back is then unknown.
func grewMeanwhile(r *record.Receipt, bytes float64) bool {
	for _, back := range [...]*int64{r.ReturnedBytes, r.GPUBytes} {
		if back != nil && float64(*back) < -bytes {
			return true
		}
	}
	return false
}

// poolKeepsRegions is the cause where the driver's own pool tells both what it had idle
// and what it gave back: its books are right, and it could not give more.
func poolKeepsRegions(idle, back float64) *Cause {
	return &Cause{ID: Purge, Confidence: .9,
		Evidence: evidence("the driver's pools had %s idle and gave %s back when they were trimmed",
			units.Bytes(idle), units.Bytes(math.Max(0, back))),
		Next: "blocks in use lie between the idle ones, and the driver gives back whole regions alone: " +
			"take blocks that live long from a pool of their own, or take them first"}
}

// deadHolder: device memory stays charged after the process was gone.
func deadHolder(c *Case) *Cause {
	gpu, rss := c.Whole.Columns[record.ColGPU], c.Whole.Columns[record.ColRSS]
	if gpu == nil || rss == nil {
		return nil
	}
	gone, held := 0, 0.
	for i := len(gpu) - 1; i >= 0 && !(rss[i] > 0); i-- {
		if gpu[i] > mib {
			gone++
			held = math.Max(held, gpu[i])
		}
	}
	if gone < 3 || len(stat.Known(rss)) == 0 {
		return nil
	}
	return &Cause{ID: Dead, Confidence: .9,
		Evidence: evidence("%s of device memory stay charged in %d samples after the process was gone",
			units.Bytes(held), gone),
		Next: "find the process that still has the device open, or reset the device"}
}

// workersLeft: processes were started one after the other, and nobody ended them.
func workersLeft(c *Case) *Cause {
	if c.Workers == "" {
		return nil
	}
	return &Cause{ID: Workers, Confidence: c.Confidence, Evidence: []string{c.Workers},
		Next: "end each worker when its work is done (join, terminate, or a pool of a fixed size); " +
			"the table of processes has their commands",
		Change: []string{"- Process(target=work).start()", "+ with Pool(4) as pool: pool.map(work, jobs)"}}
}

// toolVariables are switches of capture and debug layers that hold memory.
var toolVariables = [...]string{
	"MTL_CAPTURE_ENABLED", "METAL_CAPTURE_ENABLED", "MetalCaptureEnabled", "METAL_DEVICE_WRAPPER_TYPE",
	"MTL_DEBUG_LAYER", "MTL_SHADER_VALIDATION", "MTL_HUD_ENABLED",
	"NSZombieEnabled", "NSDeallocateZombies", "MallocStackLogging", "MallocStackLoggingNoCompact",
	"MallocScribble", "MallocGuardEdges",
	"CUDA_INJECTION64_PATH",
}

// toolLibraries are parts of the names of such layers' libraries, as
// DYLD_INSERT_LIBRARIES or LD_PRELOAD name them.
var toolLibraries = [...]string{
	"MTLCapture", "GPUToolsCapture", "MTLDebug", "libgmalloc", "MallocStackLogging", "lsan", "asan",
}

// tooling: a layer that keeps memory of its own is switched on. Named only
// where something grows.
func tooling(c *Case) *Cause {
	if c.Class == account.None {
		return nil
	}
	env := c.Meta.Env
	var on []string
	for _, n := range toolVariables {
		switch v := env[n]; strings.ToLower(v) {
		case "", "0", "no", "false", "off":
		default:
			on = append(on, n+"="+v)
		}
	}
	for _, n := range [...]string{"DYLD_INSERT_LIBRARIES", "LD_PRELOAD"} {
		for _, library := range toolLibraries {
			if strings.Contains(env[n], library) {
				on = append(on, n+" with "+library)
			}
		}
	}
	if len(on) == 0 {
		return nil
	}
	return &Cause{ID: Tooling, Confidence: .6,
		Evidence: []string{"set in the environment: " + strings.Join(on, ", ")},
		Next:     "run again without these: capture and debug layers keep memory themselves"}
}
