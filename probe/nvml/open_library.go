//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

// openDriver loads the library, or asks nvidia-smi where that is demanded.
func openDriver(o Options) (driver, error) {
	if o.SMI != "" {
		return openSMI(o)
	}
	return openNative(o)
}
