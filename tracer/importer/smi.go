package importer

import (
	"bufio"
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// smiMemory is the field every usable nvidia-smi log has.
const smiMemory = "used_gpu_memory"

// sniffSMI looks for the header line of --format=csv.
func sniffSMI(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return smiHeader(line) != nil
}

// smiHeader is the fields of a header by name, nil when the line is none:
// "timestamp, pid, process_name, used_gpu_memory [MiB]". Older drivers say
// used_memory.
func smiHeader(line []byte) map[string]int {
	fields := map[string]int{}
	for i, f := range strings.Split(string(trimEnd(line)), ",") {
		name, unit, _ := strings.Cut(strings.TrimSpace(f), " ")
		if name == "used_memory" {
			name = smiMemory
		}
		if name == smiMemory && unit != "[MiB]" {
			return nil
		}
		fields[name] = i
	}
	if _, ok := fields[smiMemory]; !ok {
		return nil
	}
	if _, ok := fields["pid"]; !ok {
		return nil
	}
	return fields
}

// readSMI reads a log of nvidia-smi --query-compute-apps=timestamp,pid,
// used_gpu_memory --format=csv -lms N: a row a process and time. A driver
// that cannot tell a process's memory says [N/A], which stays unknown.
func readSMI(in *bufio.Reader, run *record.Run) error {
	l := newLines(in, run)
	head, _ := l.next()
	s := &smiReader{lines: l, fields: smiHeader(head), pids: map[float64]bool{},
		rows: newTable(record.ColTime, record.ColPID, record.ColGPU)}
	s.rows.by, s.rows.apart = record.ColGPU, record.ColPID
	l.keeps(s.rows)
	for {
		line, ok := l.next()
		if !ok {
			break
		}
		if len(line) > 0 && smiHeader(line) == nil { // -l repeats the header with some drivers
			s.line(line)
		}
	}
	l.finish()
	if s.rows.len() == 0 {
		return errors.Join(errors.New("no row could be read"), l.err)
	}
	if _, ok := s.fields["timestamp"]; !ok {
		note(run, "the log has no timestamp field: growth a second is unknown")
	}
	note(run,
		"nvidia-smi counts in whole MiB, and only what the driver charges: live and idle memory are not "+
			"told apart")
	if len(s.pids) == 1 {
		for pid := range s.pids {
			run.Meta.PID = int(pid)
		}
	}
	l.stopped()
	run.Samples = s.rows.samples()
	s.rows.said(run)
	return nil
}

type smiReader struct {
	*lines
	fields map[string]int
	rows   *table
	start  time.Time
	pids   map[float64]bool
}

func (s *smiReader) line(line []byte) {
	f := strings.Split(string(line), ",")
	get := func(name string) (string, bool) {
		i, ok := s.fields[name]
		if !ok || i >= len(f) {
			return "", false
		}
		return strings.TrimSpace(f[i]), true
	}
	// A process name may hold commas; the fields behind it then count from
	// the end.
	if n := len(s.fields); len(f) > n {
		if i, ok := s.fields["process_name"]; ok {
			f = slices.Delete(f, i+1, i+1+len(f)-n)
		}
	}
	text, ok := get("pid")
	pid, err := strconv.ParseUint(text, 10, 31)
	if !ok || err != nil || s.cut {
		s.warn("pid", "bad pid %q", short([]byte(text)))
		return
	}
	var at time.Time
	if text, ok := get("timestamp"); ok {
		if at, err = time.Parse("2006/01/02 15:04:05.999", text); err != nil {
			s.warn("timestamp", "bad time %q", short([]byte(text)))
			return
		}
	}
	s.row(float64(pid), at)
	text, _ = get(smiMemory)
	s.memory(text)
}

func (s *smiReader) row(pid float64, at time.Time) {
	s.rows.row()
	s.rows.set(record.ColPID, pid)
	if len(s.pids) < 1<<16 {
		s.pids[pid] = true
	}
	if at.IsZero() {
		return
	}
	if s.start.IsZero() {
		s.start = at
	}
	s.rows.set(record.ColTime, float64(at.Sub(s.start).Microseconds())/1000)
}

// memory reads "1234 MiB", or "1234" of --format=nounits.
func (s *smiReader) memory(text string) {
	if strings.HasPrefix(text, "[") || text == "" || strings.HasPrefix(text, "N/A") {
		return
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(text, " MiB"), 10, 32)
	if err != nil {
		s.warn(smiMemory, "bad number %q, taken as unknown", short([]byte(text)))
		return
	}
	s.rows.set(record.ColGPU, float64(n)*mib)
}
