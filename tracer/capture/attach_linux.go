package capture

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
)

// retryEvery is how often a process is asked whether it has the driver now.
const retryEvery = 20 * time.Millisecond

// tap is the probes on one process.
type tap struct {
	process *process
	spec    func(multi bool) (*ebpf.CollectionSpec, error)
	maps    *ebpf.Collection
	links   []link.Link
	reader  *ringbuf.Reader
	record  ringbuf.Record
	asked   time.Time
	lost    uint64
}

// Attach puts probes on the CUDA driver that a running process uses, now or as
// soon as it loads one. What the process allocated before is unknown; Warnings
// says so. The error wraps ErrPrivileges when the kernel refuses.
func Attach(pid int) (*Reader, error) {
	r := newReader("")
	if err := r.Attach(pid); err != nil {
		return nil, err
	}
	return r, nil
}

// Attach follows one more process by probes. A process that has a ring is
// better followed by that.
func (r *Reader) Attach(pid int) error {
	if !processAlive(pid) {
		return fmt.Errorf("attach to process %d: %w", pid, os.ErrProcessDone)
	}
	t := &tap{
		process: &process{pid: pid, ledger: newLedger(), partial: true},
		spec:    func(multi bool) (*ebpf.CollectionSpec, error) { return probeSpec(pid, multi) },
	}
	rlimit.RemoveMemlock() // needed before Linux 5.11; what it refuses shows below
	// Whether programs may be loaded at all is known now; the driver may come
	// later.
	if err := t.load(true); err != nil {
		return fmt.Errorf("attach to process %d: %w", pid, explain(err))
	}
	if err := t.attach(); err != nil && !errors.Is(err, errNoDriver) {
		return errors.Join(fmt.Errorf("attach to process %d: %w", pid, explain(err)), t.Close())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.taps[pid]; ok {
		old.Close()
	}
	r.taps[pid] = t
	r.procs[pid] = t.process
	return nil
}

var errNoDriver = errors.New("no CUDA driver loaded")

// explain says what is missing when the kernel refuses.
func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf(
			"%w: run as root, or with CAP_BPF and CAP_PERFMON on Linux 6.6 and later (CAP_SYS_ADMIN "+
				"before): %w", ErrPrivileges, err)
	}
	if errors.Is(err, ebpf.ErrNotSupported) {
		return fmt.Errorf("%w: the kernel has no such probes: %w", ErrUnsupported, err)
	}
	return err
}

// load loads the programs.
func (t *tap) load(multi bool) error {
	if t.maps != nil {
		t.reader.Close()
		t.maps.Close()
		t.maps = nil
	}
	spec, err := t.spec(multi)
	if err != nil {
		return err
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil && multi {
		return t.load(false)
	}
	if err != nil {
		return fmt.Errorf("load probes: %w", err)
	}
	reader, err := ringbuf.NewReader(c.Maps["events"])
	if err != nil {
		c.Close()
		return fmt.Errorf("read probes: %w", err)
	}
	t.maps, t.reader = c, reader
	return nil
}

// attach puts the probes on the driver's file.
func (t *tap) attach() error {
	t.asked = time.Now()
	path, err := driverPath(t.process.pid)
	if err != nil {
		return err
	}
	places, err := findPlaces(path)
	if err != nil {
		return err
	}
	file, err := link.OpenExecutable(path)
	if err != nil {
		return fmt.Errorf("open driver: %w", err)
	}
	if err := t.attachMulti(file, places); err == nil {
		t.process.driver = true
		return nil
	}
	// Kernels before 6.6, or those that cannot filter by process this way.
	if err := t.load(false); err != nil {
		return err
	}
	if err := t.attachEach(file, places); err != nil {
		return err
	}
	t.process.driver = true
	return nil
}

// place is a function of the driver in its file.
type place struct {
	offset, cookie uint64
}

func (t *tap) attachMulti(file *link.Executable, places []place) error {
	o := &link.UprobeMultiOptions{PID: uint32(t.process.pid)}
	for _, p := range places {
		o.Addresses = append(o.Addresses, p.offset)
		o.Cookies = append(o.Cookies, p.cookie)
	}
	// The return probes come first: an entry without them would wait for ever.
	back, err := file.UretprobeMulti(nil, t.maps.Programs["return"], o)
	if err != nil {
		return fmt.Errorf("place probes: %w", err)
	}
	entry, err := file.UprobeMulti(nil, t.maps.Programs["entry"], o)
	if err != nil {
		return errors.Join(fmt.Errorf("place probes: %w", err), back.Close())
	}
	t.links = []link.Link{entry, back}
	return nil
}

func (t *tap) attachEach(file *link.Executable, places []place) error {
	for _, p := range places {
		o := &link.UprobeOptions{Address: p.offset, PID: t.process.pid, Cookie: p.cookie}
		back, err := file.Uretprobe("", t.maps.Programs["return"], o)
		if err != nil {
			return errors.Join(fmt.Errorf("place probe: %w", err), t.detach())
		}
		t.links = append(t.links, back)
		entry, err := file.Uprobe("", t.maps.Programs["entry"], o)
		if err != nil {
			return errors.Join(fmt.Errorf("place probe: %w", err), t.detach())
		}
		t.links = append(t.links, entry)
	}
	return nil
}

func (t *tap) detach() error {
	var errs []error
	for _, l := range t.links {
		errs = append(errs, l.Close())
	}
	t.links = nil
	return errors.Join(errs...)
}

// poll takes in the calls since the last.
func (t *tap) poll() error {
	if t.links == nil && time.Since(t.asked) >= retryEvery {
		if err := t.attach(); err != nil && !errors.Is(err, errNoDriver) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("attach to process %d: %w", t.process.pid, explain(err))
		}
	}
	t.reader.SetDeadline(time.Now())
	for {
		err := t.reader.ReadInto(&t.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return fmt.Errorf("read probes: %w", err)
		}
		if c, ok := decodeCall(t.record.RawSample); ok {
			e := c.complete()
			t.process.ledger.apply(&e)
			t.process.space.saw(t.process.ledger)
		}
	}
	var lost uint64
	if err := t.maps.Maps["lost"].Lookup(uint32(0), &lost); err == nil {
		t.process.lost += lost - t.lost
		t.lost = lost
	}
	return nil
}

