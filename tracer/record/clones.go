package record

import "encoding/json"

// Clone is a line of the program and how many references it added to tensors that
// were there already.
type Clone struct {
	Site       string `json:"site"` // file:line func
	References int64  `json:"references"`
}

// Clones is the Detail of a KindClones event: the most references first.
type Clones struct {
	Clones []Clone `json:"clones"`
}

// ClonesOf reads what an event of KindClones says; nothing of another event.
func ClonesOf(e *Event) []Clone {
	var c Clones
	if e.Kind != KindClones || json.Unmarshal(e.Detail, &c) != nil {
		return nil
	}
	return c.Clones
}
