package importer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// pickleInput is the bytes of a pickle that are still to be read.
type pickleInput struct {
	r       *bufio.Reader
	read    int64 // bytes so far
	scratch []byte
}

func (in *pickleInput) fail(err error) error { return fmt.Errorf("at byte %d: %w", in.read, err) }

// bytes reads n bytes, valid until the next call. n is bounded by callers.
func (in *pickleInput) bytes(n int) ([]byte, error) {
	if cap(in.scratch) < n {
		in.scratch = make([]byte, max(n, 64))
	}
	b := in.scratch[:n]
	k, err := io.ReadFull(in.r, b)
	in.read += int64(k)
	return b, unexpected(err)
}

// size reads a little-endian length of n bytes.
func (in *pickleInput) size(n int) (uint64, error) {
	b, err := in.bytes(n)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:]), nil
}

// skip passes over n bytes.
func (in *pickleInput) skip(n uint64) error {
	for n > 0 {
		k, err := in.r.Discard(int(min(n, 1<<20)))
		in.read += int64(k)
		n -= uint64(k)
		if err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// unexpected says that a file ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pickleStack is what the machine works on, the top at the end; kindMark begins a group.
type pickleStack []value

func (s *pickleStack) push(v value) { *s = append(*s, v) }

func (s *pickleStack) pop() (value, error) {
	if len(*s) == 0 || (*s)[len(*s)-1] == kindMark {
		return 0, fmt.Errorf("%w: empty stack", errPickle)
	}
	v := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return v, nil
}

// popMark takes off everything above the last mark, and the mark. The result
// is valid until the next push.
func (s *pickleStack) popMark() ([]value, error) {
	for i := len(*s) - 1; i >= 0; i-- {
		if (*s)[i] == kindMark {
			top := (*s)[i+1:]
			*s = (*s)[:i]
			return top, nil
		}
	}
	return nil, fmt.Errorf("%w: no mark", errPickle)
}
