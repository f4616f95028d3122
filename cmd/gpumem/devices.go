package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
)

func newDevicesCommand(std stdio) *cobra.Command {
	gpu := defaultGPUFlags()
	return &cobra.Command{
		Use:   "devices",
		Short: "List the devices here, and why others are not",
		Args:  exactly(0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listDevices(cmd.Context(), std.out, gpu) },
	}
}

// listDevices prints one line a device, and one for each source of GPU bytes
// that is not here.
func listDevices(ctx context.Context, w io.Writer, gpu gpuFlags) error {
	sources, err := gpu.open(ctx)
	if err != nil {
		return err
	}
	defer sources.Close()
	table := textTable{columns: []column{{"DEVICE", false, 0}, {"MEMORY", true, 0}, {"USED", true, 0}, {"WHAT", false, 0}}}
	var notes []string
	for _, d := range sources.Devices(ctx) {
		table.add(deviceName(sources, &d), sizeText(d.TotalBytes), sizeText(d.UsedBytes), deviceText(sources, &d))
		for k := range d.Instances {
			p := &d.Instances[k]
			table.add("  "+p.Name(), sizeText(p.TotalBytes), sizeText(p.UsedBytes), instanceTitle(&d, k))
		}
		for _, n := range d.Notes {
			notes = append(notes, fmt.Sprintf("%s: %s", deviceName(sources, &d), shown(n)))
		}
	}
	if err := addSoft(&table); err != nil {
		return err
	}
	table.add("host", memoryOf(), dash, "no device: the control run (--device host)")
	var b strings.Builder
	table.write(&b, "")
	for _, a := range sources.Absent() {
		wrapped(&b, "", "    ", absentText(a, true))
	}
	if runtime.GOOS != "darwin" {
		b.WriteString("apple not available: Metal is part of macOS, this is " + runtime.GOOS + "\n")
	}
	for _, n := range append(notes, sources.Limits()...) {
		wrapped(&b, "note: ", "      ", n)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// deviceName is what --device calls it, or the number that columns and
// diagnose give it where no workload runs on such devices.
func deviceName(s *scan.Sources, d *scan.Device) string {
	switch {
	case d.Source == scan.NVML:
		return "cuda:" + strconv.Itoa(d.Index)
	case d.Source == scan.Apple && d.Index == 0:
		return appleDevice
	}
	return "gpu:" + strconv.Itoa(d.Index)
}

func deviceText(s *scan.Sources, d *scan.Device) string {
	text := strings.TrimSpace(d.Name + " · " + d.Driver)
	if d.Source == scan.NVML {
		text = strings.TrimSpace(text + " " + s.DriverVersion())
	}
	if d.PCI != "" {
		text += " · " + d.PCI
	}
	if d.UUID != "" {
		text += " · " + d.UUID
	}
	return shown(text)
}

func addSoft(table *textTable) error {
	d, err := soft.Open(soft.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	info := d.Info()
	table.add("soft", sizeText(int64(info.RecommendedWorkingSet)), dash,
		fmt.Sprintf("a device of this program on host memory, %d buffers at most", info.MaxBuffers))
	return nil
}

// memoryOf is the machine's memory.
func memoryOf() string {
	t, err := probe.ReadTotals(0)
	if err != nil {
		return dash
	}
	return sizeText(t.Memory)
}
