package cause

import "fmt"

// Cause is a named cause from the catalogue, with its evidence.
type Cause struct {
	ID         string   `json:"id"`
	Confidence float64  `json:"confidence"`
	Evidence   []string `json:"evidence"`
	Next       string   `json:"next"`
}

// Identifiers of the causes.
const (
	Autorelease = "missing-autorelease-pool"
	Releases    = "release-outside-autorelease-pool"
	Backlog     = "command-buffer-backlog"
	Uncommitted = "uncommitted-command-buffers"
	Policy      = "pool-never-trims"
	Misses      = "size-class-misses"
	Compile     = "per-shape-compile-cache"
	Pipelines   = "pipeline-cache"
	HandleLeak  = "handle-leak"
	Cycle       = "reference-cycle"
	Graph       = "uncut-autograd-graph"
	Clone       = "retained-clone"
	Finalizers  = "finalizer-lag"
	Resident    = "released-but-resident"
	NotEmptied  = "released-without-emptying"
	Ceiling     = "buffer-count-ceiling"
	Driver      = "driver-internal-growth"
	WarmUp      = "lazily-committed-pages"
	Purge       = "purge-without-effect"
	Dead        = "dead-process-holds-memory"
	Workers     = "workers-left"
	Tooling     = "tooling"
)

// evidence is one piece of evidence.
func evidence(format string, a ...any) []string { return []string{fmt.Sprintf(format, a...)} }
