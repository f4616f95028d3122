package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Map is Open with the file mapped into memory, so that tensor data is read
// straight from the page cache; where files cannot be mapped it is Open.
// Reading what was cut off the file meanwhile is an error, as with Open.
func Map(path string) (*File, error) {
	g, err := Open(path)
	if err != nil {
		return nil, err
	}
	f := g.closer.(*os.File)
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open model %s: %w", path, err), f.Close())
	}
	memory, release, err := mapFile(f, st.Size())
	if err != nil {
		return g, nil // it is read instead
	}
	g.src = mapped{bytes.NewReader(memory)}
	g.closer = closers{f, closer(release)}
	return g, nil
}

// mapped reads mapped memory. A page that is no longer in the file is an error
// and does not end the program.
type mapped struct{ memory *bytes.Reader }

func (m mapped) ReadAt(p []byte, offset int64) (n int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			n = 0
			err = fmt.Errorf("read %d bytes at %d: the file was cut meanwhile: %w", len(p), offset,
				io.ErrUnexpectedEOF)
		}
	}()
	return m.memory.ReadAt(p, offset)
}

// closer closes by a function.
type closer func() error

func (c closer) Close() error { return c() }

// closers close all, in order.
type closers []io.Closer

func (c closers) Close() (failed error) {
	for _, each := range c {
		failed = errors.Join(failed, each.Close())
	}
	return failed
}
