package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/scan"
)

// Options say what to check.
type Options struct {
	// Self is the program file of the subjects: called with SubjectCommand, a
	// device's name and a size in bytes it has to Serve.
	Self    string
	Version string        // of gpumem, for the report
	Devices []string      // the names of package device; none means all that are here
	Size    int64         // in bytes, that each device allocates
	Sources *scan.Sources // nil asks nobody for GPU bytes
}

// Run checks the sources of numbers and each device. What is wrong stands in the
// report; the error is that ctx was done, since a part of a report could be taken
// for the whole.
func Run(ctx context.Context, o Options) (*Report, error) {
	t := &tester{report: newReport(o.Version), self: o.Self, size: o.Size, sources: o.Sources}
	t.checkSources(ctx)
	for _, name := range t.devices(ctx, o.Devices) {
		t.checkDevice(ctx, name)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted: the report would be a part only")
		}
	}
	return t.report, nil
}

// tester runs the checks and notes what they found.
type tester struct {
	report  *Report
	self    string // our own program file
	size    int64  // that each device allocates
	sources *scan.Sources
}

// checkSources says of each source of numbers whether it works here.
func (t *tester) checkSources(ctx context.Context) {
	r := t.report
	r.group("sources: who tells numbers here")
	totals, err := probe.ReadTotals(0)
	r.outcome("memory of the machine", err, plain.Size(totals.Memory)+", "+plain.Size(totals.Available)+
		" available")
	t.compare("memory of the machine, gopsutil", func() int64 {
		return totals.Memory
	}, func() (int64, error) { return host.Memory(ctx) })
	s, err := scan.Read(ctx, scan.Options{})
	if err == nil {
		text := units.Counted(len(s.Processes), "process", "processes")
		if s.Hidden > 0 {
			text += fmt.Sprintf(", %d of them may not be looked into", s.Hidden)
		}
		r.outcome("scan of the machine", nil, text)
	} else {
		r.outcome("scan of the machine", err, "")
	}
	if t.sources == nil {
		r.add(Check{Check: "GPU bytes by process", Result: Absent, Text: "not looked at: --gpu none"})
		return
	}
	for _, a := range t.sources.Absent() {
		r.add(Check{Check: a.Source, Result: Absent, Text: strings.TrimPrefix(a.Err.Error(), a.Source+": ")})
	}
	for _, d := range t.sources.Devices(ctx) {
		d.UUID = "" // it names the machine
		text := fmt.Sprintf("%s: %s, %s used of %s", naming.Device(&d), naming.DeviceLine(&d),
			plain.Size(d.UsedBytes), plain.Size(d.TotalBytes))
		result := OK
		if d.UsedBytes == scan.Unknown {
			result, text = Unknown, text+" (what is used is not told)"
		}
		r.add(Check{Check: d.Source, Result: result, Found: plain.Known(d.UsedBytes),
			Text: strings.Join(append([]string{text}, d.Notes...), "; ")})
	}
	for _, limit := range t.sources.Limits() {
		r.add(Check{Check: "limit", Result: Unknown, Text: limit})
	}
}

// devices are the names to check: the chosen ones, else all; cuda stands for
// each device that NVIDIA's library lists.
func (t *tester) devices(ctx context.Context, chosen []string) []string {
	if len(chosen) == 0 {
		chosen = []string{device.Host, device.Soft, device.CUDA, device.Apple}
	}
	n := 0
	if t.sources != nil {
		for _, d := range t.sources.Devices(ctx) {
			if d.Source == scan.NVML {
				n++
			}
		}
	}
	var names []string
	for _, name := range chosen {
		if name != device.CUDA || n < 2 {
			names = append(names, name)
			continue
		}
		for i := range n {
			names = append(names, device.CUDA+":"+strconv.Itoa(i))
		}
	}
	return slices.Compact(names)
}

// seen is the source that tells of the same device, "" when none does, or when
// this build has no drivers: then a driver that is not here is no news.
func (t *tester) seen(ctx context.Context, name string) string {
	if t.sources == nil || loadsNothing() {
		return ""
	}
	_, isCUDA := device.CUDAIndex(name)
	for _, d := range t.sources.Devices(ctx) {
		if isCUDA && d.Source == scan.NVML || name == device.Apple && d.Source == scan.Apple {
			return d.Source
		}
	}
	return ""
}

// settleLimit is how long an account may take to show what happened: drivers
// free after the last command, and collectors of garbage in their own time.
const settleLimit = 10 * time.Second
