package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// memrayHeader is the first line of memray transform csv.
const memrayHeader = "allocator,num_allocations,size,tid,thread_name,stack_trace"

func sniffMemrayCSV(head []byte) bool { return bytes.HasPrefix(head, []byte(memrayHeader)) }

// readMemrayCSV reads what memray transform csv writes: a row a stack, with
// what it held at the peak or, with --leaks, at the end. The file does not say
// which. All of it is the program's own heap.
func readMemrayCSV(in *bufio.Reader, run *record.Run) error {
	l := newLines(in, run)
	l.next() // the header, as sniffed
	held := newSurvivors()
	total, rows := 0.0, 0
	for {
		line, ok := l.next()
		if !ok {
			break
		}
		if len(line) == 0 {
			continue
		}
		site, size, count, ok := l.memrayRow(line)
		if !ok {
			continue
		}
		rows++
		total += float64(size)
		held.add(site, size, count)
	}
	l.finish()
	if l.err != nil && (rows == 0 || !errors.Is(l.err, errPacked)) {
		return fmt.Errorf("at line %d: %w", l.n, l.err)
	}
	t := newTable(record.ColHostHeap)
	t.row()
	t.set(record.ColHostHeap, total)
	run.Samples = t.samples()
	addSites(run, held, 0)
	oneMoment(run, "memray transform csv")
	note(run, "memray's CSV holds the peak, or with --leaks the end; it does not say which")
	note(run, "%d stacks of the program's own heap; GPU memory is not seen", rows)
	l.stopped()
	return nil
}

// memrayRow reads allocator,num_allocations,size,tid,thread_name,stack_trace.
// The stack has its innermost frame first: "func;file;line|…".
func (l *lines) memrayRow(line []byte) (site string, size, count int64, ok bool) {
	var f [6][]byte
	rest := line
	for i := range f {
		if rest == nil {
			l.warn("", "%d fields instead of 6", i)
			return "", 0, 0, false
		}
		f[i], rest = csvField(rest)
	}
	count, err := strconv.ParseInt(string(f[1]), 10, 54)
	if err != nil || count < 0 {
		l.warn("num_allocations", "bad number %q", short(f[1]))
		return "", 0, 0, false
	}
	size, err = strconv.ParseInt(string(f[2]), 10, 54)
	if err != nil || size < 0 {
		l.warn("size", "bad size %q", short(f[2]))
		return "", 0, 0, false
	}
	return memraySite(f[5]), size, count, true
}

// csvField cuts the first field off a line; rest is nil after the last.
func csvField(line []byte) (field, rest []byte) {
	if len(line) == 0 || line[0] != '"' {
		i := bytes.IndexByte(line, ',')
		if i < 0 {
			return line, nil
		}
		return line[:i], line[i+1:]
	}
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			field = append(field, line[i])
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			field = append(field, '"')
			i++
			continue
		}
		if i+1 < len(line) && line[i+1] == ',' {
			return field, line[i+2:]
		}
		break
	}
	return field, nil
}

// memraySite is the innermost frame of a stack as "file:line func".
func memraySite(stack []byte) string {
	frame, _, _ := bytes.Cut(stack, []byte("|"))
	parts := strings.Split(strings.ToValidUTF8(string(frame), "\uFFFD"), ";")
	if len(parts) < 3 || parts[0] == "" {
		return noStack
	}
	file, line := strings.Join(parts[1:len(parts)-1], ";"), parts[len(parts)-1]
	return file + ":" + line + " " + parts[0]
}

// maxMemrayStats bounds memray stats --json, which holds a few top lists.
const maxMemrayStats = 16 << 20

// sniffMemrayStats looks for the first keys of memray stats --json.
func sniffMemrayStats(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) &&
		bytes.Contains(head, []byte(`"total_num_allocations"`)) &&
		bytes.Contains(head, []byte(`"total_bytes_allocated"`))
}

// memrayStats is what is used of memray stats --json.
type memrayStats struct {
	Allocations *float64 `json:"total_num_allocations"`
	Bytes       *float64 `json:"total_bytes_allocated"`
	TopBySize   []struct {
		Location string  `json:"location"`
		Size     float64 `json:"size"`
	} `json:"top_allocations_by_size"`
	Metadata struct {
		Start   string   `json:"start_time"`
		End     string   `json:"end_time"`
		Peak    *float64 `json:"peak_memory"`
		Command string   `json:"command_line"`
		PID     int      `json:"pid"`
	} `json:"metadata"`
}

// readMemrayStats reads memray stats --json: totals over a run. What was
// allocated is not what is held, so there is no account in it.
func readMemrayStats(in *bufio.Reader, run *record.Run) error {
	data, err := readWhole(in, maxMemrayStats,
		fmt.Sprintf("more than %d MiB of statistics; is it memray stats --json?", maxMemrayStats/mib))
	if err != nil {
		return err
	}
	var s memrayStats
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("damaged JSON: %w; is the file complete?", err)
	}
	if s.Allocations == nil || s.Bytes == nil {
		return fmt.Errorf(
			"no total_num_allocations and total_bytes_allocated; write it with memray stats --json")
	}
	t := newTable(record.ColAllocs, record.ColAllocatedBytes, record.ColPeakHostHeap)
	t.row()
	for name, v := range map[string]*float64{record.ColAllocs: s.Allocations,
		record.ColAllocatedBytes: s.Bytes, record.ColPeakHostHeap: s.Metadata.Peak} {
		if v != nil && *v >= 0 && *v < 1<<53 && *v == math.Trunc(*v) {
			t.set(name, *v)
		}
	}
	run.Samples = t.samples()
	for _, top := range s.TopBySize[:min(len(s.TopBySize), rankedStatements)] {
		run.Events = append(run.Events, record.Event{Kind: record.KindEvent, Name: "allocated",
			At:   clipped(top.Location, maxPickleString),
			Text: fmt.Sprintf("%.0f bytes allocated over the run, freed or not", top.Size)})
	}
	s.meta(run)
	note(run,
		"memray stats are totals over a run: they say what was allocated, not what is held; memray "+
			"transform csv --leaks does")
	return nil
}

func (s *memrayStats) meta(run *record.Run) {
	m := s.Metadata
	run.Meta.PID = max(m.PID, 0)
	if m.Command != "" {
		run.Meta.Command = strings.Fields(clipped(m.Command, maxPickleString))
	}
	const layout = "2006-01-02 15:04:05.999999-07:00" // a time without a zone stays unknown
	start, err1 := time.Parse(layout, m.Start)
	end, err2 := time.Parse(layout, m.End)
	if err1 == nil && err2 == nil && !end.Before(start) {
		run.Meta.Start, run.Meta.End = start.UTC(), &end
	}
}

// clipped bounds a text of the file that is kept.
func clipped(s string, most int) string {
	return strings.ToValidUTF8(strings.Clone(s[:min(len(s), most)]), "\uFFFD")
}
