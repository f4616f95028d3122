package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Pieces of the log that tt-metal's tracking client writes with
// TT_ALLOC_STACK_TRACE=1, a block an event:
//
//	=== TT-Metal Buffer Allocation Stack Traces ===
//	PID: 7
//
//	─────────────────────────────────────────────────────
//	Allocation #0
//	Time: 2025-11-04 12:00:00
//	Device: 0
//	Type: L1
//	Size: 4096 bytes (4 KB)
//	Address: 0x30000
//	Stack trace:
//	  ./libtt_metal.so : tt::tt_metal::Buffer::create(…)+0x1f
//
// A block that begins with "Deallocation" has neither type nor size.
const (
	markStacks = "=== TT-Metal Buffer Allocation Stack Traces ==="
	markRule   = "────"
)

// Bounds of a stack and of all that are kept: frames a stack, its own are 15;
// bytes of a frame; different stacks.
const (
	maxFrames     = 32
	maxFrame      = 512
	maxKeptStacks = 1 << 16
)

func sniffStacks(head []byte) bool {
	return bytes.Contains(head, []byte(markStacks)) ||
		bytes.Contains(head, []byte("\nAddress: 0x")) && bytes.Contains(head, []byte("\nStack trace:\n"))
}

// Stacks are the stack traces of a log, the last of each buffer.
type Stacks struct {
	allocated, freed map[bufferKey][]string
	// Blocks is how many events the log has.
	Blocks int
}

// block is one event of the log as it is read.
type block struct {
	alloc, free bool
	device      int
	memory      string
	size, id    uint64
	addressed   bool
	inStack     bool
	frames      []string
}

// stackReader reads such a log.
type stackReader struct {
	*lines
	b     block
	each  func(*block)
	pid   int32
	stack map[string][]string // known ones, so that equal ones are kept once
}

func newStackReader(in *bufio.Reader, run *record.Run, each func(*block)) *stackReader {
	return &stackReader{lines: newLines(in, run), each: each, stack: map[string][]string{}}
}

func (r *stackReader) read() {
	for {
		line, ok := r.next()
		if !ok {
			break
		}
		r.line(string(line))
	}
	r.end()
	r.finish()
}

func (r *stackReader) line(line string) {
	switch {
	case strings.HasPrefix(line, markRule):
		r.end()
	case strings.HasPrefix(line, markStacks):
		r.end()
	case r.b.inStack && strings.HasPrefix(line, "  "):
		if len(r.b.frames) < maxFrames {
			r.b.frames = append(r.b.frames, clipped(strings.TrimSpace(line), maxFrame))
		}
	case strings.HasPrefix(line, "Allocation #"):
		r.b = block{alloc: true}
	case line == "Deallocation":
		r.b = block{free: true}
	case line == "Stack trace:":
		r.b.inStack = true
	default:
		r.field(line)
	}
}

// field reads "Name: value". Others are left alone.
func (r *stackReader) field(line string) {
	name, value, ok := strings.Cut(line, ": ")
	if !ok {
		return
	}
	var err error
	switch name {
	case "PID":
		var pid int64
		if pid, err = strconv.ParseInt(value, 10, 32); err == nil {
			r.pid = int32(pid)
		}
	case "Device":
		r.b.device, err = loggedDevice(value)
	case "Type":
		r.b.memory = clipped(value, 40)
	case "Size":
		number, _, _ := strings.Cut(value, " bytes")
		r.b.size, err = strconv.ParseUint(number, 10, 53)
	case "Address":
		r.b.id, err = strconv.ParseUint(value, 0, 64)
		r.b.addressed = err == nil
	}
	if err != nil {
		r.warn(name, "cannot be read: %q", short([]byte(value)))
		r.b = block{}
	}
}

// end passes the block on that is at hand.
func (r *stackReader) end() {
	if b := r.b; (b.alloc || b.free) && b.addressed {
		b.frames = r.kept(b.frames)
		r.each(&b)
	}
	r.b = block{}
}

// kept is the one copy of a stack.
func (r *stackReader) kept(frames []string) []string {
	name := strings.Join(frames, "\n")
	if known := r.stack[name]; known != nil {
		return known
	}
	if len(r.stack) < maxKeptStacks {
		r.stack[name] = frames
	}
	return frames
}

