package record

import (
	"bytes"
	"fmt"
)

// Thin is what stays of samples when their file may take at most room bytes: their
// past is thinned as a Writer with CreateOptions.Keep thins it, by which the file
// of samples.csv has a quarter of the bound. Samples that are within come back as they
// are. It does not change what it is given; the error is for samples without times.
func Thin(s *Samples, events []Event, room int64) (*Samples, error) {
	var file bytes.Buffer
	if err := WriteCSV(&file, s); err != nil {
		return nil, err
	}
	if int64(file.Len()) <= room {
		return s, nil
	}
	t := &thinner{in: bytes.NewReader(file.Bytes()), size: int64(file.Len()), room: room,
		marks: MarksOf(events), stop: never}
	for _, at := range s.Column(ColTime) {
		if at == at {
			t.last = max(t.last, micros(at))
		}
	}
	if err := t.plan(); err != nil {
		return nil, fmt.Errorf("thin samples: %w", err)
	}
	var out bytes.Buffer
	head := columns{names: append([]string{}, s.Names()...)}
	if t.roles.thinned < 0 {
		head.names = append(head.names, ColThinned)
	}
	if err := t.write(&out, head.header()); err != nil {
		return nil, fmt.Errorf("thin samples: %w", err)
	}
	thinned, _, err := readCSV(&out, FileSamples, true)
	return thinned, err
}
