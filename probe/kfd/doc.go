// Package kfd reads what AMD's compute driver (the kernel fusion driver
// below ROCm) says of the memory that processes hold, out of sysfs.
//
// The figures are the kernel's own, need no library, and are by process and
// GPU. A GPU is named by a gpu_id that means nothing elsewhere; the topology
// tells its PCI address, which is what the other sources use. PIDs are those
// of the first namespace, also inside a container.
//
// A ROCm process also appears in package drm, with the same buffers: take the
// greater of the two figures, never the sum.
package kfd
