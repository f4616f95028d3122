package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/tracer/record"
)

// Kind is a foreign format.
type Kind string

// The kinds. Unknown is what Sniff says of everything else.
const (
	Unknown   Kind = ""
	TLTrace   Kind = "tl-mem-trace"   // TL_MEM_TRACE, TL_MEM_LOG and Memory: lines among other output
	RMM       Kind = "rmm-log"        // CSV of RMM's logging adaptor
	NvidiaSMI Kind = "nvidia-smi"     // --query-compute-apps=… --format=csv -lms N
	Torch     Kind = "torch-snapshot" // torch.cuda.memory._dump_snapshot
	// jax.profiler.save_device_memory_profile, and other pprof profiles of memory
	JAX         Kind = "jax-profile"
	Allocations Kind = "allocation-log"  // event lines of the tt-metal allocation server and of gpumem serve
	StackTraces Kind = "tt-stack-traces" // stack traces of tt-metal's tracking client
	MemrayCSV   Kind = "memray-csv"      // memray transform csv
	MemrayStats Kind = "memray-stats"    // memray stats --json
)

// format is how one kind is found and read.
type format struct {
	kind  Kind
	sniff func(head []byte) bool
	read  func(in *bufio.Reader, run *record.Run, o Options) error
	// moment is set when a file is the state of one moment, so that several
	// files in order show growth.
	moment bool
	about  string
}

// formats are all formats, the surest to be recognised first.
func formats() []format {
	plain := func(read func(*bufio.Reader, *record.Run) error) func(*bufio.Reader, *record.Run,
		Options) error {
		return func(in *bufio.Reader, run *record.Run, _ Options) error { return read(in, run) }
	}
	return []format{
		{Torch, sniffTorch, plain(readTorch), true,
			"PyTorch memory snapshot (torch.cuda.memory._dump_snapshot)"},
		{JAX, sniffPProf, plain(readPProf), true,
			"JAX device memory profile (jax.profiler.save_device_memory_profile), pprof"},
		{RMM, sniffRMM, plain(readRMM), false, "log of RMM's logging adaptor (CSV)"},
		{NvidiaSMI, sniffSMI, plain(readSMI), false,
			"nvidia-smi --query-compute-apps=timestamp,pid,used_gpu_memory --format=csv -lms N"},
		{MemrayCSV, sniffMemrayCSV, plain(readMemrayCSV), true, "memray transform csv"},
		{MemrayStats, sniffMemrayStats, plain(readMemrayStats), false, "memray stats --json"},
		{Allocations, sniffAllocations, plain(readAllocations),
			false, "event log of an allocation server (tt-metal, gpumem serve)"},
		{StackTraces, sniffStacks, plain(readStacks),
			false, "stack traces of tt-metal's client, of TT_ALLOC_STACK_TRACE=1"},
		{TLTrace, sniffTL, readTL, false, "TL_MEM_TRACE, TL_MEM_LOG and Memory: lines among other output"},
	}
}

// Known is a format for people.
type Known struct {
	Kind   Kind
	About  string
	Moment bool // a file is the state of one moment: Join takes several
}

// Kinds are the formats that can be read.
func Kinds() []Known {
	var all []Known
	for _, f := range formats() {
		all = append(all, Known{f.kind, f.about, f.moment})
	}
	return all
}

// SniffLen is how many first bytes of a file Sniff makes use of. A log may
// begin with other output, so more bytes find more.
const SniffLen = 64 << 10

// maxWarnings bounds the warnings of one file; the rest are counted.
const maxWarnings = 100

// ErrUnknownFormat is wrapped by Read when Sniff finds no format it knows.
var ErrUnknownFormat = errors.New("not a recording of a known tool")

// Options are what the file cannot say itself. The zero value is usable.
type Options struct {
	// StepsPerLine is how many steps lie between two "Memory:" lines of a
	// TL log (1500 epochs an attempt in the N-Queens investigation). 0 means
	// not known: then one line is one step, and a warning says so.
	StepsPerLine int64
	// From is the format to read the file as; Unknown means to find out.
	From Kind
}

// Sniff says what kind of recording begins with head (SniffLen bytes are
// enough; fewer are allowed).
func Sniff(head []byte) Kind {
	if len(head) > SniffLen {
		head = head[:SniffLen]
	}
	for _, f := range formats() {
		if f.sniff(head) {
			return f.kind
		}
	}
	return Unknown
}

// Read reads a recording with default options. See ReadWith.
func Read(r io.Reader, name string) (*record.Run, error) {
	return ReadWith(r, name, Options{})
}

// ReadWith reads the recording r, of which name is what people call it (its
// path), to its end; one compressed with gzip is read through, as far as it
// unpacks to no more than a real one would. It returns an error
// wrapping ErrUnknownFormat for a file it does not know, an error of r, or an
// error for a file in which nothing could be read; a log that is cut, damaged
// or too long gives what came before, and warnings. What looks like a secret in it is
// masked (record.Run.Mask).
func ReadWith(r io.Reader, name string, o Options) (*record.Run, error) {
	in := bufio.NewReaderSize(r, SniffLen)
	if magic, _ := in.Peek(2); bytes.Equal(magic, gzipMagic) {
		z, err := unpack(in)
		if err != nil {
			return nil, fmt.Errorf("import %s: damaged gzip: %w", name, err)
		}
		in = bufio.NewReaderSize(z, SniffLen)
	}
	head, err := in.Peek(SniffLen)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	kind := o.From
	if kind == Unknown {
		kind = Sniff(head)
	}
	run := &record.Run{Path: name}
	err = fmt.Errorf("%w", ErrUnknownFormat)
	for _, f := range formats() {
		if f.kind == kind {
			err = f.read(in, run, o)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	begin(run, kind)
	run.Mask()
	return run, nil
}

var gzipMagic = []byte{0x1f, 0x8b}

// recordedBy is where Meta.Versions names the kind of recording.
const recordedBy = "recording"

// begin fills what every imported run says of itself.
func begin(run *record.Run, kind Kind) {
	run.Meta.Schema = 1
	if run.Meta.Versions == nil {
		run.Meta.Versions = map[string]string{}
	}
	run.Meta.Versions[recordedBy] = string(kind)
}
