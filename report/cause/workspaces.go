package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// Causes of what libraries and captured graphs take from the driver behind the program's
// back.
const (
	Workspaces = "library-workspaces"
	GraphPools = "captured-graphs-kept"
)

// manyWorkspaces is how often a library must have asked for what it keeps: one handle of
// cuBLAS asks three times at its start.
const manyWorkspaces = 8

// mathLibrary is the beginning of a site in a library that has workspaces or plans of its
// own: "libcublas.so.13+0x5b45ee".
func mathLibrary() *regexp.Regexp {
	return regexp.MustCompile(`^lib((?:cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|rocblas|hipblas|rocfft|` +
		`hipfft|rocrand|hiprand|MIOpen)\w*)\.so[\d.]*\+0x`)
}

// libraryWorkspaces: a library of the vendor's asks the driver again and again, and keeps
// what it got: each handle, each stream and each plan has a workspace of its own.
func libraryWorkspaces(c *Case) *Cause {
	grows := c.Class == account.DriverGrowth || c.Class == account.AppLeak
	if !grows || !c.ByTrend || c.Size <= 0 || c.inThings() || c.Class == account.AppLeak && c.hasPool() {
		return nil
	}
	named, bytes, count := "", 0., int64(0)
	for _, s := range c.Sites {
		m := mathLibrary().FindStringSubmatch(s.Site)
		if m == nil || s.GrowthBytes <= 0 || strings.HasSuffix(s.Site, record.GoneSite("")) {
			continue
		}
		if named == "" {
			named = m[1]
		}
		bytes, count = bytes+float64(s.GrowthBytes), count+s.Count
	}
	if named == "" || bytes < leastHeld*c.Size || count < manyWorkspaces {
		return nil
	}
	share := min(1, bytes/c.Size)
	return &Cause{ID: Workspaces, Confidence: (.5 + .4*share) * c.Confidence, Share: &share,
		Evidence: evidence("%s asked the driver for %s in %d allocations that it still has", named,
			units.Bytes(bytes), count),
		Next: "make one handle or plan for each device and thread, use it again, and destroy it when it " +
			"has done its work: each has workspaces of its own, for each stream that it is used on",
		Change: []string{"- cublasCreate(&handle); cublasSgemm(handle, …)",
			"+ cublasSgemm(handle, …)  // with one handle for each thread, made once"}}
}

// askedAndKept: one place asks the driver for device memory again and again, and what it got stays.
// The device loses up to twice of that, as each allocation takes whole pages of 2 MiB: cudaMalloc
// gives one of 2.2 MiB two of them.
func askedAndKept(c *Case) *Cause {
	if c.Class != account.DriverGrowth || !c.ByTrend || c.Grows != &c.Untracked || c.Size <= 0 {
		return nil
	}
	whole := c.Size
	pool := max(0, c.total(record.ColLive)) + max(0, c.total(record.ColIdle))
	if asked := c.total(record.ColDriverAllocBytes) - pool; asked >= c.Size/2 {
		whole = min(whole, asked)
	}
	for _, s := range c.Sites {
		share := min(1, float64(s.GrowthBytes)/whole)
		if share < leastHeld || s.Count < manyWorkspaces || strings.HasSuffix(s.Site, record.GoneSite("")) {
			continue
		}
		return &Cause{ID: Asked, Confidence: (.4 + .4*share) * c.Confidence, Share: &share, Site: s.Site,
			Evidence: evidence("%d allocations that were asked of the driver there are alive, %s more than before",
				s.Count, units.Bytes(float64(s.GrowthBytes))),
			Next: "free what is asked of the driver there, or keep it and use it again; where a library asks for " +
				"it there, destroy the handle or the plan that it belongs to",
			Change: []string{"- self.input = runtime.malloc(size)",
				"+ runtime.free(self.input); self.input = runtime.malloc(size)"}}
	}
	return nil
}

// hasPool reports whether the live memory is that of a framework's pool, in which no library's is.
func (c *Case) hasPool() bool { return c.hasAny("torch", "cupy", "jax", "mlx") }

// hasAny reports whether the program has one of some frameworks.
func (c *Case) hasAny(frameworks ...string) bool {
	return slices.ContainsFunc(frameworks, func(name string) bool {
		_, ok := c.Meta.Versions[name]
		return ok
	})
}

// manyGraphs is how many captured graphs more are kept ones, and untoldPools the confidence that a pool
// grows by theirs where nobody tells.
const (
	manyGraphs  = 4
	untoldPools = .7
)

// graphsKept: graphs are captured again and again, and each keeps a pool of its own. While a program runs on
// nobody tells what its pools have: there it is a pool that grows beside more and more graphs.
func graphsKept(c *Case) *Cause {
	grows := c.Class == account.AppLeak || c.Class == account.PoolGrowth
	more := stat.Rise(c.alive(record.ColGraphs))
	if !grows || !c.ByTrend || c.Size <= 0 || c.inThings() || !(more >= manyGraphs) {
		return nil
	}
	private := 0.
	for _, p := range c.Pools {
		if p.Private {
			private += float64(p.Live + p.Idle)
		}
	}
	untold := len(c.Pools) == 0 && c.Class == account.PoolGrowth
	if private < leastHeld*c.Size && !untold {
		return nil
	}
	share, site := min(1, private/c.Size), ""
	for _, k := range account.HandleKinds() {
		if k.Column == record.ColGraphs {
			site = c.madeMost(k, more)
		}
	}
	found := &Cause{ID: GraphPools, Site: site, Confidence: untoldPools * c.Confidence,
		Evidence: []string{fmt.Sprintf("%s more graphs are alive", units.Whole(more))},
		Next:     nextOfGraphs, Change: changeOfGraphs()}
	if !untold {
		found.Confidence, found.Share = (.5+.4*share)*c.Confidence, &share
		pools := fmt.Sprintf("the pools of captured graphs hold %s", units.Bytes(private))
		found.Evidence = append([]string{pools}, found.Evidence...)
	}
	return found
}

// nextOfGraphs is what to do about captured graphs that are kept.
const nextOfGraphs = "capture once for each shape and replay that, drop graphs of shapes that are no more in use, " +
	"and let graphs that never run at the same time share a pool"

// changeOfGraphs is the same as lines of a patch.
func changeOfGraphs() []string {
	return []string{"- with torch.cuda.graph(torch.cuda.CUDAGraph()): …  # for each request",
		"+ with torch.cuda.graph(graphs[shape], pool=torch.cuda.graph_pool_handle()): …  # once a shape"}
}
