package verdict

import "github.com/gpumem/gpumem/tracer/record"

// LeftRow is a process that the program left behind, with what it held when it was
// last seen, in bytes; nil is unknown.
type LeftRow struct {
	PID            int    `json:"pid"`
	Name           string `json:"name,omitempty"`
	FootprintBytes *int64 `json:"footprint_bytes,omitempty"`
	DeviceBytes    *int64 `json:"device_bytes,omitempty"`
}

// leftBehind are the processes that the recording says were left behind, in the order
// in which they stand there, each once.
func leftBehind(all []*settled, events []record.Event) []LeftRow {
	var rows []LeftRow
	seen := map[int]bool{}
	of := map[int]*settled{}
	for _, s := range all {
		of[s.PID] = s
	}
	for i := range events {
		e := &events[i]
		if e.Kind != record.KindLeft || seen[e.PID] {
			continue
		}
		seen[e.PID] = true
		row := LeftRow{PID: e.PID, Name: e.Name}
		if s := of[e.PID]; s != nil && len(s.Whole.Clock) > 0 {
			if held, ok := heldAt(&s.Examined.Process, s.Whole.Clock[len(s.Whole.Clock)-1]); ok {
				row.FootprintBytes, row.DeviceBytes = whole(held.Footprint), whole(held.Device)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
