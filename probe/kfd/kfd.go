package kfd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Unknown is the value of a quantity that the driver did not give.
const Unknown int64 = -1

// base is where the driver publishes, below the root.
const base = "sys/class/kfd/kfd"

// ErrUnsupported is the answer of a machine without the driver. It also
// matches the standard library's errors.ErrUnsupported.
var ErrUnsupported = fmt.Errorf("kfd: %w", errors.ErrUnsupported)

// Node is one GPU of the topology.
type Node struct {
	Index int    // number of the topology's node; processors have some too
	GPUID uint32 // the name of the GPU in the processes' files
	PCI   string // 0000:03:00.0, empty when unknown
	Name  string // the driver's name of the chip, may be empty
	// VRAMBytes is the size of the device's memory, Unknown when not told.
	VRAMBytes int64
}

// Usage is what one GPU holds for a process.
type Usage struct {
	GPUID     uint32
	PCI       string // empty when the topology does not know the GPU
	VRAMBytes int64
	// Faults, PageIn and PageOut count the pages of shared virtual memory
	// that moved; Unknown where the kernel does not count them.
	Faults, PageIn, PageOut int64
}

// Process is a process with a ROCm context.
type Process struct {
	PID  int // in the first namespace
	GPUs []Usage
}

// Reader reads the driver's files. It holds nothing open, is immutable, and
// is safe for concurrent use.
type Reader struct {
	dir   string
	nodes []Node
}

// Open reads the topology under root ("" means "/"). Without the driver it
// fails with ErrUnsupported, in one line that says why.
func Open(root string) (*Reader, error) {
	if root == "" {
		if runtime.GOOS != "linux" {
			return nil, fmt.Errorf("%w: AMD has no compute driver for %s", ErrUnsupported, runtime.GOOS)
		}
		root = "/"
	}
	r := &Reader{dir: filepath.Join(root, base)}
	if _, err := os.Stat(r.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil,
				fmt.Errorf("%w: no %s; load amdgpu with its compute part, or give the container /dev/kfd",
					ErrUnsupported, "/"+base)
		}
		return nil, fmt.Errorf("read %s: %w", base, err)
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, "topology/nodes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the topology's nodes: %w", err)
	}
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 16); err == nil {
			if node, ok := r.node(int(n)); ok {
				r.nodes = append(r.nodes, node)
			}
		}
	}
	slices.SortFunc(r.nodes, func(a, b Node) int { return cmp.Compare(a.Index, b.Index) })
	return r, nil
}

// Nodes are the GPUs, in the topology's order. The caller owns the slice.
func (r *Reader) Nodes() []Node { return slices.Clone(r.nodes) }

// node reads one node; ok is false for a processor, whose gpu_id is 0.
func (r *Reader) node(index int) (Node, bool) {
	dir := filepath.Join(r.dir, "topology/nodes", strconv.Itoa(index))
	id := number(filepath.Join(dir, "gpu_id"))
	if id <= 0 || id > 1<<32-1 {
		return Node{}, false
	}
	n := Node{Index: index, GPUID: uint32(id), VRAMBytes: Unknown}
	if b, err := os.ReadFile(filepath.Join(dir, "name")); err == nil {
		n.Name = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile(filepath.Join(dir, "properties")); err == nil {
		p := parseProperties(b)
		n.PCI = p.PCI()
	}
	n.VRAMBytes = vram(filepath.Join(dir, "mem_banks"))
	return n, true
}

// vram adds the node's banks of device memory up: heap types 1 (visible to
// the host) and 2 (not visible).
func vram(dir string) int64 {
	banks, err := os.ReadDir(dir)
	if err != nil {
		return Unknown
	}
	total := Unknown
	for _, bank := range banks {
		b, err := os.ReadFile(filepath.Join(dir, bank.Name(), "properties"))
		if err != nil {
			continue
		}
		p := parseProperties(b)
		if p["heap_type"] == 1 || p["heap_type"] == 2 {
			total = max(total, 0) + int64(p["size_in_bytes"]&(1<<62-1))
		}
	}
	return total
}

// Properties are the numbers of a properties file of the topology.
type Properties map[string]uint64

// parseProperties reads lines of a name and a decimal number; other lines are
// left out.
func parseProperties(b []byte) Properties {
	p := make(Properties)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		if v, err := strconv.ParseUint(f[1], 10, 64); err == nil {
			p[f[0]] = v
		}
	}
	return p
}

// PCI is the address as the kernel writes it, empty when the properties do
// not tell it. location_id holds bus, device and function.
func (p Properties) PCI() string {
	loc, ok := p["location_id"]
	if !ok || loc == 0 {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", uint32(p["domain"]), loc>>8&0xff, loc>>3&0x1f, loc&7)
}

// Processes lists the processes with a ROCm context, by PID. Processes that
// end meanwhile are left out.
func (r *Reader) Processes() ([]Process, error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, "proc"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the folder appears with the first process
	}
	if err != nil {
		return nil, fmt.Errorf("list ROCm processes: %w", err)
	}
	var list []Process
	for _, e := range entries {
		pid, err := strconv.ParseUint(e.Name(), 10, 31)
		if err != nil {
			continue
		}
		if gpus, err := r.Sample(int(pid), nil); err == nil {
			list = append(list, Process{int(pid), gpus})
		}
	}
	slices.SortFunc(list, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return list, nil
}

// Sample appends what each GPU holds for a process. The error matches
// fs.ErrNotExist when the process has no ROCm context.
func (r *Reader) Sample(pid int, dst []Usage) ([]Usage, error) {
	dir := filepath.Join(r.dir, "proc", strconv.Itoa(pid))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return dst, fmt.Errorf("read ROCm process %d: %w", pid, err)
	}
	for _, e := range entries { // in the order of their names
		id, ok := strings.CutPrefix(e.Name(), "vram_")
		if !ok {
			continue
		}
		gpu, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			continue
		}
		counters := filepath.Join(dir, "counters_"+id)
		dst = append(dst, Usage{GPUID: uint32(gpu), PCI: r.pci(uint32(gpu)),
			VRAMBytes: number(filepath.Join(dir, e.Name())),
			Faults:    number(filepath.Join(counters, "faults")),
			PageIn:    number(filepath.Join(counters, "page_in")),
			PageOut:   number(filepath.Join(counters, "page_out")),
		})
	}
	return dst, nil
}

// Bytes is what all GPUs hold for a process: Unknown when any figure is,
// fs.ErrNotExist when the process has no ROCm context.
func (r *Reader) Bytes(pid int) (int64, error) {
	list, err := r.Sample(pid, nil)
	if err != nil {
		return Unknown, err
	}
	total := int64(0)
	for _, u := range list {
		if u.VRAMBytes == Unknown || total > total+u.VRAMBytes {
			return Unknown, nil
		}
		total += u.VRAMBytes
	}
	return total, nil
}

func (r *Reader) pci(gpu uint32) string {
	for _, n := range r.nodes {
		if n.GPUID == gpu {
			return n.PCI
		}
	}
	return ""
}

// number reads a file with one decimal number, Unknown when it has none.
func number(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return Unknown
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 63)
	if err != nil {
		return Unknown
	}
	return int64(v)
}
