//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

import (
	"encoding/binary"
	"sync"
	"unsafe"
)

// Bounds on what a library is believed: no machine has more devices, no
// device more processes, and a list that outgrows its buffer this many times
// in a row is not being listed but chased.
const (
	maxDevices   = 256
	maxProcesses = 1 << 20
	maxRetries   = 8
	firstRoom    = 64 // entries a list is first given room for
)

// native is a driver that calls the library.
type native struct {
	t       *table
	devices []*nativeDevice
	driver  string
}

// nativeDevice is one device with its handles. The buffer is reused by every
// listing, which the mutex makes exclusive.
type nativeDevice struct {
	h         handle
	err       Code // why there is no handle
	instances []nativeInstance

	mu    sync.Mutex
	room  []byte  // entries
	count *uint32 // in: room in entries, out: entries
	words [3]uintptr
}

type nativeInstance struct {
	h       handle
	gpu     int
	compute int
}

// openNative loads the library, initialises it and takes the handles.
func openNative(o Options) (driver, error) {
	t, err := load(o)
	if err != nil {
		return nil, err
	}
	if c := t.callGlobal(symInit); c != codeSuccess {
		t.handle.Close()
		return nil, failure("start the library", -1, c)
	}
	n := &native{t: t}
	n.driver = n.globalText(symDriverVersion)
	count := new(uint32)
	switch c := t.callCount(count); c {
	case codeSuccess:
	case codeNotFound, codeGPUNotFound:
		*count = 0
	default:
		_ = n.close()
		return nil, failure("count devices", -1, c)
	}
	for i := range min(*count, maxDevices) {
		n.devices = append(n.devices, n.openDevice(i))
	}
	return n, nil
}

func (t *table) callCount(count *uint32) Code {
	return t.callGlobal(symCount, uintptr(unsafe.Pointer(count)))
}

// openDevice takes the handle of a device and of its instances. A device that
// refuses its handle is kept, with the reason.
func (n *native) openDevice(i uint32) *nativeDevice {
	d := &nativeDevice{count: new(uint32)}
	h := new(handle)
	if d.err = n.t.callGlobal(symHandle, uintptr(i), uintptr(unsafe.Pointer(h))); d.err != codeSuccess {
		return d
	}
	d.h = *h
	d.room = make([]byte, firstRoom*processV2Size)
	if n.split(d.h) {
		d.instances = n.openInstances(d.h)
	}
	return d
}

// split reports whether MIG is on. Devices and drivers without MIG say so by
// an error.
func (n *native) split(h handle) bool {
	modes := new([2]uint32) // current, pending
	c := n.t.call2(symMIGMode, h, unsafe.Pointer(&modes[0]), unsafe.Pointer(&modes[1]))
	return c == codeSuccess && modes[0] == 1
}

// openInstances takes the handles of the instances that we may see; slots
// that are empty or denied are left out.
func (n *native) openInstances(h handle) []nativeInstance {
	count := new(uint32)
	if c := n.t.call1(symMIGCount, h, unsafe.Pointer(count)); c != codeSuccess {
		return nil
	}
	var list []nativeInstance
	for i := range min(*count, maxDevices) {
		part := new(handle)
		if c := n.t.callIndex(symMIGHandle, h, uintptr(i), unsafe.Pointer(part)); c != codeSuccess {
			continue
		}
		list = append(list, nativeInstance{*part, n.id(symGPUInstance, *part),
			n.id(symComputeInstance, *part)})
	}
	return list
}

func (n *native) id(s symbol, h handle) int {
	v := new(uint32)
	if c := n.t.call1(s, h, unsafe.Pointer(v)); c != codeSuccess {
		return NoInstance
	}
	return instance(*v)
}

func (n *native) count() int      { return len(n.devices) }
func (n *native) version() string { return n.driver }

func (n *native) close() error {
	c := n.t.callGlobal(symShutdown)
	n.t.handle.Close()
	return failure("stop the library", -1, c)
}

