//go:build amd64 || arm64

package attach

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/probe/procfs"
)

// nameRuntime is the interpreter's state. In CPython 3.14 and later it begins with a
// table of where things are in it, for debuggers.
const nameRuntime = "_PyRuntime"

// official is the interpreter's own interface for debuggers (PEP 768): the path of a
// script is written into the state of its main thread, which runs the script between
// two of its bytecodes. Nothing is stopped for that.
type official struct {
	// breaker, pending and path are addresses: of the flags that have the thread look up
	// from its bytecodes, of the mark that a script waits, and of the path of the script.
	breaker, pending, path uint64
}

var (
	errClosed  = errors.New("it was started with Python's remote debugging turned off")
	errPending = errors.New("another debugger is on its way into it")
)

// tableWords is the length of the table in words of eight bytes, and where is what in
// it. Its form is fixed for all releases of one version of Python.
const (
	tableWords     = 95
	wordVersion    = 1
	wordHead       = 5 // of the list of interpreters, in the runtime
	wordInterpSize = 6
	wordInterpID   = 7
	wordInterpNext = 8
	wordThreads    = 9 // head of the list of threads
	wordMainThread = 10
	wordThreadSize = 22
	wordThreadNext = 24
	wordNativeID   = 28
	wordBreaker    = 89
	wordSupport    = 90
	wordEnabled    = 91
	wordPending    = 92
	wordPath       = 93
	wordPathSize   = 94
)

const (
	tableCookie = "xdebugpy"
	// tableVersion is the only one whose table has this form: 3.14.
	tableVersion = 0x030e
	// pathSize is the room for the path of a script, its final zero included.
	pathSize = 512
	// pleaseStop is the flag that has a thread look up; all flags are in the first byte.
	pleaseStop = 1 << 5
	// most bounds the lists of interpreters and threads: they change while we read.
	mostInList = 4096
)

// findOfficial finds the interface in a process whose interpreter's state is at an
// address; nil where there is none that we know. The error is errClosed where its user
// wants nobody in, and one of the system's where the memory may not be read.
func findOfficial(pid int, runtime uint64) (*official, error) {
	if runtime == 0 {
		return nil, nil
	}
	mem, err := os.Open(proc.Path(pid, "mem"))
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	m := memory{mem}
	table := m.words(runtime, tableWords)
	if table == nil {
		return nil, nil
	}
	if !isTable(table) {
		return nil, nil
	}
	interpreter := m.find(m.word(runtime+table[wordHead]), table[wordInterpNext], func(at uint64) bool {
		return m.word(at+table[wordInterpID]) == 0 // the main one
	})
	if interpreter == 0 {
		return nil, nil
	}
	if enabled := m.word(interpreter + table[wordEnabled]); uint32(enabled) != 1 {
		return nil, errClosed
	}
	thread := m.word(interpreter + table[wordMainThread])
	if thread == 0 { // an embedded interpreter, or one that has forked
		id := ownID(pid)
		thread = m.find(m.word(interpreter+table[wordThreads]), table[wordThreadNext], func(at uint64) bool {
			return m.word(at+table[wordNativeID]) == id
		})
	}
	if thread == 0 {
		return nil, nil
	}
	support := thread + table[wordSupport]
	return &official{breaker: thread + table[wordBreaker], pending: support + table[wordPending],
		path: support + table[wordPath]}, nil
}

// isTable reports whether the table is of the form that we know.
func isTable(table []uint64) bool {
	var cookie [8]byte
	binary.LittleEndian.PutUint64(cookie[:], table[0])
	if string(cookie[:]) != tableCookie || table[wordVersion]>>16 != tableVersion ||
		table[wordPathSize] != pathSize {
		return false
	}
	const sane = 1 << 24 // bytes of an interpreter's state
	for _, offset := range [...]int{wordInterpID, wordInterpNext, wordThreads, wordMainThread, wordEnabled} {
		if table[offset] >= min(table[wordInterpSize], sane) {
			return false
		}
	}
	for _, offset := range [...]int{wordThreadNext, wordNativeID, wordBreaker, wordSupport} {
		if table[offset] >= min(table[wordThreadSize], sane) {
			return false
		}
	}
	return true
}

// ownID is the number of the main thread as the process itself sees it, which in a
// container is another than ours.
func ownID(pid int) uint64 {
	b, err := proc.Read(pid, "status")
	if err != nil {
		return uint64(pid)
	}
	for line := range strings.Lines(string(b)) {
		if list, ok := strings.CutPrefix(line, "NSpid:"); ok {
			ids := strings.Fields(list)
			if len(ids) > 0 {
				if id, err := strconv.ParseUint(ids[len(ids)-1], 10, 64); err == nil {
					return id
				}
			}
		}
	}
	return uint64(pid)
}

// memory reads a process that runs. What cannot be read is 0.
type memory struct{ io.ReaderAt }

func (m memory) words(at uint64, count int) []uint64 {
	b := make([]byte, 8*count)
	if _, err := m.ReadAt(b, int64(at)); err != nil {
		return nil
	}
	words := make([]uint64, count)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return words
}

func (m memory) word(at uint64) uint64 {
	if words := m.words(at, 1); words != nil {
		return words[0]
	}
	return 0
}

// find is the first of a linked list that is wanted, 0 for none.
func (m memory) find(first, next uint64, wanted func(at uint64) bool) uint64 {
	at := first
	for range mostInList {
		if at == 0 || wanted(at) {
			return at
		}
		at = m.word(at + next)
	}
	return 0
}

// ask has the main thread run a script.
func (o *official) ask(pid int, script string) error {
	if len(script) >= pathSize {
		return fmt.Errorf("the path of the script is %d bytes long, and may be %d", len(script), pathSize-1)
	}
	mem, err := os.OpenFile(proc.Path(pid, "mem"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	if uint32(memory{mem}.word(o.pending)) != 0 {
		return errPending
	}
	path := append([]byte(script), 0)
	if _, err := mem.WriteAt(path, int64(o.path)); err != nil {
		return err
	}
	if _, err := mem.WriteAt([]byte{1, 0, 0, 0}, int64(o.pending)); err != nil {
		return err
	}
	// The thread and others change flags meanwhile. There is no way from outside to set
	// one bit only, so there is next to nothing between the reading and the writing.
	var flags [1]byte
	if _, err := mem.ReadAt(flags[:], int64(o.breaker)); err != nil {
		return err
	}
	flags[0] |= pleaseStop
	_, err = mem.WriteAt(flags[:], int64(o.breaker))
	return err
}

// withdraw takes the request back, and reports whether the script will not run: it is
// false where the thread is running it or has run it.
func (o *official) withdraw(pid int, script string) bool {
	mem, err := os.OpenFile(proc.Path(pid, "mem"), os.O_RDWR, 0)
	if err != nil {
		return procfs.IsGone(err)
	}
	defer mem.Close()
	there := make([]byte, len(script))
	if _, err := mem.ReadAt(there, int64(o.path)); err != nil || string(there) != script ||
		uint32(memory{mem}.word(o.pending)) != 1 {
		return false
	}
	_, err = mem.WriteAt(make([]byte, 4), int64(o.pending))
	return err == nil
}

// runtimeAt is the address of the interpreter's state in a file that is mapped, 0 for
// none: by its symbol, or by the section that it has to itself.
func runtimeAt(f *elf.File, symbols map[string]uint64, bias uint64) uint64 {
	if at := symbols[nameRuntime]; at != 0 {
		return bias + at
	}
	if s := f.Section(".PyRuntime"); s != nil && s.Addr != 0 {
		return bias + s.Addr
	}
	return 0
}
