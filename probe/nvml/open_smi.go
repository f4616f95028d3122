//go:build (linux || windows) && (nodl || !(amd64 || arm64))

package nvml

// openDriver asks nvidia-smi: this build loads no library.
func openDriver(o Options) (driver, error) {
	if o.SMI == "" {
		o.SMI = "nvidia-smi"
	}
	return openSMI(o)
}
