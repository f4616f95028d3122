package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/workloads"
)

// The devices of --device. cudaDevice may have an index, as in cuda:1.
const (
	autoDevice  = "auto"
	softDevice  = "soft"
	cudaDevice  = "cuda"
	appleDevice = "apple"
	hostDevice  = "host"
)

// deviceHelp is for the flag.
const deviceHelp = "of a workload: auto (cuda or apple where a device answers, else soft), soft, cuda, cuda:N, apple or host (no device, the control run)"

// metalLibrary names a library that has the Objective-C runtime and Metal in
// place of the system's: the tests' fake.
const metalLibrary = "GPUMEM_METAL_LIBRARY"

// deviceOrder makes the driver number devices as nvidia-smi and gpumem devices
// do.
const deviceOrder = "CUDA_DEVICE_ORDER"

// slowCUDA is slowDevice for a device that the work is sent to by another
// thread and that its memory is asked of: a batch takes up to 0.9 ms, when a
// dozen programs share the GPU.
const slowCUDA = 2 * time.Millisecond

// checkDevice refuses a name that is no device.
func checkDevice(name string) error {
	if _, ok := cudaIndex(name); ok || slices.Contains(deviceNames(), name) {
		return nil
	}
	return usagef("--device %s: no such device%s", name, suggest(name, deviceNames()))
}

func deviceNames() []string {
	return []string{autoDevice, softDevice, cudaDevice, appleDevice, hostDevice}
}

// cudaIndex is the index of a name of the form cuda or cuda:N.
func cudaIndex(name string) (int, bool) {
	if name == cudaDevice {
		return 0, true
	}
	digits, ok := strings.CutPrefix(name, cudaDevice+":")
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), ok && err == nil
}

// opener opens the device of that name, which was checked; nil is the host.
func opener(name string) func(workloads.DeviceFaults) (metal.Device, error) {
	if name == hostDevice {
		return nil
	}
	index, real := cudaIndex(name)
	return func(f workloads.DeviceFaults) (metal.Device, error) {
		softLag, cudaLag := time.Duration(0), time.Duration(0)
		if f.SlowDevice {
			softLag, cudaLag = slowDevice, slowCUDA
		}
		if name == appleDevice {
			d, err := apple.Open(apple.Options{
				Library: os.Getenv(metalLibrary), MaxBuffers: f.MaxBuffers,
				Faults: metal.Faults{CompletionLag: cudaLag, NoAutorelease: f.NoAutorelease},
			})
			if err != nil {
				return nil, err // not a nil *Device in the interface
			}
			return d, nil
		}
		if real {
			d, err := cuda.Open(cuda.Options{Device: index, MaxBuffers: f.MaxBuffers, Faults: cuda.Faults{CompletionLag: cudaLag}})
			if err != nil {
				return nil, err // not a nil *Device in the interface
			}
			return d, nil
		}
		d, err := soft.Open(soft.Options{Faults: soft.Faults{CompletionLag: softLag}, Leaks: f.Leaks, MaxBuffers: f.MaxBuffers})
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// askCommand is the hidden command that ends well when this system's own GPU
// answers.
const askCommand = "__gpu"

func newAskCommand() *cobra.Command {
	return &cobra.Command{
		Use: askCommand, Hidden: true, Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if gpuDevice() == cudaDevice {
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

// gpuDevice is the device of a GPU that this system may have.
func gpuDevice() string {
	if runtime.GOOS == "darwin" {
		return appleDevice
	}
	return cudaDevice
}

// askLimit is how long a driver may take to answer: a healthy one takes well
// under a second, the first time after a boot a few.
const askLimit = 10 * time.Second

// effectiveDevice is the device that a name means here. A process of its own
// asks the driver, so that its memory is never in the tracer.
func effectiveDevice(ctx context.Context, self, name string) string {
	if name != autoDevice {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if exec.CommandContext(ctx, self, askCommand).Run() == nil {
		return gpuDevice()
	}
	return softDevice
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
	if _, real := cudaIndex(f.device); !real {
		return
	}
	if _, set := os.LookupEnv(deviceOrder); !set {
		cfg.Env = append(os.Environ(), deviceOrder+"=PCI_BUS_ID")
	}
}
