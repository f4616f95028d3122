package scan

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/nvml"
)

// The types of devices and charges are those of all sources.
type (
	Charge   = probe.Charge
	Device   = probe.Device
	Instance = probe.Instance
)

// part is one part of a split device.
type part struct{ device, gpu, compute int }

// charges is what all devices hold, for whomever.
type charges struct {
	list []Charge
	at   map[onDevice]int // in list
	// outer are charges of pids that are known to be of another namespace.
	outer []Charge
	// held is the sum by device of what it holds for all processes.
	held []int64
	// parts is the sum by part of a split device, clients how many processes
	// reach a device through NVIDIA's multi-process service.
	parts   map[part]int64
	clients []int
	// silent are devices that did not answer: nothing is known of them.
	silent []bool
	// unknown are processes of which a source could tell nothing.
	unknown  map[int]bool
	warnings []string
}

// charges asks every source for everybody's bytes; those pids are the
// processes here, for the source that must be asked of each.
func (s *Sources) charges(ctx context.Context, here []int) charges {
	n := len(s.devices)
	c := charges{
		at: map[onDevice]int{}, held: make([]int64, n), clients: make([]int, n), silent: make([]bool, n),
		parts: map[part]int64{}, unknown: map[int]bool{},
	}
	for i := range s.members {
		c.take(&s.members[i], s.members[i].source.Charges(ctx, here))
	}
	return c
}

// take takes in what a source says.
func (c *charges) take(m *member, h probe.Holdings) {
	c.warnings = append(c.warnings, h.Warnings...)
	for k, d := range h.Devices {
		at, ok := m.place(k)
		if !ok {
			continue
		}
		c.silent[at.index] = c.silent[at.index] || d.Silent
		if at.first {
			c.held[at.index], c.clients[at.index] = d.Bytes, d.MPSClients
		}
		for _, p := range d.Parts {
			c.parts[part{at.index, p.GPU, p.Compute}] = p.Bytes
		}
	}
	for _, n := range h.Charges {
		if n.Device == probe.AnyDevice {
			c.unknown[n.PID] = true
		} else if at, ok := m.place(n.Device); ok {
			n.Device = at.index
			c.add(n, at.first)
		}
	}
	for _, n := range h.Outer {
		if at, ok := m.place(n.Device); ok {
			n.Device = at.index
			c.outer = append(c.outer, n)
			if !at.first {
				c.held[at.index] = probe.Add(c.held[at.index], n.Bytes())
			}
		}
	}
}

// add adds a charge. The sum of a device is that of the first source that tells
// of it; what another one raises a process to is in it too.
func (c *charges) add(n Charge, first bool) {
	key, more := onDevice{n.PID, n.Device}, n.Bytes()
	if k, known := c.at[key]; known {
		before := c.list[k]
		c.list[k] = before.Merge(n)
		more = c.list[k].Bytes() - max(before.Bytes(), 0)
	} else {
		c.at[key] = len(c.list)
		c.list = append(c.list, n)
	}
	if !first {
		c.held[n.Device] = probe.Add(c.held[n.Device], more)
	}
}

// Charges is what the devices hold for all processes, those of other namespaces
// included; what a source cannot tell of a process is left out. When ctx is done a
// driver that does not answer is given up. It may be called beside a Reader.
func (s *Sources) Charges(ctx context.Context) []Charge {
	if !s.Here() {
		return nil
	}
	all := s.charges(ctx, nil)
	return append(all.list, all.outer...)
}

