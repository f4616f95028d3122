//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ttmetal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// The state file is a header and chunks of slots, both multiples of 64 KiB.
// It is mapped, and the mapped slots are the books: what was entered stands in
// the file, whatever happens to the process.
const (
	stateHeader = 64 << 10
	stateMagic  = "gpumem allocation server state 1\n" // then slotSize, u32, and the boot's name
	bootOffset  = 64
)

// state is the store whose chunks are mapped from a file.
type state struct {
	path string
	old  *os.File // what was found, locked until it is replaced
	warn func(string)

	mu     sync.Mutex
	file   *os.File // path+".new" until replace
	size   int64
	failed bool
	mapped map[*slot]bool // first slots of the chunks that are in the file
}

// errNoState says that a file is not one of this program's.
var errNoState = errors.New("it is not a state file of this version")

// openState opens the file at path, if there is one, and begins its successor
// beside it. Both are locked, so that two servers cannot share one.
func openState(path string, warn func(string)) (*state, error) {
	st := &state{path: path, warn: warn, mapped: map[*slot]bool{}}
	old, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case err == nil:
		st.old = old
		err = errors.Join(lock(old), checkState(old))
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		st.file, err = os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		err = errors.Join(lock(st.file), st.begin())
	}
	if err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s (another server uses it): %w", f.Name(), err)
	}
	return nil
}

func checkState(f *os.File) error {
	head := make([]byte, bootOffset)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.HasPrefix(head, []byte(stateMagic)) ||
		binary.LittleEndian.Uint32(head[len(stateMagic):]) != uint32(slotSize) {
		return fmt.Errorf("%s: %w", f.Name(), errNoState)
	}
	return nil
}

// begin writes an empty state.
func (st *state) begin() error {
	head := make([]byte, stateHeader)
	n := copy(head, stateMagic)
	binary.LittleEndian.PutUint32(head[n:], uint32(slotSize))
	copy(head[bootOffset:], bootID())
	if err := st.file.Truncate(0); err != nil {
		return err
	}
	if _, err := st.file.WriteAt(head, 0); err != nil {
		return err
	}
	st.size = stateHeader
	return nil
}

// chunk extends the file by a chunk and maps it. The zeros are written, not
// skipped, so that a full disk is an error here and not a fault later; then the
// chunk is ordinary memory and a warning says so.
func (st *state) chunk() []slot {
	st.mu.Lock()
	defer st.mu.Unlock()
	_, err := st.file.WriteAt(make([]byte, chunkSize), st.size)
	var b []byte
	if err == nil {
		b, err = syscall.Mmap(int(st.file.Fd()), st.size, chunkSize, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_SHARED)
	}
	if err != nil {
		if !st.failed {
			st.warn(fmt.Sprintf("new allocations do not get into the state file: %v", err))
		}
		st.failed = true
		return heap{}.chunk()
	}
	st.size += int64(chunkSize)
	st.mapped[(*slot)(unsafe.Pointer(unsafe.SliceData(b)))] = true
	return unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(b))), chunkSlots)
}

// fixed: see shard.shrink.
func (st *state) fixed() bool { return true }

// rest gives up the memory of a chunk; its file stays as it is. A chunk that did
// not get into the file is ordinary memory, which must not be touched.
func (st *state) rest(chunk []slot) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.mapped[unsafe.SliceData(chunk)] {
		restMapped(chunk)
	}
}

// restore enters what the found file holds into the books. Allocations of an
// earlier boot are left out: their processes and their memory are gone.
func (st *state) restore(r *Registry) error {
	if st.old == nil {
		return nil
	}
	boot := make([]byte, bootOffset)
	if _, err := st.old.ReadAt(boot, bootOffset); err != nil {
		return fmt.Errorf("read %s: %w", st.path, err)
	}
	if was := string(bytes.TrimRight(boot, "\x00")); was != bootID() {
		st.warn("the state is from before this machine's last start: it is left out")
		return nil
	}
	if _, err := st.old.Seek(stateHeader, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", st.path, err)
	}
	chunk := make([]slot, chunkSlots)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(chunk))), chunkSize)
	bad := 0
	for {
		n, err := io.ReadFull(st.old, raw)
		for _, v := range chunk[:n/slotSize] {
			if v.live == liveMark && !(v.plausible() && r.restore(v)) {
				bad++
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", st.path, err)
		}
	}
	if bad > 0 {
		st.warn(fmt.Sprintf("the state file holds %d entries that make no sense: they are left out", bad))
	}
	return nil
}

// plausible reports whether a slot from a file may be believed.
func (v *slot) plausible() bool {
	return v.space < spaces && v.refs > 0 && v.device >= 0 && v.device < MaxDevices &&
		v.size > 0 && v.size <= MaxSize && (v.space != buffers || v.memory < memories)
}

// replace puts the successor, which holds all that was restored, in the place
// of the found file.
func (st *state) replace() error {
	if err := os.Rename(st.path+".new", st.path); err != nil {
		return err
	}
	if st.old != nil {
		unlock(st.old)
		st.old = nil
	}
	return nil
}

// unlock closes a locked file. The lock is given up by name: a process that is
// being forked just now may have the file open, too.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// close writes the file back to the disk. The chunks stay mapped for readers
// that may still look at the books.
func (st *state) close() error {
	var err error
	if st.old != nil {
		err = unlock(st.old)
	}
	if st.file != nil {
		err = errors.Join(err, st.file.Sync(), unlock(st.file))
	}
	return err
}
