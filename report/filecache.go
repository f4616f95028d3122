package report

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// leastCache is how much of the page cache is worth a line, in bytes: a program and
// its libraries have some of it always.
const leastCache = 64 << 20

// fileCacheOf is the clean pages of mapped files in each row. In a recording that does
// not tell which of them are changed, all of them count.
func fileCacheOf(s *record.Samples) []float64 {
	if v := account.Column(s, record.ColFileCache); anyKnown(v) {
		return v
	}
	v := account.Column(s, record.ColRSSFile)
	if !anyKnown(v) {
		return nil
	}
	return v
}

// fileCacheText tells of the page cache beside the accounts; empty where nobody tells it
// or it is small.
func fileCacheText(run *record.Run) string {
	v := fileCacheOf(run.Samples)
	if v == nil {
		return ""
	}
	first, last := ends(v)
	_, most := rangeOf(v)
	change, ok := changeBetween(account.Column(run.Samples, record.ColTime), v, math.Inf(-1), math.Inf(1))
	if !ok || most < leastCache {
		return ""
	}
	return fmt.Sprintf("File cache: %s, from %s to %s. These are clean pages of mapped files. The system "+
		"drops them when it needs memory, so they are charged to no account.",
		units.Growth(change), units.Bytes(first), units.Bytes(last))
}

// fileCacheLabel names the line of fileCacheOf.
func fileCacheLabel(s *record.Samples) string {
	if anyKnown(account.Column(s, record.ColFileCache)) {
		return "file cache"
	}
	return "file pages"
}
