package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/probe"
)

func newDevicesCommand(std stdio) *cobra.Command {
	gpu := option.AutoGPU()
	return &cobra.Command{
		Use:   "devices",
		Short: "List the devices here, and why others are not",
		Args:  usage.Exactly(0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listDevices(cmd.Context(), std.out, gpu) },
	}
}

// listDevices prints one line a device, and one for each source of GPU bytes
// that is not here.
func listDevices(ctx context.Context, w io.Writer, gpu option.GPU) error {
	sources, err := gpu.Open(ctx)
	if err != nil {
		return err
	}
	defer sources.Close()
	table := plain.NewTable(plain.Left("DEVICE"), plain.Right("MEMORY"), plain.Right("USED"),
		plain.Left("WHAT"))
	var notes []string
	for _, d := range sources.Devices(ctx) {
		table.Add(naming.Device(&d), plain.Size(d.TotalBytes), plain.Size(d.UsedBytes), naming.DeviceLine(&d))
		for k := range d.Instances {
			p := &d.Instances[k]
			table.Add("  "+p.Name(), plain.Size(p.TotalBytes), plain.Size(p.UsedBytes), naming.Part(&d, k))
		}
		for _, k := range d.Kinds {
			table.Add("  "+k.Name, plain.Dash, plain.Size(k.Bytes), "")
		}
		for _, n := range d.Notes {
			notes = append(notes, fmt.Sprintf("%s: %s", naming.Device(&d), plain.Shown(n)))
		}
	}
	if err := addSoft(table); err != nil {
		return err
	}
	table.Add("host", memoryOf(), plain.Dash, "no device: the control run (--device host)")
	var b strings.Builder
	table.Write(&b, "")
	for _, a := range sources.Absent() {
		plain.Wrap(&b, "", "    ", naming.Absent(a, true))
	}
	if runtime.GOOS != "darwin" {
		b.WriteString("apple not available: Metal is part of macOS, this is " + runtime.GOOS + "\n")
	}
	for _, n := range append(notes, sources.Limits()...) {
		plain.Wrap(&b, "note: ", "      ", n)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func addSoft(table *plain.Table) error {
	d, err := soft.Open(soft.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	info := d.Info()
	table.Add("soft", plain.Size(int64(info.RecommendedWorkingSet)), plain.Dash,
		fmt.Sprintf("a device of this program on host memory, %d buffers at most", info.MaxBuffers))
	return nil
}

// memoryOf is the machine's memory.
func memoryOf() string {
	t, err := probe.ReadTotals(0)
	if err != nil {
		return plain.Dash
	}
	return plain.Size(t.Memory)
}
