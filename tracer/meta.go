package tracer

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/tracer/record"
)

// beginMeta fills what the caller left empty of run.json.
func (c *Config) beginMeta(start time.Time, startNs int64) record.Meta {
	m := c.Meta
	if m.Command == nil {
		m.Command = c.Command
	}
	if m.Env == nil {
		m.Env = relevantEnv(c.environ())
	}
	if m.Host == "" {
		m.Host, _ = os.Hostname() // a machine without a name has none
	}
	if m.OS == "" {
		m.OS = systemName()
	}
	if m.Machine == nil {
		m.Machine = thisMachine()
	}
	if m.Start.IsZero() {
		m.Start = start
	}
	m.StartNanos = startNs
	m.IntervalMs = float64(c.Interval) / float64(time.Millisecond)
	m.CalmIntervalMs = float64(c.Calm) / float64(time.Millisecond)
	m.CapacityBytes = withHostLimits(m.CapacityBytes)
	return m
}

func (c *Config) environ() []string {
	if c.Env != nil {
		return c.Env
	}
	return os.Environ()
}

// systemName is the operating system with its version, as far as it says.
func systemName() string {
	name := runtime.GOOS + "/" + runtime.GOARCH
	if release := kernelRelease(); release != "" {
		name += " " + release
	}
	return name
}

// thisMachine is what is known of the machine we run on.
func thisMachine() *record.Machine {
	f := host.Read(context.Background())
	m := &record.Machine{Platform: f.Platform, Kernel: f.Kernel, Virtualization: f.Virtualization, CPU: f.CPU,
		Processors: f.Processors}
	if !f.Booted.IsZero() {
		m.Booted = &f.Booted
	}
	if f.Memory != host.Unknown {
		m.MemoryBytes = &f.Memory
	}
	if f.Swap != host.Unknown {
		m.SwapBytes = &f.Swap
	}
	return m
}

// withHostLimits adds the limits of the host that are not named yet.
func withHostLimits(given map[string]int64) map[string]int64 {
	limits := map[string]int64{}
	if t, err := probe.ReadTotals(0); err == nil {
		if t.Memory > 0 {
			limits[record.LimitHost] = t.Memory
		}
		if t.CgroupLimit > 0 {
			limits[record.LimitCgroup] = t.CgroupLimit
		}
	}
	for name, bytes := range given {
		limits[name] = bytes
	}
	return limits
}

// relevantEnv picks the variables that change how a program uses memory. Of
// those that look like secrets the writer keeps the names (internal/secret).
func relevantEnv(environ []string) map[string]string {
	found := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if relevantName(name) {
			found[name] = value
		}
	}
	return found
}

func relevantName(name string) bool {
	switch name {
	case "LD_PRELOAD", "LD_AUDIT", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS", "PYTHONMALLOC", "NO_COLOR",
		"RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
		"MV2_COMM_WORLD_RANK", "SLURM_PROCID", "SLURM_JOB_ID",
		"NSZombieEnabled", "NSDeallocateZombies", "MallocStackLogging", "MallocStackLoggingNoCompact",
		"MallocScribble", "MallocGuardEdges":
		return true
	}
	for _, prefix := range [...]string{
		"CUDA_", "CUPY_", "PYTORCH_", "TORCH_", "XLA_", "JAX_", "TF_GPU_", "TF_FORCE_", "TF_XLA_", "TF_CUDA_",
		"NCCL_", "NVIDIA_", "HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_",
		"ONEAPI_", "ZE_", "SYCL_", "OPENCL_", "POCL_", "VK_", "MTL_", "METAL_", "CANDLE_", "TL_", "GPUMEM_",
		"OMP_", "MKL_", "MALLOC_", "DYLD_", "OBJC_DEBUG_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
