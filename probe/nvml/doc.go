// Package nvml reads what NVIDIA's driver says of its devices and of the
// memory that processes hold on them.
//
// The management library (libnvidia-ml.so.1, nvml.dll) is loaded late, by
// name, through purego, so that a program without a GPU never touches it and
// the module builds with CGO_ENABLED=0. With the build tag nodl nothing is
// loaded and the same calls are answered by running nvidia-smi, which lists
// compute processes only and knows neither MIG instances nor peaks.
//
// Two rules hold everywhere. A number that the driver does not give is
// [Unknown], never zero: the driver's own "not available" (2^64-1) becomes
// Unknown, a refused call becomes Unknown with a note. And the library only
// observes: it creates no context, so it never appears in the lists it reads.
//
// Structure layouts are those of NVML 13.3 on 64-bit machines, decoded from
// bytes (layout.go); which of several versions of a call a library has is
// found out by looking its symbols up, and a missing one is an error value.
package nvml
