package record

import (
	"fmt"
	"io"
	"os"
)

// maxPiped bounds what is read of a pipe or a device that was given in place
// of a file: such a source need not have an end.
const maxPiped = 4 << 30

// Input is a file that a person named: a regular one, or a pipe as in
// `gpumem report <(cmd)`. It is for one goroutine.
type Input struct {
	*os.File
	regular bool
	left    int64 // bytes that may still be read of what is no regular file
}

// OpenInput opens a file for reading. It waits for the writer of a pipe, as
// every command does. Of what is no regular file Read gives up to 4 GiB and
// then an error.
func OpenInput(path string) (*Input, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Input{File: f, regular: info.Mode().IsRegular(), left: maxPiped}, nil
}

// Read reads as File does, within the bound.
func (in *Input) Read(b []byte) (int, error) {
	if in.regular {
		return in.File.Read(b)
	}
	if in.left <= 0 {
		return 0, fmt.Errorf("%s gave more than %d GiB and is not a regular file; save it to one first",
			in.Name(), maxPiped>>30)
	}
	n, err := in.File.Read(b[:min(int64(len(b)), in.left)])
	in.left -= int64(n)
	return n, err
}

// Rewind goes back to the start and reports whether it could: what was read of
// a pipe is gone.
func (in *Input) Rewind() bool {
	if !in.regular {
		return false
	}
	_, err := in.Seek(0, io.SeekStart)
	return err == nil
}
