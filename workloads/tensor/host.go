package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/pool"
)

// errReleased is a use of host memory after its last reference was given up.
var errReleased = errors.New("used after release")

// host runs each command at once on Go memory.
type host struct {
	count, bytes, allocs, frees, commands atomic.Int64
}

func (h *host) alloc(n, elementSize int, _ string, _ bool) (storage, error) {
	if n <= 0 || elementSize <= 0 {
		return nil, fmt.Errorf("host memory of %d x %d B", n, elementSize)
	}
	// Words, so that every element type is aligned.
	words := make([]uint64, (n*elementSize+7)/8)
	b := &hostBlock{host: h, memory: bytesOf(words)[:n*elementSize]}
	b.count.Store(1)
	h.count.Add(1)
	h.bytes.Add(int64(n * elementSize))
	h.allocs.Add(1)
	return b, nil
}

func (h *host) encode(name string, calls ...call) error {
	h.commands.Add(1)
	var params [][]byte // of the command so far
	for _, c := range calls {
		k, ok := kernels.ByName(c.kernel)
		if !ok {
			return fmt.Errorf("encode %s: no kernel %q", name, c.kernel)
		}
		args := make([][]byte, len(c.args))
		for i, a := range c.args {
			switch a := a.(type) {
			case *hostBlock:
				if a.count.Load() <= 0 {
					return fmt.Errorf("encode %s: argument %d: %w", name, i, errReleased)
				}
				args[i] = a.memory
			case part:
				b, ok := a.store.(*hostBlock)
				if !ok || b.count.Load() <= 0 {
					return fmt.Errorf("encode %s: argument %d: %w", name, i, errReleased)
				}
				args[i] = b.memory[a.offset:]
			case int32:
				args[i] = kernels.Int32Bytes(a)
				params = append(params, args[i])
			case float32:
				args[i] = binary.LittleEndian.AppendUint32(nil, math.Float32bits(a))
				params = append(params, args[i])
			case same:
				args[i] = params[a]
			default:
				return fmt.Errorf("encode %s: %w", name, errArgument(a))
			}
		}
		if err := k.Run(kernels.Call{Grid: c.grid, Args: args}); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
	}
	return nil
}

func (h *host) commit() error { return nil }
func (h *host) sync() error   { return nil }
func (h *host) close() error  { return nil }

// hostBlock is counted Go memory.
type hostBlock struct {
	host   *host
	count  atomic.Int64
	memory []byte
}

func (b *hostBlock) retain() (storage, error) {
	if b.count.Load() <= 0 {
		return nil, errReleased
	}
	b.count.Add(1)
	return b, nil
}

func (b *hostBlock) release() (pool.Outcome, error) {
	switch n := b.count.Add(-1); {
	case n < 0:
		return pool.NoOutcome, errReleased
	case n > 0:
		return pool.Shared, nil
	}
	b.host.count.Add(-1)
	b.host.bytes.Add(-int64(len(b.memory)))
	b.host.frees.Add(1)
	b.memory = nil
	return pool.NotPooled, nil
}

func (b *hostBlock) refs() int { return int(max(b.count.Load(), 0)) }

func (b *hostBlock) read(p []byte) error {
	if b.memory == nil {
		return errReleased
	}
	copy(p, b.memory)
	return nil
}

func (b *hostBlock) write(p []byte) error {
	if b.memory == nil {
		return errReleased
	}
	copy(b.memory, p)
	return nil
}
