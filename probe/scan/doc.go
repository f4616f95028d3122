// Package scan looks once at a whole machine: every process with its memory,
// what each GPU holds for it, whose it is and which build it runs; what GPUs
// hold for processes that are not here; and what the machine has left.
//
// A scan is plain data. What may not be seen is counted ([Scan.Hidden]) or
// [Unknown], never zero, and what went wrong is a warning in the scan. It reads
// files only, none of which makes the kernel walk a program's pages, so it
// costs some ten microseconds a process; threads of the kernel are counted and
// left out.
//
// GPU bytes come from [Sources], which joins the drivers' packages (nvml, drm,
// kfd) under one numbering of devices: NVIDIA's first, as nvidia-smi counts
// them, then the others by PCI address. The same sources serve the readings
// that are repeated, by [Sources.Reader].
//
// A process that shares pages with others counts them in full, as in package
// probe, so the footprints of all processes may add up to more than there is.
package scan