// Close takes the probes away.
func (t *tap) Close() error {
	err := errors.Join(t.detach(), t.reader.Close())
	t.maps.Close()
	return err
}

// driverPath is the driver's file as we can open it.
func driverPath(pid int) (string, error) {
	found, err := readMaps(mapsPath(pid))
	if err != nil {
		return "", fmt.Errorf("find driver: %w", err)
	}
	for _, m := range found {
		if isDriver(m.path) {
			return proc.Path(pid, "root") + m.path, nil
		}
	}
	return "", errNoDriver
}

// findPlaces finds the functions in the driver's file. Names for one address
// are one place, of the first name.
func findPlaces(path string) ([]place, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open driver: %w", err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read driver: %w", err)
	}
	at := map[string]uint64{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			at[s.Name] = s.Value
		}
	}
	seen := map[uint64]bool{}
	var out []place
	for i, p := range probed {
		address, ok := at[p.name]
		if !ok || seen[address] {
			continue
		}
		seen[address] = true
		cookie := uint64(i)
		if p.form.takes() {
			cookie |= cookieTakes
		}
		for _, segment := range f.Progs {
			if segment.Type == elf.PT_LOAD && address >= segment.Vaddr &&
				address < segment.Vaddr+segment.Filesz {
				out = append(out, place{address - segment.Vaddr + segment.Off, cookie})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("read driver: %s exports nothing that allocates", path)
	}
	return out, nil
}

// complete makes an event of a call.
func (c *call) complete() event {
	e := c.event
	switch probed[c.function].form {
	case formOut:
		e.size = c.args[1]
	case formPitch:
		e.size = c.in1[0] * c.args[3]
	case formArray2D:
		e.size = arraySize(c.in1[:2], c.in1[2], 1)
	case formArray3D:
		e.size = arraySize(c.in1[:3], c.in1[3], 1)
	case formMipmap:
		e.size = arraySize(c.in1[:3], c.in1[3], c.args[2]&0xff)
	case formPitched:
		e.size = c.second * c.stack[1] * c.stack[2]
	case formChannels:
		e.size = channelSize(c.in1[:2]) * c.args[2] * max(c.args[3], 1)
	case formVolume:
		e.size = channelSize(c.in1[:2]) * volume(c.stack, 1)
	case formLevels:
		e.size = channelSize(c.in1[:2]) * volume(c.stack, c.args[2]&0xff)
	case formCreate:
		e.size = c.args[1]
		if where, id := uint32(c.in2[1]), c.in2[1]>>32; where == 1 {
			e.device = int16(id)
		} else {
			e.flags |= slotHostMem
		}
	case formGiven, formTakesRange:
		e.ptr, e.size = c.args[0], c.args[1]
	case formMap:
		e.ptr, e.size, e.aux = c.args[0], c.args[1], c.args[3]
	case formPrimary:
		e.device = int16(c.args[1])
	case formTakes:
		e.ptr = c.args[0]
	}
	if c.failed {
		e.flags |= slotUndo
	}
	return e
}

// arraySize is the bytes of an array: width, height and depth, the format with
// the number of channels above it, and the levels of a mipmap, each half the
// size of the one before.
func arraySize(extent []uint64, format, levels uint64) uint64 {
	var element uint64
	switch uint32(format) {
	case 0x01, 0x08:
		element = 1
	case 0x02, 0x09, 0x10:
		element = 2
	case 0x03, 0x0a, 0x20:
		element = 4
	}
	dims := [3]uint64{}
	copy(dims[:], extent)
	return volume(dims, levels) * element * (format >> 32)
}

// volume is the number of elements of so many levels, each half the size of the one before.
func volume(dims [3]uint64, levels uint64) (total uint64) {
	for range min(levels, 64) {
		total += max(dims[0], 1) * max(dims[1], 1) * max(dims[2], 1)
		for i := range dims {
			if dims[i] > 1 {
				dims[i] /= 2
			}
		}
	}
	return total
}

// channelSize is the bytes of an element whose four channels have so many bits, two in
// each word.
func channelSize(bits []uint64) (bytes uint64) {
	for _, two := range bits {
		bytes += two&0xffffffff + two>>32
	}
	return bytes / 8
}
