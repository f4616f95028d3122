package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// What a snapshot cannot have from samples, in the words of its frames.
const (
	netChange   = "net change between two samples (gpumem records no single allocations here)"
	unnamedSite = "no allocation site known"
	smallSites  = "smaller allocation sites"
)

// Bounds of a snapshot. PyTorch's viewer draws some ten thousand events.
const (
	maxVizRows  = 50_000
	maxVizSites = 100
)

// writeMemoryViz writes a snapshot of PyTorch's allocator, as
// torch.cuda.memory._dump_snapshot does: one expandable segment a device, whose
// live part is blocks by allocation site. Its trace tells how live and reserved
// memory went from sample to sample: growth is an alloc, shrinkage a free of
// what came last. Bytes are exact at each sample that is kept; blocks are not
// the program's, because samples do not tell those apart.
func writeMemoryViz(w io.Writer, run *record.Run) error {
	devices := vizDevices(run)
	if len(devices) == 0 {
		return fmt.Errorf("%w: the run has no device memory (%s, %s)", ErrNothing, record.ColLive,
			record.ColGPU)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	p := &vizWriter{pickler: newPickler(out), stacks: map[string]uint32{}}
	p.dict(func() {
		p.text("segments")
		held := slices.DeleteFunc(slices.Clone(devices), func(d *vizDevice) bool {
			return d.last().reserved == 0
		})
		p.list(len(held), func(i int) { p.segment(held[i]) })
		p.text("device_traces")
		p.list(devices[len(devices)-1].index+1, func(i int) { p.trace(find(devices, i)) })
		p.text("allocator_settings")
		p.dict(func() { p.pair("gpumem_export", 1) })
		p.text("external_annotations")
		p.list(0, nil)
	})
	p.op(opStop)
	return out.Flush()
}

func find(devices []*vizDevice, index int) *vizDevice {
	for _, d := range devices {
		if d.index == index {
			return d
		}
	}
	return &vizDevice{index: index}
}

// vizState is a device at one sample. micros is 0 when the run has no times.
type vizState struct{ micros, live, reserved int64 }

// vizDevice is one device's course and what is left at its end.
type vizDevice struct {
	index  int
	states []vizState
	sites  []record.Site // largest first, no more bytes than are live
}

func (d *vizDevice) base() int64 { return int64(d.index+1) << 44 }

func (d *vizDevice) last() vizState {
	if len(d.states) == 0 {
		return vizState{}
	}
	return d.states[len(d.states)-1]
}

// cuts are the addresses at which the live memory of one site ends and that of
// the next begins.
func (d *vizDevice) cuts() []int64 {
	var out []int64
	at := d.base()
	for _, s := range d.sites {
		at += s.Bytes
		out = append(out, at)
	}
	return out
}

// vizDevices reads the devices of a run: live and idle bytes of the pool, or
// the driver's count where nothing is known of a pool. What the sites hold is
// charged to the first device, since no site names its device.
func vizDevices(run *record.Run) []*vizDevice {
	rows := rowsOf(run)
	var all []*vizDevice
	for _, suffix := range suffixesOf(run) {
		live, idle := run.Samples.Column(record.ColLive+suffix), run.Samples.Column(record.ColIdle+suffix)
		if live == nil {
			live, idle = run.Samples.Column(record.ColGPU+suffix), nil
		}
		if live == nil {
			continue
		}
		index, _ := strconv.Atoi(strings.TrimPrefix(suffix, "@"))
		d := &vizDevice{index: index, states: vizStates(run, rows, live, idle)}
		if len(d.states) > 0 {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b *vizDevice) int { return a.index - b.index })
	if len(all) > 0 {
		all[0].sites = vizSites(sitesOf(run, nil), all[0].last().live)
	}
	return all
}

// maxVizDevice bounds the number of a device: the traces are a list by number.
const maxVizDevice = 1024

// suffixesOf are the endings of the device columns: "" alone, or "@N" each.
func suffixesOf(run *record.Run) []string {
	found := map[string]bool{}
	for _, name := range run.Samples.Names() {
		base, device, ok := record.SplitDevice(name)
		if base != record.ColLive && base != record.ColGPU || ok && device >= maxVizDevice {
			continue
		}
		found[strings.TrimPrefix(name, base)] = true
	}
	if len(found) > 1 {
		delete(found, "") // the sum of the others
	}
	var out []string
	for s := range found {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func vizStates(run *record.Run, rows []int, live, idle []float64) []vizState {
	var out []vizState
	start := int64(0)
	if !run.Meta.Start.IsZero() {
		start = run.Meta.Start.UnixMicro()
	}
	times := run.Samples.Column(record.ColTime)
	for _, i := range rows {
		if record.IsUnknown(live[i]) || live[i] < 0 {
			continue
		}
		s := vizState{live: int64(live[i]), reserved: int64(live[i])}
		if idle != nil && idle[i] > 0 {
			s.reserved += int64(idle[i])
		}
		if times != nil {
			s.micros = max(start+int64(times[i]*1000), 1)
		}
		out = append(out, s)
	}
	return thinned(out)
}

// thinned keeps the lowest and the highest state of each stretch, and the last.
func thinned(all []vizState) []vizState {
	if len(all) <= maxVizRows {
		return all
	}
	stretch := (2*len(all) + maxVizRows - 1) / maxVizRows
	var out []vizState
	for part := range slices.Chunk(all[:len(all)-1], stretch) {
		low, high := 0, 0
		for i, s := range part {
			if s.live < part[low].live {
				low = i
			}
			if s.live >= part[high].live {
				high = i
			}
		}
		out = append(out, part[min(low, high)])
		if low != high {
			out = append(out, part[max(low, high)])
		}
	}
	return append(out, all[len(all)-1])
}

// vizSites are the sites that fill the live memory, and what fills the rest.
func vizSites(sites []record.Site, live int64) []record.Site {
	sites = slices.Clone(sites)
	slices.SortStableFunc(sites, func(a, b record.Site) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	var out []record.Site
	left, small := live, int64(0)
	for i, s := range sites {
		s.Bytes = min(s.Bytes, left)
		switch {
		case s.Bytes <= 0:
			continue
		case i >= maxVizSites:
			small += s.Bytes
		default:
			out = append(out, s)
		}
		left -= s.Bytes
	}
	if small > 0 {
		out = append(out, record.Site{Site: smallSites, Bytes: small})
	}
	if left > 0 {
		out = append(out, record.Site{Site: unnamedSite, Bytes: left})
	}
	return out
}
