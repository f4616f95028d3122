package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxStatus bounds /proc/PID/status, which grows with a user's groups.
const maxStatus = 1 << 20

func (m Machine) proc() string {
	if m.Proc == "" {
		return "/proc"
	}
	return m.Proc
}

// Process is an open process. Its methods are not safe for concurrent use. The
// caller closes it.
type Process struct {
	id     Identity
	name   string
	page   int64
	statm  *os.File
	status *os.File
	buf    []byte
}

// Open opens a process of the machine. The error is ErrExited when there is
// none of this pid (or the system hides it), and os.ErrPermission when its files
// may not be read.
func (m Machine) Open(pid int) (*Process, error) {
	p, err := m.open(pid)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, gone(err))
	}
	return p, nil
}

func (m Machine) open(pid int) (*Process, error) {
	if pid <= 0 {
		return nil, ErrExited // 0 and below mean something else to the kernel
	}
	dir := filepath.Join(m.proc(), strconv.Itoa(pid))
	p := &Process{page: int64(os.Getpagesize()), buf: make([]byte, 4096)}
	var err error
	if p.statm, err = os.Open(filepath.Join(dir, "statm")); err != nil {
		return nil, err
	}
	if p.status, err = os.Open(filepath.Join(dir, "status")); err != nil {
		p.statm.Close()
		return nil, err
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err == nil {
		p.id.PID = pid
		_, p.name, p.id.Start, err = parseStat(stat)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// gone names the errors by which the kernel says that a process has exited.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ErrExited
	}
	return err
}

// parseStat takes the parent, the name and the start time out of
// /proc/PID/stat. The name stands in parentheses and may hold some itself.
func parseStat(stat []byte) (parent int, name string, start int64, err error) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return 0, "", 0, errors.New("stat is not in the form expected")
	}
	// After the name come state (field 3), parent (4), …, start time (22).
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return 0, "", 0, errors.New("stat is not in the form expected")
	}
	if parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return 0, "", 0, fmt.Errorf("parent in stat: %w", err)
	}
	if start, err = strconv.ParseInt(string(fields[19]), 10, 64); err != nil {
		return 0, "", 0, fmt.Errorf("start time in stat: %w", err)
	}
	return parent, string(stat[open+1 : end]), start, nil
}

// Identity is which process this is.
func (p *Process) Identity() Identity { return p.id }

// Name is the process's short name when it was opened.
func (p *Process) Name() string { return p.name }

// Close closes the process's files.
func (p *Process) Close() error {
	return errors.Join(p.statm.Close(), p.status.Close())
}

// Read reads RSS and Anon, the quickest; the others are Unknown. It returns
// ErrExited when the process is no more.
func (p *Process) Read(m *Memory) error {
	*m = UnknownMemory()
	n, err := p.statm.ReadAt(p.buf, 0)
	if n == 0 {
		return p.readError(err)
	}
	_, rest, ok := number(p.buf[:n]) // size
	resident, rest, ok2 := number(rest)
	shared, _, ok3 := number(rest)
	if !ok || !ok2 || !ok3 {
		return fmt.Errorf("read memory of process %d: statm is not in the form expected", p.id.PID)
	}
	if resident == 0 {
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, ErrExited) // a zombie has none
	}
	m.RSS, m.Anon = resident*p.page, max(resident-shared, 0)*p.page
	return nil
}

// readError is the error for a file that gave nothing.
func (p *Process) readError(err error) error {
	if err == io.EOF {
		err = ErrExited
	}
	err = gone(err)
	return fmt.Errorf("read memory of process %d: %w", p.id.PID, err)
}

// number reads the decimal number at the head of b, after blanks. One of more
// than 15 digits is none: no machine has 2^50 pages or KiB.
func number(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		if i-start == 15 {
			return 0, nil, false
		}
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i > start
}

// ReadSplit reads everything that the system tells, all from one moment. It
// returns ErrExited when the process is no more.
func (p *Process) ReadSplit(m *Memory) error {
	*m = UnknownMemory()
	n, err := p.status.ReadAt(p.buf, 0)
	for n == len(p.buf) && n < maxStatus {
		p.buf = make([]byte, 2*len(p.buf))
		n, err = p.status.ReadAt(p.buf, 0)
	}
	if n == 0 {
		return p.readError(err)
	}
	parseStatus(p.buf[:n], m)
	if m.RSS <= 0 {
		*m = UnknownMemory()
		return fmt.Errorf("read memory of process %d: %w", p.id.PID, ErrExited)
	}
	if m.Swap >= 0 {
		m.Footprint = m.RSS + m.Swap
	}
	return nil
}

// parseStatus fills m from /proc/PID/status. Kernels before 4.5 have no split.
func parseStatus(status []byte, m *Memory) {
	for len(status) > 0 {
		line := status
		if i := bytes.IndexByte(status, '\n'); i >= 0 {
			line, status = status[:i], status[i+1:]
		} else {
			status = nil
		}
		if len(line) < 8 || (line[0] != 'V' && line[0] != 'R') {
			continue
		}
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			continue
		}
		var field *int64
		switch string(line[:i]) {
		case "VmRSS":
			field = &m.RSS
		case "RssAnon":
			field = &m.Anon
		case "RssFile":
			field = &m.File
		case "RssShmem":
			field = &m.Shmem
		case "VmSwap":
			field = &m.Swap
			status = nil // the last one that matters
		default:
			continue
		}
		if kib, _, ok := number(line[i+1:]); ok {
			*field = kib << 10
		}
	}
}
