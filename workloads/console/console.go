package console

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// mib is what the formats of the investigations call a MB.
const mib = 1 << 20

// DefaultThreshold is the growth, in bytes, that the memory check calls a
// leak when it is passed strictly (TensorLogic, main.rs at f2a68ab).
const DefaultThreshold = 1 << 20

// Modes are the formats that are on.
type Modes struct {
	MemCheck    bool // details around the run: GPUMEM_MEM_CHECK, TL_MEMORY_CHECK
	DebugMemory bool // a line for each allocation and release: TL_DEBUG_MEMORY
	MemTrace    bool // a line for each statement: TL_MEM_TRACE
	MemLog      bool // scopes, registrations and buffers: TL_MEM_LOG
	BufferStats bool // pool statistics at the end: TL_BUFFER_STATS
	BufferDebug bool // lines for each request of the pool and each return: TL_BUFFER_DEBUG
	DebugCache  bool // a line for each layer's cache: TL_DEBUG_CACHE
}

// ModesFrom reads the environment. Presence alone turns the memory check, the
// allocation lines and the statistics on; the trace and the log stay off for
// "0" and "false", as they did in their programs.
func ModesFrom(lookup func(string) (string, bool)) Modes {
	if lookup == nil {
		return Modes{}
	}
	present := func(name string) bool { _, ok := lookup(name); return ok }
	enabled := func(name string) bool {
		v, ok := lookup(name)
		return ok && v != "0" && !strings.EqualFold(v, "false")
	}
	return Modes{
		MemCheck:    present("GPUMEM_MEM_CHECK") || present("TL_MEMORY_CHECK"),
		DebugMemory: present("TL_DEBUG_MEMORY"),
		MemTrace:    enabled("TL_MEM_TRACE"),
		MemLog:      enabled("TL_MEM_LOG"),
		BufferStats: present("TL_BUFFER_STATS"),
		BufferDebug: present("TL_BUFFER_DEBUG"),
		DebugCache:  present("TL_DEBUG_CACHE"),
	}
}

// Printer writes the lines. The zero Printer is not usable; New makes one. A
// nil *Printer prints nothing, so that a library can hold one
// unconditionally.
type Printer struct {
	modes Modes
	mu    sync.Mutex
	out   io.Writer
	err   io.Writer
}

// New makes a Printer that writes program output to out and talk to err.
func New(modes Modes, out, err io.Writer) *Printer {
	return &Printer{modes: modes, out: out, err: err}
}

// Modes says which formats are on; none for a nil Printer.
func (p *Printer) Modes() Modes {
	if p == nil {
		return Modes{}
	}
	return p.modes
}

// talk writes to the error stream. A stream that cannot be written to is not
// the program's business: the lines are lost and the program runs on.
func (p *Printer) talk(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.err, format, args...)
}

func (p *Printer) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

func mb(bytes int64) float64 { return float64(bytes) / mib }

// Epoch writes the line that NEATML's trainer wrote after each epoch.
func (p *Printer) Epoch(n int, seconds float64) {
	if p == nil {
		return
	}
	p.say("Epoch %d complete in %.4fs\n", n, seconds)
}
