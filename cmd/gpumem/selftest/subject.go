package selftest

import (
	"bufio"
	"bytes"
	"context"
	order "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/workloads"
)

// SubjectCommand is the hidden command of the process that selftest measures:
// it holds what it is told to hold, on one device, so that neither our own
// memory nor a driver that ends its process comes into the report's way.
const SubjectCommand = "__selftest"

// The words that a subject takes, a line each. It answers each with one line of
// JSON, and says hello first.
const (
	holdWord = "hold"
	dropWord = "drop"
)

// answer is what a subject says.
type answer struct {
	Error  string `json:"error,omitempty"`
	Absent bool   `json:"absent,omitempty"` // the error means that there is none here
	// Name, Driver and Unified are of the device, in the first answer.
	Name    string `json:"name,omitempty"`
	Driver  string `json:"driver,omitempty"`
	Unified bool   `json:"unified,omitempty"`
	// Allocated is what the device counts for the process, nil without a device.
	Allocated *int64 `json:"allocated,omitempty"`
}

// Serve is the life of a subject that holds size bytes on a device of package
// device: it ends with its input.
func Serve(in io.Reader, out io.Writer, name string, size int64) error {
	say := json.NewEncoder(out)
	h, hello, err := openHolder(name)
	if err != nil {
		return say.Encode(answer{Error: err.Error(), Absent: errors.Is(err, metal.ErrUnsupported)})
	}
	defer h.close()
	if err := say.Encode(hello); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		err := fmt.Errorf("no such word %q", lines.Text())
		switch lines.Text() {
		case holdWord:
			err = h.hold(size)
		case dropWord:
			err = h.drop()
		}
		a := answer{Allocated: h.allocated()}
		if err != nil {
			a.Error = err.Error()
		}
		if err := say.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// holder holds memory on a device, or without one when device is nil.
type holder struct {
	device   metal.Device
	pipeline metal.Pipeline
	queue    metal.Queue
	buffer   metal.Buffer
	memory   []byte
}

func openHolder(name string) (*holder, answer, error) {
	open := device.Opener(name)
	if open == nil {
		return &holder{}, answer{Name: "no device", Driver: device.Host}, nil
	}
	d, err := open(workloads.DeviceFaults{})
	if err != nil {
		return nil, answer{}, err
	}
	h := &holder{device: d}
	h.device.Autorelease(func() {
		if h.pipeline, err = d.NewPipeline("fill"); err == nil {
			h.queue, err = d.NewQueue(0)
		}
	})
	// A small round first: libraries and pools that come with the first use do
	// not count as growth of the second.
	if err == nil {
		err = errors.Join(h.hold(4096), h.drop())
	}
	if err != nil {
		h.close()
		return nil, answer{}, err
	}
	i := d.Info()
	return h, answer{Name: i.Name, Driver: i.Driver, Unified: i.Unified, Allocated: h.allocated()}, nil
}

// holdValue is what the kernel fills the memory with.
const holdValue = 1.5

// hold allocates, fills by one kernel where there is a device, and checks.
func (h *holder) hold(size int64) error {
	if h.device == nil {
		h.memory = make([]byte, size)
		for i := 0; i < len(h.memory); i += 4096 {
			h.memory[i] = 1
		}
		return nil
	}
	var err error
	h.device.Autorelease(func() {
		if h.buffer, err = h.device.NewBuffer(uint64(size), "selftest"); err == nil {
			err = h.fill(int(size / 4))
		}
	})
	if err != nil {
		return err
	}
	return h.verify(size)
}

// fill runs the kernel over n values.
func (h *holder) fill(n int) error {
	c, err := h.queue.NewCommandBuffer()
	if err != nil {
		return err
	}
	e, err := c.NewEncoder()
	if err == nil {
		e.SetPipeline(h.pipeline)
		e.SetBuffer(0, h.buffer, 0)
		e.SetBytes(1, order.LittleEndian.AppendUint32(nil, math.Float32bits(holdValue)))
		err = errors.Join(e.Dispatch(metal.Size{X: n}), e.End())
	}
	if err == nil {
		err = c.Commit()
	}
	if err == nil {
		err = c.Wait()
	}
	return errors.Join(err, c.Release())
}

// verify reads all of it back.
func (h *holder) verify(size int64) error {
	want := order.LittleEndian.AppendUint32(nil, math.Float32bits(holdValue))
	want = bytes.Repeat(want, 1<<14)
	got := make([]byte, len(want))
	for at := int64(0); at < size; at += int64(len(got)) {
		part := got[:min(int64(len(got)), size-at)]
		if _, err := h.buffer.ReadAt(part, at); err != nil && err != io.EOF {
			return fmt.Errorf("read the buffer: %w", err)
		}
		if !bytes.Equal(part, want[:len(part)]) {
			return fmt.Errorf("the kernel's result is wrong near byte %d", at)
		}
	}
	return nil
}

func (h *holder) drop() error {
	if h.device == nil {
		h.memory = nil
		debug.FreeOSMemory()
		return nil
	}
	if h.buffer == nil {
		return nil
	}
	var err error
	h.device.Autorelease(func() { err = h.buffer.Release() })
	h.buffer = nil
	return err
}

func (h *holder) allocated() *int64 {
	if h.device == nil {
		return nil
	}
	n := h.device.Usage().AllocatedBytes
	return &n
}

func (h *holder) close() {
	if h.device == nil {
		return
	}
	_ = h.drop() // the process ends; what fails here has been said
	h.device.Autorelease(func() {
		if h.queue != nil {
			_ = h.queue.Release()
		}
		if h.pipeline != nil {
			_ = h.pipeline.Release()
		}
	})
	_ = h.device.Close()
}

// subject is the selftest's end of such a process.
type subject struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // of its stdout; closed at its end
	stderr *tail
	hello  answer
}