// processes asks the three lists of the device and of its instances. A list
// that the device does not have is not an error as long as one answers.
func (n *native) processes(i int, dst []Process) ([]Process, error) {
	d := n.devices[i]
	if d.err != codeSuccess {
		return dst, failure("list processes", i, d.err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	start := len(dst)
	dst, c := n.lists(i, d, d.h, NoInstance, NoInstance, dst)
	for _, part := range d.instances {
		var pc Code
		dst, pc = n.lists(i, d, part.h, part.gpu, part.compute, dst)
		if pc == codeSuccess {
			c = pc
		}
	}
	if len(d.instances) > 0 {
		dst = append(dst[:start], dropParents(dst[start:])...)
	}
	return dst, failure("list processes", i, c)
}

// lists merges the three lists of one handle. The code is a success when any
// list answered, else the first refusal; but a lost device is lost whatever
// the other lists say.
func (n *native) lists(i int, d *nativeDevice, h handle, gpu, compute int, dst []Process) ([]Process, Code) {
	var answered bool
	var refusal Code
	for k, s := range [...]symbol{symCompute, symGraphics, symMPS} {
		var c Code
		dst, c = n.list(i, d, h, s, Process{Kind: 1 << k, GPUInstance: gpu, ComputeInstance: compute}, dst)
		switch {
		case c == codeSuccess:
			answered = true
		case c == codeGPULost || c == codeResetRequired:
			return dst, c
		case refusal == codeSuccess:
			refusal = c
		}
	}
	if answered {
		return dst, codeSuccess
	}
	return dst, refusal
}

// list merges one list into dst, giving the library more room as long as it
// asks for more.
func (n *native) list(i int, d *nativeDevice, h handle, s symbol, base Process,
	dst []Process) ([]Process, Code) {
	if !n.t.has(s) {
		return dst, codeFunctionNotFound
	}
	size := n.t.entries[s].size
	c := codeInsufficientSize
	for try := 0; try < maxRetries && c == codeInsufficientSize; try++ {
		*d.count = uint32(len(d.room) / size)
		c = n.t.callList(s, h, d)
		if c == codeInsufficientSize {
			// Half as much again, because the list grows while it is read.
			want := min(max(int(*d.count)+int(*d.count)/2, 2*len(d.room)/size), maxProcesses)
			d.room = make([]byte, want*processV2Size)
		}
	}
	if c != codeSuccess {
		return dst, c
	}
	for e := 0; e < int(*d.count); e++ {
		p, ok := decodeProcess(d.room, e, size)
		if !ok {
			break
		}
		p.Device, p.Kind = i, base.Kind
		if p.GPUInstance == NoInstance {
			p.GPUInstance, p.ComputeInstance = base.GPUInstance, base.ComputeInstance
		}
		dst = merge(dst, p)
	}
	return dst, codeSuccess
}

// peaks reads the accounting of every PID in the driver's ring.
func (n *native) peaks(i int) ([]Peak, error) {
	const op = "read the accounting"
	d := n.devices[i]
	if d.err != codeSuccess {
		return nil, failure(op, i, d.err)
	}
	if !n.accounting(d.h) {
		return nil, &Error{Op: op, Device: i, Text: "accounting mode is off", is: ErrUnsupported,
			Hint: "nvidia-smi --accounting-mode=1, as root, before the program starts"}
	}
	pids, c := n.accountedPIDs(d.h)
	if c != codeSuccess {
		return nil, failure(op, i, c)
	}
	stats := make([]byte, accountingSize)
	var list []Peak
	for _, pid := range pids {
		// A PID that left the ring since it was listed is not a failure.
		if n.t.callIndex(symAccountingStats, d.h, uintptr(pid), unsafe.Pointer(&stats[0])) == codeSuccess {
			p := decodePeak(stats)
			p.PID, p.Device = int(pid), i
			list = append(list, p)
		}
	}
	return list, nil
}

func (n *native) accounting(h handle) bool {
	mode := new(uint32)
	return n.t.call1(symAccountingMode, h, unsafe.Pointer(mode)) == codeSuccess && *mode == 1
}

func (n *native) accountedPIDs(h handle) ([]uint32, Code) {
	count := new(uint32)
	room := make([]byte, 4*4096) // the ring's usual size is 4000
	c := codeInsufficientSize
	for try := 0; try < maxRetries && c == codeInsufficientSize; try++ {
		*count = uint32(len(room) / 4)
		c = n.t.call2(symAccountingPIDs, h, unsafe.Pointer(count), unsafe.Pointer(&room[0]))
		if c == codeInsufficientSize {
			room = make([]byte, 4*min(max(int(*count), len(room)/2), maxProcesses))
		}
	}
	if c != codeSuccess {
		return nil, c
	}
	pids := make([]uint32, min(int(*count), len(room)/4))
	for i := range pids {
		pids[i] = binary.NativeEndian.Uint32(room[4*i:])
	}
	return pids, codeSuccess
}
