package verdict

import (
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// slight is the part of what an account holds below which a growth is slight.
const slight = 1. / 64

// isSlight reports whether what host memory grew by is little beside what it is, and less
// than the heap keeps free between blocks: one request larger than any before takes as much.
func isSlight(s *settled) bool {
	g := &s.Grow[s.primary]
	if s.class != HostGrowth || g.Gained() >= slight*g.End {
		return false
	}
	free := stat.Known(s.Judged.Cols[record.ColHostHeapFree])
	return len(free) > 0 && g.Gained() < free[len(free)-1]
}
