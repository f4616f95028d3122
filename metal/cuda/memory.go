package cuda

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

const (
	// poolBlock is what the driver's pools take from the device at a time, at
	// least (one byte made a pool hold 33,554,432: NVIDIA H200, driver 580).
	poolBlock = 32 << 20
	// largeLength is the least allocation that is made by cuMemAlloc, which
	// takes and gives back units of 2 MiB at once. In the pool, a small buffer
	// that stays would keep a block that was made for large ones.
	largeLength = 1 << 20
)

// memory is the device's memory. Only the device's thread uses it.
type memory struct {
	lib    *library
	pool   uintptr // 0: each allocation by cuMemAlloc
	stream uintptr // of allocations in the pool, and of copies
	anchor uintptr // an allocation that keeps the pool's first block
	large  map[uintptr]bool
	keep   uint64
	freed  bool // in the pool, since the last trim
}

// poolProperties is CUmemPoolProps (88 bytes in every version of cuda.h).
type poolProperties struct {
	allocType, handleTypes   uint32
	locationType, locationID int32
	security                 uintptr
	maxSize                  uint64
	reserved                 [56]byte
}

// The values of poolProperties: device memory, pinned to it.
const (
	allocationPinned = 1
	locationDevice   = 1
)

// open makes the stream and, if wanted, the pool. The pool never gives memory
// back by itself, since it does so in the middle of work: rest does.
func (m *memory) open(device int32, pools bool) error {
	s := new(uintptr)
	if err := m.lib.failure("make a stream",
		m.lib.call(symStreamCreate, uintptr(unsafe.Pointer(s)), streamNonBlocking)); err != nil {
		return err
	}
	m.stream = *s
	if !pools {
		return nil
	}
	props := &poolProperties{allocType: allocationPinned, locationType: locationDevice, locationID: device}
	p := new(uintptr)
	if err := m.lib.failure("make a memory pool",
		m.lib.call(symPoolCreate, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(props)))); err != nil {
		return err
	}
	m.pool = *p
	threshold := new(uint64)
	*threshold = math.MaxUint64
	code := m.lib.call(symPoolSet, m.pool, poolReleaseThreshold, uintptr(unsafe.Pointer(threshold)))
	if err := m.lib.failure("set up the memory pool", code); err != nil {
		return err
	}
	// The first block stays for as long as the device is open: it is a constant
	// of the driver's, as the context is, and not growth of the program that
	// makes its first buffer.
	var err error
	m.anchor, err = m.get(pageSize)
	return err
}

// close gives everything back; no allocation is left.
func (m *memory) close() {
	if m.anchor != 0 {
		_ = m.put(m.anchor)
		m.lib.call(symStreamSync, m.stream)
	}
	if m.pool != 0 {
		m.lib.call(symPoolDestroy, m.pool)
	}
	if m.stream != 0 {
		m.lib.call(symStreamDestroy, m.stream)
	}
}

// get is the address of n bytes that any stream may use. When there are none,
// it trims and asks once more: the pool's blocks may be of the wrong size.
func (m *memory) get(n uint64) (uintptr, error) {
	address, code := m.take(n)
	if code == codeOutOfMemory {
		m.trim(0)
		address, code = m.take(n)
	}
	return address, m.lib.failure(fmt.Sprintf("allocate %d B", n), code)
}

func (m *memory) take(n uint64) (uintptr, Code) {
	if m.pool == 0 || n >= largeLength {
		address := new(uintptr)
		code := m.lib.call(symMemAlloc, uintptr(unsafe.Pointer(address)), uintptr(n))
		if code == codeSuccess {
			m.large[*address] = true
		}
		return *address, code
	}
	ordered, code := m.ordered(n)
	if code == codeSuccess {
		code = m.lib.call(symStreamSync, m.stream) // other streams know nothing of this one's order
	}
	return ordered, code
}

// ordered takes from the pool; the memory is there in the stream's order.
func (m *memory) ordered(n uint64) (uintptr, Code) {
	address := new(uintptr)
	code := m.lib.call(symAllocFromPool, uintptr(unsafe.Pointer(address)), uintptr(n), m.pool, m.stream)
	return *address, code
}

// put gives an allocation back that no work uses any more.
func (m *memory) put(address uintptr) error {
	if m.large[address] {
		delete(m.large, address)
		return m.lib.failure("free memory", m.lib.call(symMemFree, address))
	}
	m.freed = true
	return m.lib.failure("free memory", m.lib.call(symFreeAsync, address, m.stream))
}

// rest trims when something was freed.
func (m *memory) rest() {
	if m.freed {
		m.trim(m.keep)
	}
}

// trim gives the memory beyond keep that no allocation uses back to the
// driver. A failure leaves it there, where Reserved shows it.
func (m *memory) trim(keep uint64) {
	m.freed = false
	if m.pool == 0 {
		return
	}
	m.lib.call(symStreamSync, m.stream) // frees are done in its order
	if used, reserved, err := m.figures(); err == nil && reserved-used < poolBlock || reserved <= keep {
		return // no whole block can be free
	}
	m.lib.call(symPoolTrim, m.pool, uintptr(keep))
}

// figures are what the pool charges for allocations, and what it holds.
func (m *memory) figures() (used, reserved uint64, err error) {
	v := new([2]uint64)
	code := m.lib.call(symPoolGet, m.pool, poolUsed, uintptr(unsafe.Pointer(&v[0])))
	if code == codeSuccess {
		code = m.lib.call(symPoolGet, m.pool, poolReserved, uintptr(unsafe.Pointer(&v[1])))
	}
	return v[0], v[1], m.lib.failure("read the memory pool", code)
}

// free is the device's free memory, 0 when the driver does not tell.
func (m *memory) free() uint64 {
	v := new([2]uint64)
	if m.lib.call(symMemInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))) != codeSuccess {
		return 0
	}
	return v[0]
}

// write copies p to the device; p may change when it returns.
func (m *memory) write(address uintptr, p []byte) error {
	defer runtime.KeepAlive(p)
	return m.copied("write", m.lib.call(symMemcpyToDevice, address,
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), m.stream))
}

// read copies from the device.
func (m *memory) read(p []byte, address uintptr) error {
	defer runtime.KeepAlive(p)
	return m.copied("read", m.lib.call(symMemcpyToHost, uintptr(unsafe.Pointer(unsafe.SliceData(p))),
		address, uintptr(len(p)), m.stream))
}

// copied waits for a copy: the call alone promises nothing about the other end.
func (m *memory) copied(what string, code Code) error {
	if code == codeSuccess {
		code = m.lib.call(symStreamSync, m.stream)
	}
	return m.lib.failure(what+" device memory", code)
}