// charge hands the charges to the processes of a scan.
func (s *Scan) charge(ctx context.Context, o Options) {
	if !o.Sources.Here() {
		for i := range s.Processes {
			s.Processes[i].GPUUnknown = true
		}
		return
	}
	here := make([]int, len(s.Processes))
	for i := range here {
		here[i] = s.Processes[i].PID
	}
	all := o.Sources.charges(ctx, here)
	s.Warnings = append(s.Warnings, all.warnings...)
	s.Warnings = append(s.Warnings, o.Sources.Limits()...)
	s.Devices = o.Sources.Devices(ctx)
	byPID := make(map[int][]Charge, len(all.list))
	for _, c := range all.list {
		byPID[c.PID] = append(byPID[c.PID], c)
	}
	silent := slices.Contains(all.silent, true)
	for i := range s.Processes {
		p := &s.Processes[i]
		p.GPU = byPID[p.PID]
		delete(byPID, p.PID)
		p.GPUUnknown = silent || all.unknown[p.PID]
	}
	if o.Sources.foreign && len(byPID) > 0 && len(o.PIDs) == 0 {
		// The driver lists pids of the host: one of them may be any of ours.
		for i := range s.Processes {
			p := &s.Processes[i]
			p.GPUUnknown = p.GPUUnknown || len(p.GPU) == 0
		}
	}
	if len(o.PIDs) == 0 {
		s.elsewhere(ctx, o, byPID, all.outer)
	}
	s.balance(all.held)
	s.divide(&all)
}

// balance is each device's used bytes without what is charged to anybody.
func (s *Scan) balance(held []int64) {
	other := make([]int64, len(s.Devices))
	for _, e := range s.Elsewhere {
		other[e.Device] = probe.Add(other[e.Device], e.LocalBytes)
	}
	for i := range s.Devices {
		d := &s.Devices[i]
		d.ElsewhereBytes, d.HeldBytes = other[i], held[i]
		if held[i] == Unknown || other[i] == Unknown {
			continue
		}
		d.HeldBytes = max(held[i]-other[i], 0)
		if d.UsedBytes != Unknown && !d.Integrated {
			d.UnchargedBytes = max(d.UsedBytes-held[i], 0)
		}
	}
}

// divide tells what the parts of split devices hold, and who comes through the
// multi-process service.
func (s *Scan) divide(all *charges) {
	for i := range s.Devices {
		d := &s.Devices[i]
		d.MPSClients = all.clients[i]
		for k := range d.Instances {
			if p := &d.Instances[k]; !all.silent[i] {
				p.HeldBytes = all.parts[part{i, p.GPU, p.Compute}]
			}
		}
	}
}

// elsewhere lists the charges of pids that were no process here. A process
// that came or went between the two looks is no news, so the drivers are asked
// again.
func (s *Scan) elsewhere(ctx context.Context, o Options, byPID map[int][]Charge, outer []Charge) {
	proc := filepath.Join(rootOf(o.Root), "proc")
	here := func(pid int) bool {
		_, err := os.Lstat(filepath.Join(proc, strconv.Itoa(pid)))
		return err == nil
	}
	for pid := range byPID {
		if here(pid) {
			delete(byPID, pid)
		}
	}
	for _, c := range outer {
		s.Elsewhere = append(s.Elsewhere, Elsewhere{Charge: c, Namespace: true})
	}
	if len(byPID) == 0 {
		return
	}
	second := o.Sources.charges(ctx, nil)
	var inner *nvml.PIDMap // a pass over all processes, so only when needed
	for _, c := range second.list {
		if _, missing := byPID[c.PID]; !missing || here(c.PID) {
			continue
		}
		e := Elsewhere{Charge: c, Namespace: o.Sources.foreign}
		if inner == nil {
			var err error
			if inner, err = nvml.LoadPIDMap(o.Root); err != nil {
				s.Warnings = append(s.Warnings, err.Error())
				inner = &nvml.PIDMap{}
			}
		}
		e.Candidates = inner.Candidates(c.PID)
		e.Namespace = e.Namespace || len(e.Candidates) > 0
		s.Elsewhere = append(s.Elsewhere, e)
	}
	slices.SortFunc(s.Elsewhere, func(a, b Elsewhere) int {
		if a.Device != b.Device {
			return a.Device - b.Device
		}
		return a.PID - b.PID
	})
}
