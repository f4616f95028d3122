package importer

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// How much a packed recording may unpack to: real logs and snapshots pack 5 to
// 50 times, and a file that is made to fill a machine packs 1,000 times.
const (
	freeUnpacked = 64 << 20 // bytes, whatever the file has
	mostPacked   = 100      // times the bytes of the file beyond that
)

var errPacked = fmt.Errorf(
	"the file unpacks to more than %d times its size; unpack it yourself if that is right, and read the "+
		"result",
	mostPacked)

// unpacked reads a file packed with gzip, in bounds. What is in it may come
// from anybody.
type unpacked struct {
	z      *gzip.Reader
	packed *counted
	given  int64
	free   int64
}

// counted counts what is read of a file.
type counted struct {
	in *bufio.Reader
	n  int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n += int64(n)
	return n, err
}

// ReadByte spares gzip a buffer of its own, by which it would read ahead.
func (c *counted) ReadByte() (byte, error) {
	b, err := c.in.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func unpack(in *bufio.Reader) (*unpacked, error) {
	u := &unpacked{packed: &counted{in: in}, free: freeUnpacked}
	var err error
	u.z, err = gzip.NewReader(u.packed)
	return u, err
}

// Read implements io.Reader. Beyond the bound it returns errPacked.
func (u *unpacked) Read(b []byte) (int, error) {
	left := u.free + mostPacked*u.packed.n - u.given
	if left <= 0 {
		return 0, errPacked
	}
	n, err := u.z.Read(b[:min(int64(len(b)), left)])
	u.given += int64(n)
	return n, err
}

// readWhole reads a file that must be whole to be understood.
func readWhole(in io.Reader, most int64, tooLong string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case errors.Is(err, errPacked):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("at byte %d: %w; is the file complete?", len(data), err)
	case int64(len(data)) > most:
		return nil, errors.New(tooLong)
	}
	return data, nil
}
