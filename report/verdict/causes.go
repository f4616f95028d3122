package verdict

import (
	"math"
	"sort"
	"strings"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// Identifiers of the catalogue of causes.
const (
	CauseAutorelease = "missing-autorelease-pool"
	CauseReleases    = "release-outside-autorelease-pool"
	CauseBacklog     = "command-buffer-backlog"
	CauseUncommitted = "uncommitted-command-buffers"
	CausePolicy      = "pool-never-trims"
	CauseMisses      = "size-class-misses"
	CauseCompile     = "per-shape-compile-cache"
	CausePipelines   = "pipeline-cache"
	CauseHandles     = "handle-leak"
	CauseCycle       = "reference-cycle"
	CauseGraph       = "uncut-autograd-graph"
	CauseClone       = "retained-clone"
	CauseFinalizers  = "finalizer-lag"
	CauseResident    = "released-but-resident"
	CauseNotEmptied  = "released-without-emptying"
	CauseCeiling     = "buffer-count-ceiling"
	CauseDriver      = "driver-internal-growth"
	CauseWarmUp      = "lazily-committed-pages"
	CausePurge       = "purge-without-effect"
	CauseDead        = "dead-process-holds-memory"
	CauseTooling     = "tooling"
)

// causeRules are the catalogue: each looks for its own signature and names
// its cause only with the evidence for it. The order is that of the output
// for equal confidence.
var causeRules = [...]func(*subject) *Cause{
	(*subject).temporaries, (*subject).backlog, (*subject).uncommitted, (*subject).policy, (*subject).misses,
	(*subject).compileCache, (*subject).collected, (*subject).graph, (*subject).clone, (*subject).clones, (*subject).handles,
	(*subject).finalizers, (*subject).resident, (*subject).notEmptied, (*subject).ceiling, (*subject).lazyPages,
	(*subject).purgeInVain, (*subject).deadHolder, (*subject).tooling,
}

// causes are the named causes, the surest first. Growth inside the driver is
// named where nothing else is.
func (s *subject) causes() []Cause {
	var out []Cause
	for _, rule := range causeRules {
		if c := rule(s); c != nil {
			out = append(out, *c)
		}
	}
	if len(out) == 0 {
		if c := s.inDriver(); c != nil {
			out = append(out, *c)
		}
	}
	for i := range out {
		out[i].Confidence = round(out[i].Confidence)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Confidence > out[j].Confidence })
	return out
}

// advance is by how much a running total rose over the rows judged for the
// primary account; NaN when it is unknown.
func (s *subject) advance(column string) float64 {
	from := 0
	if s.primary < keys {
		from = s.grow[s.primary].From
	}
	return s.rise(column, from)
}

// rise is by how much a column rose from a row on; NaN when it is unknown.
func (s *subject) rise(column string, from int) float64 {
	v := s.led.cols[column]
	if v == nil {
		return math.NaN()
	}
	if k := stat.Known(v[from:]); len(k) > 1 {
		return k[len(k)-1] - k[0]
	}
	return math.NaN()
}

// total is by how much a running total rose over all judged rows.
func (s *subject) total(column string) float64 {
	if k := stat.Known(s.led.cols[column]); len(k) > 1 {
		return k[len(k)-1] - k[0]
	}
	return math.NaN()
}

// apart is how many rows two counters may be read apart: on a busy machine the
// tracer reads the footprint some rows after the program read its own.
const apart = 12

// follow is by how much lead fell, in falls of at least a MiB between two rows,
// and how much of that tail fell about the same rows.
func follow(lead, tail []float64) (fell, followed float64) {
	last := -1
	for i, v := range lead {
		if v != v || i < len(tail) && tail[i] != tail[i] {
			continue
		}
		if last >= 0 && lead[last]-v >= mib {
			fell += lead[last] - v
			high := stat.Quantile(stat.Known(tail[max(0, last-apart):last+1]), 1)
			low := stat.Quantile(stat.Known(tail[i:min(i+apart, len(tail))]), 0)
			if d := high - low; d == d {
				followed += stat.Clamp(d, 0, lead[last]-v)
			}
		}
		last = i
	}
	return fell, followed
}

// article is "a" or "an" before a unit's name.
func article(unit string) string {
	if unit != "" && strings.ContainsRune("aeio", rune(unit[0])) {
		return "an " + unit
	}
	return "a " + unit
}
