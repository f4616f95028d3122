package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// sniffTorch looks for a pickle whose first strings are those of a snapshot:
// its keys "segments" and "device_traces" come in either order.
func sniffTorch(head []byte) bool {
	if len(head) < 2 || head[0] != opProto || head[1] < 2 || head[1] > 5 {
		return false
	}
	for _, key := range []string{"segments", "device_traces", "segment_type", "allocator_settings"} {
		if bytes.Contains(head, []byte(key)) {
			return true
		}
	}
	return false
}

// torchReader interprets a snapshot of PyTorch's caching allocator.
type torchReader struct {
	*pickle
	run     *record.Run
	devices map[uint64]*torchDevice
	sites   *survivors
	frames  map[value]string // site by what stands in the list of frames
	pending []torchEvent     // taken, and not yet in a list
	traces  map[value]*torchTrace
	// exported is set for a snapshot that gpumem export wrote: its blocks are
	// made of samples and count nothing.
	exported bool
}

// torchDevice is the allocator's state on one device at the snapshot.
type torchDevice struct {
	index            uint64
	live, idle       float64
	liveCount        float64
	idleCount        float64
	stuck, largest   float64 // idle beside live blocks; the largest idle block
	segments, events int
}

// readTorch reads torch.cuda.memory._dump_snapshot's file: accounts and
// survivors at its end, and from its ring of events how they came about.
func readTorch(in *bufio.Reader, run *record.Run) error {
	r := &torchReader{pickle: newPickle(in), run: run, devices: map[uint64]*torchDevice{},
		sites: newSurvivors(), frames: map[value]string{}, traces: map[value]*torchTrace{}}
	r.takeDict, r.takeItems = r.takeEvent, r.takeEvents
	root, err := r.load()
	if errors.Is(err, errPacked) {
		return fmt.Errorf("read pickle: %w", err)
	}
	if err != nil {
		return fmt.Errorf(
			"read pickle: %w; is the file complete, and written by torch.cuda.memory._dump_snapshot?", err)
	}
	segments, ok := r.get(root, "segments")
	if !ok {
		// The first releases dumped the list of segments itself.
		if root.kind() != kindList {
			return errors.New("a pickle, but no snapshot of PyTorch's allocator")
		}
		segments = root
	}
	for _, s := range r.list(segments) {
		r.segment(s)
	}
	r.memo, r.sparse = pages[value]{}, nil // from here on memory is for the rows
	settings, _ := r.get(root, "allocator_settings")
	_, r.exported = r.get(settings, "gpumem_export")
	traces, _ := r.get(root, "device_traces")
	r.series(r.list(traces))
	r.survivors()
	r.notes(root)
	return nil
}

func (r *torchReader) device(index uint64) *torchDevice {
	d := r.devices[index]
	if d == nil {
		d = &torchDevice{index: index}
		r.devices[index] = d
	}
	return d
}

// count is the number behind a key; 0 when there is none, which for the sizes
// read here means nothing to add.
func (r *torchReader) count(dict value, key string) float64 {
	v, _ := r.get(dict, key)
	return r.amount(v)
}

func (r *torchReader) amount(v value) float64 {
	n, ok := r.pickle.number(v)
	if !ok || n > 1<<60 {
		return 0
	}
	return float64(n)
}

// segment adds one reservation from the driver and its blocks.
func (r *torchReader) segment(s value) {
	if s.kind() != kindDict {
		return
	}
	index, _ := r.get(s, "device")
	n, _ := r.pickle.number(index)
	if n >= maxDevices {
		return
	}
	d := r.device(n)
	d.segments++
	blocks, _ := r.get(s, "blocks")
	live, idle := 0.0, 0.0
	for _, b := range r.list(blocks) {
		size := r.count(b, "size")
		state, _ := r.get(b, "state")
		if strings.HasPrefix(r.string(state), "active") { // active_allocated, or waiting for a stream
			live += size
			d.liveCount++
			r.survivor(b, s, size)
			continue
		}
		idle += size
		d.idleCount++
		d.largest = max(d.largest, size)
	}
	d.live += live
	d.idle += idle
	if live > 0 {
		d.stuck += idle
	}
}

