package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/tracer"
)

// deviceHelp is for the flag.
const deviceHelp = "device of a workload: auto (cuda or apple where a device answers, else soft), soft, " +
	"cuda, cuda:N, apple or host (no device, the control run)"

// checkDevice refuses a name that is no device.
func checkDevice(name string) error {
	if _, ok := device.CUDAIndex(name); ok || slices.Contains(device.Names(), name) {
		return nil
	}
	return usagef("--device %s: no such device%s", name, usage.Suggest(name, device.Names()))
}

// askCommand is the hidden command that ends well when this system's own GPU
// answers.
const askCommand = "__gpu"

func newAskCommand() *cobra.Command {
	return &cobra.Command{
		Use: askCommand, Hidden: true, Args: usage.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if device.GPU() == device.CUDA {
				return cuda.Check(cuda.Options{})
			}
			d, err := apple.Open(apple.Options{}) // runs a kernel: a virtual machine's GPU may do nothing
			if err != nil {
				return err
			}
			return d.Close()
		},
	}
}

// askLimit is how long a driver may take to answer: a healthy one takes well
// under a second, the first time after a boot a few.
const askLimit = 10 * time.Second

// effectiveDevice is the device that a name means here. A process of its own
// asks the driver, so that its memory is never in the tracer.
func effectiveDevice(ctx context.Context, self, name string) string {
	if name != device.Auto {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if exec.CommandContext(ctx, self, askCommand).Run() == nil {
		return device.GPU()
	}
	return device.Soft
}

// chooseDevice tells a workload the device that it runs on.
func chooseDevice(ctx context.Context, f *workloadFlags, t target, cfg *tracer.Config) {
	if t.workload == nil {
		return
	}
	if name := effectiveDevice(ctx, t.command[0], f.device); name != f.device {
		f.device = name
		cfg.Command = append(slices.Clone(cfg.Command), "--device="+name)
	}
	if _, real := device.CUDAIndex(f.device); !real {
		return
	}
	if _, set := os.LookupEnv(device.Order); !set {
		cfg.Env = append(os.Environ(), device.Order+"=PCI_BUS_ID")
	}
}
