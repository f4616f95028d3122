package account

import "github.com/gpumem/gpumem/tracer/record"

// HandleKind is a kind of the driver's handles: the column that counts those
// alive, and what they are called in the plural. Cached ones are made once for
// each shape or kernel that a program meets, and kept on purpose.
type HandleKind struct {
	Column, Name string
	Cached       bool
}

// HandleKinds are the kinds that are counted.
func HandleKinds() []HandleKind {
	return []HandleKind{
		{record.ColEvents, "events", false}, {record.ColStreams, "streams", false},
		{record.ColGraphs, "graphs", true}, {record.ColModules, "modules", true},
		{record.ColContexts, "contexts", false}, {record.ColPools, "memory pools", false},
	}
}

// Handles of the driver that explain a growth: so many more, each with at least
// so many bytes (an event) and no more (a graph, a stream's stack).
const (
	MoreHandles    = 16
	LeastPerHandle = 64
	MostPerHandle  = 32 * (1 << 20)
)
