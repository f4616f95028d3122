package console

import (
	"fmt"
	"strconv"
	"strings"
)

// Tag is the kind of a statement in the trace.
type Tag string

// The tags of the TL language's statements.
const (
	Use         Tag = "Use"
	Let         Tag = "Let"
	Assign      Tag = "Assign"
	FieldAssign Tag = "FieldAssign"
	If          Tag = "If"
	For         Tag = "For"
	While       Tag = "While"
	Loop        Tag = "Loop"
	Return      Tag = "Return"
	Break       Tag = "Break"
	Continue    Tag = "Continue"
	Expr        Tag = "Expr"
	TensorDecl  Tag = "TensorDecl"
)

// Position is where a statement stands. The zero Position prints as unknown,
// line 0, column 0.
type Position struct {
	File      string
	Line, Col int
}

func (p Position) String() string {
	file := p.File
	if file == "" {
		file = "unknown"
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Col)
}

// Memory is a program's memory as the TL formats show it.
type Memory struct {
	// RSSBytes is the resident size; negative is unknown and prints as -1.
	RSSBytes   int64
	PoolBytes  int64 // all buffers of the device pool, live and idle
	PoolCount  int64
	Idle       int64 // tensors kept for reuse
	References int64
	ScopeDepth int64
}

func (m Memory) rssMB() int64 {
	if m.RSSBytes < 0 {
		return -1
	}
	return m.RSSBytes / mib
}

// Statement writes the trace line of a statement that has just ended.
func (p *Printer) Statement(at Position, tag Tag, m Memory) {
	if p == nil || !p.modes.MemTrace {
		return
	}
	p.talk(
		"[TL_MEM_TRACE] %s tag=%s rss_mb=%d metal_pool_bytes=%d metal_pool_count=%d pool_count=%d "+
			"refcount_count=%d scope_depth=%d\n",
		at, tag, m.rssMB(), m.PoolBytes, m.PoolCount, m.Idle, m.References, m.ScopeDepth)
}

// Snapshot writes the line that the N-Queens program printed once per attempt.
func (p *Printer) Snapshot(m Memory) {
	if p == nil {
		return
	}
	p.say("Memory: %d MB (metal_pool_mb=%d, metal_pool_count=%d, metal_pool_bytes=%d)\n",
		m.rssMB(), m.PoolBytes/mib, m.PoolCount, m.PoolBytes)
}

// EnterScope and the functions below write the lines of the memory log, as the TL
// runtime does at 155863c.
func (p *Printer) EnterScope(depth int) {
	p.log("[TL_MEM] enter_scope depth=%d\n", depth)
}

// ExitScope writes the line before the scope of a depth gives up what was made in
// it. Structs are always 0 here: the TL language has them, these programs do not.
func (p *Printer) ExitScope(depth, tensors, structs int) {
	p.log("[TL_MEM] exit_scope begin depth=%d allocs_total=%d allocs_tensor=%d allocs_struct=%d\n",
		depth, tensors+structs, tensors, structs)
}

// ExitedScope writes the line after a scope gave everything up; depth is of the
// scope around it.
func (p *Printer) ExitedScope(depth int, references, idle int64) {
	p.log("[TL_MEM] exit_scope end depth=%d refcount_count=%d pool_count=%d\n", depth, references, idle)
}

// Registered writes an event of a tensor and its scope: register_tensor for a new
// one, register_tensor_acquire for another reference that the scope owns, and
// unregister for one that leaves it. at is what stands for the tensor's address:
// the number of its memory.
func (p *Printer) Registered(event string, at uint64, references int64, depth int) {
	p.log("[TL_MEM] %s ptr=0x%x refcount=%d depth=%d\n", event, at, references, depth)
}

// Counted writes a change of a reference count, tensor_acquire or tensor_release,
// with the count afterwards.
func (p *Printer) Counted(event string, at uint64, references int64) {
	p.log("[TL_MEM] %s ptr=0x%x refcount=%d\n", event, at, references)
}

// Freed describes a tensor whose last reference went.
type Freed struct {
	Outcome  string // arena_drop, pooled or freed
	Bytes    int64
	DType    string
	Elements int64
	Shape    []int
	Device   string
	Context  string // what it was made for
	Location string // file:line of the allocation
	Pooled   bool   // its memory came from the pool
}

// FreeTensor writes the line of a tensor whose last reference went.
func (p *Printer) FreeTensor(f Freed) {
	p.log("[TL_MEM] free_tensor outcome=%s bytes=%d dtype=%s elems=%d shape=[%s] device=%s alloc_ctx=%s "+
		"alloc_loc=%s pooled=%t\n",
		f.Outcome, f.Bytes, f.DType, f.Elements, strings.Join(dims(f.Shape), "x"), f.Device, f.Context,
		f.Location, f.Pooled)
}

// AllocNonPool writes the line of a new tensor whose memory no pool had.
func (p *Printer) AllocNonPool(f Freed) {
	p.log("[TL_MEM] alloc_non_pool ctx=%s bytes=%d dtype=%s elems=%d shape=[%s] device=%s loc=%s\n",
		f.Context, f.Bytes, f.DType, f.Elements, strings.Join(dims(f.Shape), "x"), f.Device, f.Location)
}

func dims(shape []int) []string {
	out := make([]string, len(shape))
	for i, d := range shape {
		out[i] = strconv.Itoa(d)
	}
	return out
}

// Buffer writes an event of the device pool: alloc_buffer, alloc_buffer_data
// or reuse_buffer, with the pool's buffers and bytes afterwards.
func (p *Printer) Buffer(event string, size uint64, buffers, bytes int64) {
	p.log("[TL_METAL] %s size=%d total_buffers=%d total_bytes=%d\n", event, size, buffers, bytes)
}

func (p *Printer) log(format string, args ...any) {
	if p == nil || !p.modes.MemLog {
		return
	}
	p.talk(format, args...)
}
