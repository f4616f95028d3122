package cause

import "fmt"

// Cause is a named cause from the catalogue, with its evidence.
type Cause struct {
	ID         string   `json:"id"`
	Confidence float64  `json:"confidence"`
	Evidence   []string `json:"evidence"`
	Next       string   `json:"next"`
	// Share is the part of the growth that it explains; nil where nothing tells.
	Share *float64 `json:"share,omitempty"`
	// Change is the change in the program as lines of a patch: what it has now, after
	// "- ", and what it could have, after "+ ". Names in it are examples.
	Change []string `json:"change,omitempty"`
	// Site is the line of the program that it is about, as "file:line function"; empty
	// where none is known, or where it is a holder's.
	Site string `json:"site,omitempty"`
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
	Gradients   = "gradients-never-zeroed"
	Hooks       = "hooks-left"
	Groups      = "optimizer-groups-added"
	Tracebacks  = "tracebacks-kept"
	Logs        = "log-records-kept"
	Compiled    = "compiled-functions-kept"
	Loggers     = "loggers-added"
	Callbacks   = "callbacks-left"
	Timers      = "timers-left"
	Threads     = "threads-left"
	Queues      = "unbounded-queue"
	Futures     = "futures-kept"
	Snapshots   = "snapshots-kept"
	Sessions    = "sessions-kept"
	Entries     = "entries-left"
	Caches      = "cache-without-bound"
	AtExit      = "registered-for-the-end"
	Results     = "results-kept"
	Buffers     = "buffer-without-bound"
	Memos       = "pickler-memo-kept"
	Databases   = "database-in-memory"
	Modules     = "modules-made-at-run-time"
	Exports     = "exports-kept"
	Pinned      = "pinned-staging"
	Outgrown    = "outgrown-blocks"
	Fragmented  = "heap-fragmentation"
	// PoolFragmented is of the framework's pool, where that of the C heap is Fragmented.
	PoolFragmented = "pool-fragmentation"
	Asked          = "driver-memory-kept"
	OwnPools       = "pools-kept"
)

// evidence is one piece of evidence.
func evidence(format string, a ...any) []string { return []string{fmt.Sprintf(format, a...)} }