// answerLimit is how long a subject may take for one word: a driver's first
// start and its compiler take seconds.
const answerLimit = 2 * time.Minute

// startSubject starts a subject; env is added to ours.
func startSubject(ctx context.Context, self, name string, size int64, env ...string) (*subject, error) {
	s := &subject{cmd: exec.CommandContext(ctx, self, SubjectCommand, name, strconv.FormatInt(size, 10)),
		stderr: &tail{}}
	s.cmd.Env = append(os.Environ(), append([]string{device.Order + "=PCI_BUS_ID"}, env...)...)
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.lines = make(chan string)
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	s.hello, err = s.answer()
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// answer waits for a subject's next line.
func (s *subject) answer() (answer, error) {
	var a answer
	select {
	case line, ok := <-s.lines:
		if !ok {
			return a, s.died()
		}
		return a, json.Unmarshal([]byte(line), &a)
	case <-time.After(answerLimit):
		return a, fmt.Errorf("no answer within %s", answerLimit)
	}
}

// died says how the process ended; a driver may end it.
func (s *subject) died() error {
	err := s.cmd.Wait()
	text := "the process ended by itself"
	if err != nil {
		text = "the process died: " + err.Error()
	}
	if last := s.stderr.last(); last != "" {
		text += ": " + last
	}
	return errors.New(text)
}

// do tells the subject a word and returns its answer; an error that it answers
// with is one.
func (s *subject) do(word string) (answer, error) {
	if _, err := io.WriteString(s.in, word+"\n"); err != nil {
		return answer{}, s.died()
	}
	a, err := s.answer()
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

// Close ends the process: at the end of its input, else by force.
func (s *subject) Close() {
	s.in.Close()
	late := time.AfterFunc(answerLimit, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	for range s.lines {
	}
	_ = s.cmd.Wait() // it may have been waited for
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how much of a subject's stderr is kept.
const maxTail = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// last is the last line.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
