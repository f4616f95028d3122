package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// events writes events.jsonl anew, with less of its past: of each kind and process
// the first event of each slot, and the first and the last one of all. Phases,
// receipts, errors and introductions stay, as long as they leave room for others. The
// steps that stay say which they are.
func (t *thinner) events(out io.Writer) error {
	t.read = readKeptEvent
	if err := t.choosePast(); err != nil {
		return err
	}
	if err := t.peaks(); err != nil {
		return err
	}
	w := thinnedEvents{out: bufio.NewWriterSize(out, readSize), steps: map[int64]int64{}}
	lasts := &offsets{list: t.lasts}
	err := t.rows(func(at int64, line []byte, row *keptRow, s *keptProcess, level int) {
		regular := level > t.level && t.scarcityOf(s, row.micros) >= t.scarcity || t.stays(row)
		if stays := lasts.has(at) || regular; !w.event(line, row, stays) {
			t.dropped++
		}
	}, func(line []byte, row *keptRow) { w.event(line, row, true) })
	return errors.Join(err, w.out.Flush())
}

// thinnedEvents writes events that stay.
type thinnedEvents struct {
	out   *bufio.Writer
	steps map[int64]int64 // number of the last step, by process
}

// event takes each line, and writes those that stay. Errors are those of the writer's
// Flush.
func (w *thinnedEvents) event(line []byte, row *keptRow, stays bool) bool {
	var e Event
	perhaps := bytes.Contains(line, []byte(`"kind":"step"`))
	if perhaps && json.Unmarshal(line, &e) == nil && e.Kind == KindStep {
		last, known := w.steps[row.pid]
		numbered := e.Step > 0
		if !numbered {
			e.Step = last + 1
		}
		if known || len(w.steps) < maxStepPIDs {
			w.steps[row.pid] = e.Step
		}
		if told, err := json.Marshal(e); stays && !numbered && err == nil {
			line = append(told, '\n')
		}
	}
	if stays {
		w.out.Write(line)
	}
	return stays
}

// readKeptEvent reads of a line of events.jsonl what its keeper needs. The process is
// that of the kind and the pid.
func readKeptEvent(line []byte, row *keptRow) bool {
	at, pid, kind, ok := quickEvent(line)
	if !ok {
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Kind == "" {
			return false
		}
		at, pid, kind = e.TMs, int64(e.PID), []byte(e.Kind)
	}
	*row = keptRow{micros: micros(at), pid: pid}
	for _, c := range kind {
		row.pid = int64(scatter(uint64(row.pid) ^ uint64(c)<<56))
	}
	switch string(kind) {
	case KindPhase, KindReceipt, KindProcess, KindChild, KindLeft, KindOOM, KindOOMOthers,
		KindDied, KindWindow:
		row.stays = true
	}
	return true
}

// quickEvent reads a line as our own writer has it: time, pid and kind come first.
func quickEvent(line []byte) (at float64, pid int64, kind []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"t_ms":`))
	if !ok {
		return 0, 0, nil, false
	}
	number, rest, _ := bytes.Cut(rest, []byte{','})
	at, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return 0, 0, nil, false
	}
	if after, has := bytes.CutPrefix(rest, []byte(`"pid":`)); has {
		number, rest, _ = bytes.Cut(after, []byte{','})
		if pid, ok = wholeNumber(number); !ok {
			return 0, 0, nil, false
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`"kind":"`)); !ok {
		return 0, 0, nil, false
	}
	kind, _, ok = bytes.Cut(rest, []byte{'"'})
	return at, pid, kind, ok && bytes.IndexByte(kind, '\\') < 0
}
