package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/metal/soft"
)

func newDevicesCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "devices",
		Short: "List the devices here, and why others are not",
		Args:  exactly(0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { return listDevices(std.out) },
	}
}

// listDevices prints one line a device.
func listDevices(w io.Writer) error {
	d, err := soft.Open(soft.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	info := d.Info()
	_, err = fmt.Fprintf(w, "%-8s here: host memory, working set %.1f GiB, %d buffers at most\n",
		"soft", float64(info.RecommendedWorkingSet)/(1<<30), info.MaxBuffers)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%-8s here: no device, the control run (--device host)\n", "host")
	return err
}
