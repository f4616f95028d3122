package scan

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/probe/nvml"
)

// charges is what all devices hold, for whomever.
type charges struct {
	list []Charge
	// outer are charges of pids that are known to be of another namespace.
	outer []Charge
	// held is the sum by device of its own memory, each buffer once where the
	// driver tells; Unknown when a figure is missing.
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
	c := charges{held: make([]int64, n), clients: make([]int, n), silent: make([]bool, n), parts: map[part]int64{}, unknown: map[int]bool{}}
	s.chargeNVML(ctx, &c)
	s.chargeDRM(&c)
	s.chargeKFD(&c)
	s.apple.charge(here, &c)
	s.tt.charge(&c)
	return c
}

// both adds two figures, Unknown unless both are known.
func both(a, b int64) int64 {
	if a == Unknown || b == Unknown {
		return Unknown
	}
	return a + b
}

// add adds a charge, the instances of one device together. A figure that is
// not known makes the sum unknown.
func (c *charges) add(n Charge) {
	for i := range c.list {
		old := &c.list[i]
		if old.PID != n.PID || old.Device != n.Device {
			continue
		}
		old.LocalBytes = both(old.LocalBytes, n.LocalBytes)
		return
	}
	c.list = append(c.list, n)
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
		p.GPUUnknown = silent || all.unknown[p.PID] || p.Hidden && o.Sources.drm != nil
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
		other[e.Device] = both(other[e.Device], e.LocalBytes)
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
