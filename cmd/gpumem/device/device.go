package device

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/cuda"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/workloads"
)

// The devices of --device. CUDA may have an index, as in cuda:1.
const (
	Auto  = "auto"
	Soft  = "soft"
	CUDA  = "cuda"
	Apple = "apple"
	Host  = "host"
)

// MetalLibrary is the variable that names a library that has the Objective-C runtime and Metal in
// place of the system's: the tests' fake.
const MetalLibrary = "GPUMEM_METAL_LIBRARY"

// Order is the variable that makes the driver number devices as nvidia-smi and
// gpumem devices do, with PCI_BUS_ID.
const Order = "CUDA_DEVICE_ORDER"

// slowCUDA is slowDevice for a device that the work is sent to by another
// thread and that its memory is asked of: a batch takes up to 0.9 ms, when a
// dozen programs share the GPU.
const slowCUDA = 2 * time.Millisecond

// Names are all of them.
func Names() []string {
	return []string{Auto, Soft, CUDA, Apple, Host}
}

// CUDAIndex is the index of a name of the form cuda or cuda:N.
func CUDAIndex(name string) (int, bool) {
	if name == CUDA {
		return 0, true
	}
	digits, ok := strings.CutPrefix(name, CUDA+":")
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), ok && err == nil
}

// Opener opens the device of a name, which is one of Names or has a CUDAIndex; nil
// is the host, which is none.
func Opener(name string) func(workloads.DeviceFaults) (metal.Device, error) {
	if name == Host {
		return nil
	}
	index, real := CUDAIndex(name)
	return func(f workloads.DeviceFaults) (metal.Device, error) {
		softLag, cudaLag := time.Duration(0), time.Duration(0)
		if f.SlowDevice {
			softLag, cudaLag = slowDevice, slowCUDA
		}
		if name == Apple {
			d, err := apple.Open(apple.Options{
				Library: os.Getenv(MetalLibrary), MaxBuffers: f.MaxBuffers,
				Faults: metal.Faults{CompletionLag: cudaLag, NoAutorelease: f.NoAutorelease},
			})
			if err != nil {
				return nil, err // not a nil *Device in the interface
			}
			return d, nil
		}
		if real {
			d, err := cuda.Open(cuda.Options{Device: index, MaxBuffers: f.MaxBuffers,
				Faults: cuda.Faults{CompletionLag: cudaLag}})
			if err != nil {
				return nil, err // not a nil *Device in the interface
			}
			return d, nil
		}
		d, err := soft.Open(soft.Options{Faults: soft.Faults{CompletionLag: softLag}, Leaks: f.Leaks,
			MaxBuffers: f.MaxBuffers})
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// GPU is the device of a GPU that this system may have.
func GPU() string {
	if runtime.GOOS == "darwin" {
		return Apple
	}
	return CUDA
}

// slowDevice is the completion lag of DeviceFaults.SlowDevice: somewhat more
// than the bundled trainings need to encode a batch.
const slowDevice = 200 * time.Microsecond
