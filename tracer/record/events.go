package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// ReadEvents reads events.jsonl from r; name stands in warnings and errors. A
// line that is no event, a line over 1 MiB and a last line that is cut are left
// out with a warning. Kinds it does not know are kept; readers ignore them.
// What comes back takes at most some 32 MiB, whatever the file holds: see
// eventKeeper for what is left out first. A warning says what was.
// After a read error the events before it come back together with the error. What
// looks like a secret is masked (Event.Mask).
func ReadEvents(r io.Reader, name string) ([]Event, []Warning, error) {
	events, warn, err := readEvents(r, name)
	for i := range events {
		events[i].Mask()
	}
	return events, warn, err
}

// read reads an event from a line. What it holds of holders is not given to a decoder
// of its own each: those of a run of weeks are most of its events' bytes.
func (e *Event) read(line []byte) error {
	type holder Holder
	var all struct {
		*Event
		Holders []holder `json:"holders"` // stands for the event's own
	}
	all.Event = e
	if n := bytes.Count(line, []byte(`{"path":`)); n > 0 {
		all.Holders = make([]holder, 0, n)
	}
	if err := json.Unmarshal(line, &all); err != nil {
		return err
	}
	if all.Holders == nil || len(all.Holders) == 0 && cap(all.Holders) > 0 {
		return nil
	}
	e.Holders = make([]Holder, len(all.Holders))
	for i, h := range all.Holders {
		e.Holders[i] = Holder(h)
		e.Holders[i].takeWords()
	}
	return nil
}

// readEvents reads the events as they stand.
func readEvents(r io.Reader, name string) ([]Event, []Warning, error) {
	warn := &warnings{file: name}
	lines := newLineReader(r, func(line int) {
		warn.add(line, "", "line over %d bytes skipped", maxLine)
	})
	keep := newEventKeeper()
	for {
		line, ended, more := lines.next()
		if !more {
			break
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e Event
		switch err := e.read(line); {
		case err != nil && !ended:
			warn.add(lines.line, "", "last line is cut short and left out")
		case err != nil:
			warn.add(lines.line, "", "no event: %v", err)
		case e.Kind == "":
			warn.add(lines.line, "", "event without a kind left out")
		default:
			keep.add(e)
		}
	}
	all := append(warn.all(), keep.left(name)...)
	if lines.err != nil {
		return keep.events, all, fmt.Errorf("read %s: line %d: %w", name, lines.line, lines.err)
	}
	return keep.events, all, nil
}