// ReadStacks reads the log of stack traces that tt-metal's client leaves, of
// which name is what people call it.
func ReadStacks(from io.Reader, name string) (*Stacks, error) {
	s := &Stacks{allocated: map[bufferKey][]string{}, freed: map[bufferKey][]string{}}
	r := newStackReader(bufio.NewReaderSize(from, SniffLen), &record.Run{Path: name}, func(b *block) {
		s.Blocks++
		at, into := bufferKey{b.device, b.id}, s.allocated
		if b.free {
			into = s.freed
		}
		if into[at] != nil || len(into) < maxPasts {
			into[at] = b.frames
		}
	})
	r.read()
	if s.Blocks == 0 {
		return nil, fmt.Errorf("read %s: %w", name,
			errors.Join(errors.New("no stack trace could be read"), r.err))
	}
	return s, nil
}

// stackLive is a live buffer of a log of stack traces.
type stackLive struct {
	size uint64
	refs uint32
	site string
}

// readStacks makes a run of such a log: the live bytes after each event, and
// what is left by the function that asked for it.
func readStacks(in *bufio.Reader, run *record.Run) error {
	live := map[bufferKey]stackLive{}
	rows := newTable(record.ColStep, record.ColLive, record.ColLiveCount, record.ColAllocs, record.ColFrees)
	rows.by = record.ColLive
	var bytesNow, allocs, frees float64
	strange, unkept := 0, 0
	r := newStackReader(in, run, func(b *block) {
		at := bufferKey{b.device, b.id}
		was, known := live[at]
		switch {
		case b.alloc && known: // one more reference: the first allocation's size stays
			allocs++
			was.refs++
			live[at] = was
		case b.alloc && len(live) >= maxLoggedBuffers:
			unkept++
			return
		case b.alloc:
			allocs++
			live[at] = stackLive{b.size, 1, siteOf(b.frames)}
			bytesNow += float64(b.size)
		case !known:
			frees++
			strange++
		case was.refs > 1:
			frees++
			was.refs--
			live[at] = was
		default:
			frees++
			delete(live, at)
			bytesNow -= float64(was.size)
		}
		rows.row()
		for column, v := range map[string]float64{
			record.ColStep: float64(rows.made), record.ColLive: bytesNow,
			record.ColLiveCount: float64(len(live)), record.ColAllocs: allocs, record.ColFrees: frees} {
			rows.set(column, v)
		}
	})
	r.keeps(rows)
	r.read()
	if err := tellStacks(run, rows, r, live); err != nil {
		return err
	}
	if strange > 0 {
		note(run, strangeFrees, strange)
	}
	if unkept > 0 {
		note(run, "%d allocations beyond %d live ones were not remembered", unkept, maxLoggedBuffers)
	}
	rows.said(run)
	r.stopped()
	return nil
}

// tellStacks fills a run with the rows of a log of stacks, and with the sites of what
// is live at its end.
func tellStacks(run *record.Run, rows *table, r *stackReader, live map[bufferKey]stackLive) error {
	if rows.len() == 0 {
		return errors.Join(errors.New("no stack trace could be read"), r.err)
	}
	run.Samples = rows.samples()
	run.Meta.PID = int(r.pid)
	held := newSurvivors()
	for _, b := range live {
		held.add(b.site, int64(b.size), 1)
	}
	addSites(run, held, 0)
	note(run, "one event counts as one step; the log has whole seconds only, so growth a second is unknown")
	return nil
}

// siteOf is who asked for a buffer: the innermost frame that is neither in
// tt-metal itself nor in the interpreter; the innermost one when all are.
func siteOf(frames []string) string {
	for _, f := range frames {
		if module := path.Base(moduleOf(f)); !strings.HasPrefix(module, "libtt_metal") &&
			!strings.HasPrefix(module, "python") && !strings.HasPrefix(module, "libpython") {
			return siteName(f)
		}
	}
	if len(frames) > 0 {
		return siteName(frames[0])
	}
	return "unknown"
}

func moduleOf(frame string) string {
	module, _, ok := strings.Cut(frame, " : ")
	if !ok {
		module, _, _ = strings.Cut(frame, "(")
	}
	return strings.TrimSpace(module)
}

// siteName is a frame without its addresses: "function (module)".
func siteName(frame string) string {
	module, function, ok := strings.Cut(frame, " : ")
	if !ok {
		module, _, _ = strings.Cut(frame, " [")
		return module // "./program(+0x1234)"
	}
	if i := strings.LastIndex(function, "+0x"); i > 0 {
		function = function[:i]
	}
	return function + " (" + path.Base(strings.TrimSpace(module)) + ")"
}
