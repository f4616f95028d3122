package record

import "encoding/json"

// Generation is what lives, at one look, of the blocks that an earlier look was the
// first to find. They were handed out between the look before that and that one.
type Generation struct {
	AgoMs float64 `json:"ago_ms"` // how long ago the look was that found them first
	Bytes int64   `json:"bytes"`
	Count int64   `json:"count"`
}

// Generations is one look at the blocks of the program's allocator: the Detail of a
// KindGenerations event. The oldest generation comes first: what lived at the first
// look. The last one is of this look, with an AgoMs of 0: who of it stays is not known.
type Generations struct {
	Generations []Generation `json:"generations"`
	// Pools are what the allocator has at the look for each stream, as of Composition, of
	// which it tells the live and the idle bytes alone; empty where it has one, or does not tell.
	Pools      []Pool `json:"pools,omitempty"`
	CostMicros int64  `json:"cost_us,omitempty"` // what the look took
}

// GenerationsOf reads what an event of KindGenerations says: nothing of another event,
// and nothing where it is not in order of time.
func GenerationsOf(e *Event) []Generation {
	var g Generations
	if e.Kind != KindGenerations || json.Unmarshal(e.Detail, &g) != nil {
		return nil
	}
	for i, one := range g.Generations {
		if one.Bytes < 0 || one.Count < 0 || one.AgoMs < 0 || i > 0 && one.AgoMs >= g.Generations[i-1].AgoMs {
			return nil
		}
	}
	return g.Generations
}

// PoolsOf are the pools of the program's allocator that an event of KindComposition or
// KindGenerations tells; empty where it tells of none.
func PoolsOf(e *Event) []Pool {
	if e.Kind != KindComposition && e.Kind != KindGenerations {
		return nil
	}
	told, _ := DetailOf[struct {
		Pools []Pool `json:"pools"`
	}](e)
	return told.Pools
}
