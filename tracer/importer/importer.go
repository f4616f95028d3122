package importer

import (
	"bufio"
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
)

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
}

// Sniff says what kind of recording begins with head (SniffLen bytes are
// enough; fewer are allowed).
func Sniff(head []byte) Kind {
	if len(head) > SniffLen {
		head = head[:SniffLen]
	}
	switch {
	case sniffTorch(head):
		return Torch
	case sniffRMM(head):
		return RMM
	case sniffSMI(head):
		return NvidiaSMI
	case sniffTL(head):
		return TLTrace
	}
	return Unknown
}

// Read reads a recording with default options. See ReadWith.
func Read(r io.Reader, name string) (*record.Run, error) {
	return ReadWith(r, name, Options{})
}

// ReadWith reads the recording r, of which name is what people call it (its
// path), to its end. It returns an error wrapping ErrUnknownFormat for a file
// it does not know, an error of r, or an error for a file in which nothing
// could be read; a file that is cut or damaged gives what came before, and
// warnings.
func ReadWith(r io.Reader, name string, o Options) (*record.Run, error) {
	in := bufio.NewReaderSize(r, SniffLen)
	head, err := in.Peek(SniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	run := &record.Run{Path: name}
	kind := Sniff(head)
	switch kind {
	case TLTrace:
		err = readTL(in, run, o)
	case RMM:
		err = readRMM(in, run)
	case NvidiaSMI:
		err = readSMI(in, run)
	case Torch:
		err = readTorch(in, run)
	default:
		err = ErrUnknownFormat
	}
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	return run, nil
}
