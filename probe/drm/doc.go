// Package drm reads what the kernel's graphics drivers (AMD, Intel, Arm,
// Broadcom, Qualcomm and the accelerators) say of the memory that processes
// hold: the fdinfo of their open device files, and sysfs's totals by device.
//
// No library is loaded; everything is a file, and the root of the file system
// can be replaced, so all of it is tested on any machine. Finding the device
// files of a process means reading every link of its fd folder; an [Index]
// therefore remembers them, looks for new ones now and then, and otherwise
// only rereads the fdinfo files that it keeps open.
//
// A driver's client may be open in several descriptors and even in several
// processes (a compositor passes them on). Each process is charged for a
// client once; a device's total counts it once over all processes. NVIDIA's
// driver publishes nothing here: see package nvml. For ROCm processes see
// package kfd too, and take the greater of the two figures, never the sum:
// both count the same buffers.
package drm
