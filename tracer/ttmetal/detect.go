package ttmetal

import (
	"errors"
	"fmt"
)

// ErrProtocol is wrapped by errors about bytes that no client sends.
var ErrProtocol = errors.New("not the allocation protocol")

// Detect finds the size of a connection's messages from its first bytes.
// Every client fills a request with zeros from byte 72 on, and the next
// message starts with its kind, which is not zero: the first byte from 72 on
// that is not zero stands at the size. The answer is 0 when b does not tell
// yet. idle says that nothing followed b for a while, or nothing will: then
// what lies there is taken for one message, which is a guess (sure is false)
// until more comes, because the rest may only be late.
func Detect(b []byte, idle bool) (size int, sure bool, err error) {
	for i := V1; i < len(b) && i <= V4; i++ {
		if b[i] == 0 {
			continue
		}
		if i == V1 || i == V2 || i == V3 || i == V4 {
			return i, true, nil
		}
		return 0, false, fmt.Errorf("byte %d of the first message is not zero: %w", i, ErrProtocol)
	}
	switch n := len(b); {
	case n >= V4:
		return V4, true, nil
	case idle && (n == V1 || n == V2 || n == V3):
		return n, false, nil
	}
	return 0, false, nil
}

// Bounds of a connection's buffer: it starts small because most connections
// of a large machine are quiet, and doubles while reads fill it.
const (
	firstBuffer = 1 << 10
	mostBuffer  = 32 << 10
)

// framer cuts a connection's bytes into requests. The zero value is ready.
// It is for one goroutine.
type framer struct {
	buf    []byte // what was read
	from   int    // buf[from:] is not handed out yet
	size   int    // of a message, 0 while unknown
	sure   bool
	early  int // size by which the first message was handed out on a guess
	legacy legacy
	first  int // bytes of the first read
	read   uint64
	filled bool // by the last read: a larger buffer would have held more
}

// space is where the next bytes are to be read to.
func (f *framer) space() []byte {
	if f.from > 0 && f.from == len(f.buf) {
		f.buf, f.from = f.buf[:0], 0
	}
	if f.from > 0 && cap(f.buf)-len(f.buf) < cap(f.buf)/2 {
		f.buf = f.buf[:copy(f.buf, f.buf[f.from:])]
		f.from = 0
	}
	switch {
	case cap(f.buf) == 0:
		f.buf = make([]byte, 0, firstBuffer)
	case f.filled && cap(f.buf) < mostBuffer:
		f.buf = append(make([]byte, 0, 2*cap(f.buf)), f.buf...)
	}
	return f.buf[len(f.buf):cap(f.buf)]
}

// wrote says that n bytes were read to space.
func (f *framer) wrote(n int) {
	f.filled = n > 0 && n == cap(f.buf)-len(f.buf)
	f.buf = f.buf[:len(f.buf)+n]
	if f.read == 0 {
		f.first = n
	}
	f.read += uint64(n)
}

// pending is how many bytes wait for the rest of their message.
func (f *framer) pending() int {
	if f.early > 0 {
		return len(f.buf) - f.from - f.early
	}
	return len(f.buf) - f.from
}

// undecided reports whether silence would settle the size: the reader should
// then say so by idle.
func (f *framer) undecided() bool {
	if f.size != 0 || f.early != 0 {
		return false
	}
	n := len(f.buf) - f.from
	return n == V1 || n == V2 || n == V3 || f.legacyMaybe(n)
}

// next is the next request, false when more bytes are needed. An error means
// that the rest of the connection cannot be read.
func (f *framer) next(idle bool) (Request, bool, error) {
	if !f.sure {
		if again, err := f.detect(idle); again || err != nil {
			return Request{}, false, err
		}
	}
	if f.legacy == packed32 {
		return f.nextPacked()
	}
	b := f.buf[f.from:]
	if f.size == 0 || len(b) < f.size {
		return Request{}, false, nil
	}
	q := DecodeRequest(b)
	if f.sure {
		f.from += f.size
	} else {
		f.early = f.size // keep the bytes: the size was a guess
	}
	return q, true, nil
}

// detect settles the size; wait says that nothing can be handed out yet.
func (f *framer) detect(idle bool) (wait bool, err error) {
	b := f.buf[f.from:]
	if f.early == 0 && f.detectLegacy(b, idle) {
		return f.legacy != packed32, nil
	}
	size, sure, err := Detect(b, idle && f.early == 0)
	if err != nil {
		return false, err
	}
	if f.early == 0 {
		f.size, f.sure = size, sure
		return size == 0, nil
	}
	if size == 0 {
		return true, nil // still only zeros behind the guess
	}
	// The guess is confirmed, or was a message whose rest came late. What it
	// said was handed out either way.
	f.size, f.sure, f.early = size, sure, 0
	f.from += size
	return false, nil
}
