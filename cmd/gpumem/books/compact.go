package books

import "github.com/gpumem/gpumem/cmd/gpumem/plain"

// compactServer is a sample of a server: DRAM of all its devices and its buffers. The
// small memories of the cores are left out.
func compactServer(n int, l *Sample) string {
	var bytes int64
	for _, d := range l.Devices {
		for _, k := range d.Kinds {
			if k.Name == "DRAM" {
				bytes += int64(k.Used)
			}
		}
	}
	return plain.CompactLine(n, &bytes, l.Active)
}
