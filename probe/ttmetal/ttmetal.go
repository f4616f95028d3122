package ttmetal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

// ErrUnsupported is the answer of a machine without such files. It also
// matches the standard library's errors.ErrUnsupported.
var ErrUnsupported = fmt.Errorf("tt-metal shared memory: %w", errors.ErrUnsupported)

// ErrLayout is wrapped by errors about a file that is not laid out as known.
var ErrLayout = errors.New("not the known layout")

// Memory is bytes by kind of device memory.
type Memory struct {
	DRAM, L1, L1Small, Trace, CB, Kernel uint64
}

// Bytes is the sum. CB and Kernel lie in L1 beside the buffers.
func (m Memory) Bytes() uint64 {
	return m.DRAM + m.L1 + m.L1Small + m.Trace + m.CB + m.Kernel
}

// Device is one file.
type Device struct {
	Path      string
	Version   uint32
	UpdatedNs uint64 // of the last change, by the program's clock
	Refs      uint32 // programs that have the file open
	Board     uint64
	ASIC      uint64 // board << 8 + location
	Number    int32  // of the device as its last program counts them
	Total     Memory
	Chips     []Chip
	Processes []Process
}

// Chip is one chip of a device.
type Chip struct {
	ID     uint32
	Remote bool // reached through another chip
	Used   Memory
}

// Process is one process with memory on a device.
type Process struct {
	PID       int
	Name      string
	Used      Memory
	UpdatedNs uint64
	Dead      bool // there certainly is no process of that number
}

// The layout, as its authors' struct has it.
const (
	fileSize    = 9280
	totalsAt    = 48
	chipsAt     = 96
	chipSize    = 56
	mostChips   = 16
	processesAt = 992
	processSize = 128
	mostProcs   = 64
	nameAt      = 64
)

// Reader reads the files. It holds nothing open, is immutable, and is safe for
// concurrent use.
type Reader struct {
	dir  string
	gone func(pid int) bool
}

// Open looks for files under root ("" means "/"). Without any it fails with
// ErrUnsupported, in one line that says why; they appear when the first
// program with tracking starts.
func Open(root string) (*Reader, error) {
	if root == "" {
		if runtime.GOOS != "linux" {
			return nil, fmt.Errorf("%w: tt-metal has no driver for %s", ErrUnsupported, runtime.GOOS)
		}
		root = "/"
	}
	r := &Reader{dir: filepath.Join(root, "dev/shm"), gone: gone}
	paths, err := r.paths()
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: no %s/tt_device_*_memory: no program with tt-metal's tracking has run",
			ErrUnsupported, r.dir)
	}
	return r, nil
}

func (r *Reader) paths() ([]string, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("look for tt-metal shared memory: %w", err)
	}
	var out []string
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), "tt_device_")
		middle, ok2 := strings.CutSuffix(middle, "_memory")
		if ok && ok2 && middle != "" {
			out = append(out, filepath.Join(r.dir, e.Name()))
		}
	}
	sort.Strings(out)
	return out, nil
}

// Devices reads all files, in order of path. Files that cannot be read are in
// the error, which does not keep the others back.
func (r *Reader) Devices() ([]Device, error) {
	paths, err := r.paths()
	if err != nil {
		return nil, err
	}
	var out []Device
	var errs []error
	for _, path := range paths {
		d, err := r.read(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, d)
	}
	return out, errors.Join(errs...)
}

func (r *Reader) read(path string) (Device, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Device{}, fmt.Errorf("read %s: it went away: %w", path, err)
	}
	if err != nil {
		return Device{}, fmt.Errorf("read tt-metal shared memory: %w", err)
	}
	d, err := Decode(text)
	if err != nil {
		return Device{}, fmt.Errorf("read %s: %w", path, err)
	}
	d.Path = path
	for i := range d.Processes {
		d.Processes[i].Dead = r.gone(d.Processes[i].PID)
	}
	return d, nil
}

// Decode reads the content of one file; whether its processes are dead is
// left open. A file that is too short or not yet filled in is an error.
func Decode(b []byte) (Device, error) {
	if len(b) < fileSize {
		return Device{}, fmt.Errorf("%d bytes, want %d: %w", len(b), fileSize, ErrLayout)
	}
	d := Device{
		Version: u32(b, 0), UpdatedNs: u64(b, 8), Refs: u32(b, 16), Board: u64(b, 24), ASIC: u64(b, 32),
		Number: int32(u32(b, 40)), Total: memory(b[totalsAt:]),
	}
	if d.Version == 0 {
		return Device{}, fmt.Errorf("version 0, not filled in: %w", ErrLayout)
	}
	for i := range mostChips {
		c := b[chipsAt+i*chipSize:]
		chip := Chip{ID: u32(c, 0), Remote: u32(c, 4) != 0, Used: memory(c[8:])}
		if chip != (Chip{}) {
			d.Chips = append(d.Chips, chip)
		}
	}
	// The number of processes at 4 is a hint: an entry is in use when it has a
	// pid, wherever it stands.
	for i := range mostProcs {
		p := b[processesAt+i*processSize:]
		pid := int32(u32(p, 0))
		if pid <= 0 {
			continue
		}
		d.Processes = append(d.Processes, Process{
			PID: int(pid), Used: memory(p[8:]), UpdatedNs: u64(p, 56), Name: name(p[nameAt:processSize]),
		})
	}
	return d, nil
}

func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func memory(b []byte) Memory {
	return Memory{u64(b, 0), u64(b, 8), u64(b, 16), u64(b, 24), u64(b, 32), u64(b, 40)}
}

// name is a C string, made fit to be shown.
func name(b []byte) string {
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// Location is a device's place on its board, the low byte of its ASIC.
func (d *Device) Location() string { return strconv.FormatUint(d.ASIC&0xff, 10) }
