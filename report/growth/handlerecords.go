package growth

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// recordsExplain is the part of the host account's variation that the number of
// handles must explain for the two to be coupled.
const recordsExplain = .98

// RecordCost is the most host bytes that the driver is believed to keep of one
// handle. Measured with driver 580: .6 KiB an event, 11 KiB an empty module, 16
// KiB a stream, 160 to 630 KiB a graph.
func RecordCost(column string) float64 {
	switch column {
	case record.ColEvents:
		return 4 * kib
	case record.ColGraphs:
		return mib
	}
	return HandleCost
}

// DriverRecords are handles of the driver whose number rises with the host
// account. libcuda keeps its records of them in the program's heap, so that a
// heap that grows along says nothing of whose the growth is.
type DriverRecords struct {
	name string // of the handles, in the plural; empty when none rises along
	more float64
	most float64 // host bytes that so many may cost
}

// FindRecords looks for handles that rise with the host account, those that
// may cost most first. Where compilations rise along, the handles are what the
// program compiled and keeps: its cache, not the driver's records.
func (x *Examined) FindRecords() DriverRecords {
	var best DriverRecords
	g := &x.Grow[series.Host]
	if !g.Growing() {
		return best
	}
	rows := x.Judged.LowRows(x.Judged.Series[series.Host], g, series.Share(series.Host))
	y := trend.BlockMeans(x.Judged.Series[series.Host], rows)
	for _, k := range account.HandleKinds() {
		more := x.Judged.Rise(k.Column, g.From)
		if !(more > 0) || x.Judged.Compiled(g.From) >= more/2 {
			continue
		}
		if !trend.Climbs(x.Judged.Cols[k.Column][g.From:], account.MoreHandles) {
			continue
		}
		n := trend.BlockMeans(x.Judged.Cols[k.Column], rows)
		if len(n) < trend.MinBlocks || stat.FitLine(n, y).SSE > (1-recordsExplain)*stat.Variation(y) {
			continue
		}
		if most := more * RecordCost(k.Column); most > best.most {
			best = DriverRecords{k.Name, more, most}
		}
	}
	return best
}

// Hold reports whether so many host bytes can be the driver's records.
func (r DriverRecords) Hold(bytes float64) bool {
	return r.name != "" && bytes <= r.most && bytes >= account.LeastPerHandle*r.more
}

// Words tell of which handles so many bytes are the records.
func (r DriverRecords) Words(bytes float64) string {
	each := units.Bytes(bytes / r.more)
	return fmt.Sprintf(", with the number of %s: %s for each of %s more", r.name, each, units.Whole(r.more))
}

// HandleCost is the most host or driver bytes one live handle is believed to
// cost beside what it stores.
const HandleCost = 64 * kib
