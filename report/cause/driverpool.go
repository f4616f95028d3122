package cause

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// DriverPool is the cause of a pool of the driver that keeps what was freed.
const DriverPool = "driver-pool-keeps"

// driverPoolKeeps: the driver's pool of stream-ordered memory has a release threshold
// and keeps up to it what the program freed.
func driverPoolKeeps(c *Case) *Cause {
	idle := c.Judged.Columns[record.ColDriverPoolIdle]
	told := c.Judged.Columns[record.ColIdle] != nil // by an allocator, which is asked first
	if c.Class != account.PoolGrowth || told || len(stat.Known(idle)) == 0 {
		return nil
	}
	e := evidence("the driver's pools hold %s of the device, of which nobody uses %s",
		units.Bytes(c.lastOf(record.ColDriverPoolReserved)), units.Bytes(c.lastOf(record.ColDriverPoolIdle)))
	switch keeps := c.lastOf(record.ColDriverPoolKeeps); {
	case keeps >= record.NoThreshold:
		e = append(e, "their release threshold has no limit: they never give memory back by themselves")
	case keeps > 0:
		e = append(e, fmt.Sprintf("their release threshold is %s: they keep as much when the program synchronizes",
			units.Bytes(keeps)))
	}
	next := "lower the release threshold (cudaMemPoolAttrReleaseThreshold, 0 by default), or call " +
		"cudaMemPoolTrimTo where the program rests"
	if more := c.total(record.ColPools); more >= account.MoreHandles {
		e = append(e, fmt.Sprintf("%s more pools were made than destroyed", units.Whole(more)))
		next = "destroy the pools that are no longer used (cudaMemPoolDestroy), or share one; else " + next
	}
	return &Cause{ID: DriverPool, Confidence: .9 * c.Confidence,
		Evidence: append(e, c.outcomes(record.ActionPurge)...), Next: next}
}

// lastOf is a column's last known value; NaN when none is known.
func (c *Case) lastOf(column string) float64 {
	if k := stat.Known(c.Judged.Columns[column]); len(k) > 0 {
		return k[len(k)-1]
	}
	return math.NaN()
}
