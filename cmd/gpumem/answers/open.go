package answers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gpumem/gpumem/tracer/importer"
	"github.com/gpumem/gpumem/tracer/record"
)

// Open reads a run folder, a CSV, or a recording of another tool. The error
// for what is none of these says what there is to give.
func Open(path string, im importer.Options) (*record.Run, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist; give a run folder, a CSV or a log", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		run, err := record.Open(path)
		if errors.Is(err, record.ErrNotRun) {
			return nil, fmt.Errorf("%s is not a run folder: neither run.json nor samples.csv is in it", path)
		}
		return run, err
	}
	return openFile(path, im)
}

// openFile reads a recording of another tool, or samples that lie in no run
// folder. It opens the file once: what was read of a pipe cannot be read again.
func openFile(path string, im importer.Options) (*record.Run, error) {
	in, err := record.OpenInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	// The importer looks at what this buffer holds, and takes nothing of a file
	// that it does not know.
	head := bufio.NewReaderSize(in, importer.SniffLen)
	magic, _ := head.Peek(len(gzipMagic))
	packed := string(magic) == gzipMagic
	run, err := importer.ReadWith(head, path, im)
	if err == nil || !errors.Is(err, importer.ErrUnknownFormat) {
		return run, err
	}
	if packed {
		return nil, fmt.Errorf("%w (%s); a CSV of samples is read unpacked",
			err, strings.Join(Kinds(), ", "))
	}
	if in.Rewind() {
		return openCSV(in, path)
	}
	return openCSV(head, path)
}

const gzipMagic = "\x1f\x8b"

// openCSV reads samples that lie in no run folder.
func openCSV(in io.Reader, path string) (*record.Run, error) {
	run, err := record.FromCSV(in, path)
	switch {
	case errors.Is(err, record.ErrNotSamples):
		return nil, fmt.Errorf("%w, and not a recording of a known tool (%s)",
			err, strings.Join(Kinds(), ", "))
	case err != nil:
		return nil, err
	case len(run.Samples.Names()) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case run.Samples.Len() == 0:
		return nil, fmt.Errorf("%s holds a header and no samples", path)
	}
	return run, nil
}

// Import reads a recording of another tool, and nothing else.
func Import(path string, im importer.Options) (*record.Run, error) {
	in, err := record.OpenInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return importer.ReadWith(in, path, im)
}

// Kinds are the names of the tools whose recordings are read.
func Kinds() []string {
	var names []string
	for _, k := range importer.Kinds() {
		names = append(names, string(k.Kind))
	}
	return names
}