// maxDevices bounds the devices of a snapshot.
const maxDevices = 1024

// survivor charges a live block to the line that allocated it.
func (r *torchReader) survivor(block, segment value, size float64) {
	frames, ok := r.get(block, "frames")
	if !ok {
		frames, _ = r.get(segment, "frames")
	}
	site := r.site(frames)
	if site == "" {
		site = noStack
	}
	r.sites.add(site, int64(size), 1)
}

// site is the frame of a stack that a reader knows: the innermost of Python's
// outside of torch itself, else the innermost of Python's, else the innermost
// of C++ that is not the allocator's own.
func (r *torchReader) site(frames value) string {
	key := r.content(frames)
	if s, ok := r.frames[key]; ok {
		return s
	}
	best, rank := "", 0
	for _, f := range r.list(frames) {
		site, here := r.frame(f)
		if here > rank {
			best, rank = site, here
		}
		if rank == frameOwn {
			break
		}
	}
	if frames.kind() == kindList || frames.kind() == kindTuple {
		r.frames[key] = best
	}
	return best
}

// Ranks of frames, the better the greater.
const (
	frameNative = 1 + iota
	frameTorch
	frameOwn
)

// allocatorFrames begin the names of functions between an allocation and what
// asked for it.
var allocatorFrames = [...]string{"torch::unwind", "torch::CapturedTraceback", "torch::cuda", "c10::",
	"at::detail::", "at::native::empty"}

func (r *torchReader) frame(f value) (site string, rank int) {
	get := func(key string) string {
		v, _ := r.get(f, key)
		return r.string(v)
	}
	file, name := get("filename"), get("name")
	if !strings.HasSuffix(file, ".py") {
		for _, prefix := range allocatorFrames {
			if strings.HasPrefix(name, prefix) {
				return "", 0
			}
		}
		return name, frameNative
	}
	site = strings.TrimSpace(fmt.Sprintf("%s:%.0f %s", file, r.count(f, "line"), name))
	if strings.Contains(file, "/torch/") {
		return site, frameTorch
	}
	return site, frameOwn
}

func (r *torchReader) survivors() {
	t := 0.0
	if ms := r.run.Samples.Column(record.ColTime); len(ms) > 0 {
		t = ms[len(ms)-1]
	}
	addSites(r.run, r.sites, t)
}

// sorted are the devices by index.
func (r *torchReader) sorted() []*torchDevice {
	all := make([]*torchDevice, 0, len(r.devices))
	for _, d := range r.devices {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *torchDevice) int { return int(a.index) - int(b.index) })
	return all
}

// notes say what the snapshot shows beside its accounts, and what it cannot.
func (r *torchReader) notes(root value) {
	events := 0
	for _, d := range r.sorted() {
		events += d.events
		if d.segments == 0 {
			continue
		}
		note(r.run,
			"device %d: %.0f MiB reserved in %d segments, %.0f MiB live, %.0f MiB idle, of which %.0f MiB "+
				"lie beside live blocks and cannot be given back; the largest idle block has %.1f MiB",
			d.index, (d.live+d.idle)/mib, d.segments, d.live/mib, d.idle/mib, d.stuck/mib, d.largest/mib)
	}
	if events == 0 {
		oneMoment(r.run, "a snapshot without events")
	}
	note(r.run, "a snapshot has no driver counter: memory outside PyTorch's allocator is not seen")
	settings, _ := r.get(root, "allocator_settings")
	if v, ok := r.get(settings, "trace_alloc_overflowed"); ok && v == pickleTrue {
		note(r.run, "the ring of events overflowed: it begins late")
	}
}
