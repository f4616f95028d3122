//go:build !linux && !windows

package nvml

import "runtime"

// openDriver refuses: NVIDIA ships no driver for this system. An nvidia-smi
// that the caller names is asked all the same (a remote wrapper, say).
func openDriver(o Options) (driver, error) {
	if o.SMI != "" {
		return openSMI(o)
	}
	return nil, &Error{Op: "load the library", Device: -1, is: ErrUnsupported,
		Text: "NVIDIA has no driver for " + runtime.GOOS}
}
