// Package apple says what macOS knows of memory: what the kernel charges a
// process ([Kernel]) and what graphics drivers count for the machine and for
// whom they work ([Registry]). It asks libSystem, IOKit and CoreFoundation
// through purego, without cgo and without starting a program.
//
// Asked are proc_pid_rusage, task_info by a name port, proc_pidinfo,
// proc_pidpath, host_statistics64 and the IORegistry. Never asked are
// task_for_pid, which may hang, and vmmap and leaks, which stop their target.
// Processes of other users answer with an error that is [ErrPermission]; root
// sees all.
//
// # What the numbers mean
//
// The footprint is what the kernel holds against a process when memory gets
// short: dirty pages, compressed ones too, and what the GPU uses of the host's
// memory on its behalf. The resident size misleads here in both directions:
// pages that were freed for reuse stay in it, and compressed ones leave it. The
// graphics ledger is what the kernel tags as graphics; parts of it that are not
// charged to the process stand apart. It is neither the inventory of Metal's
// objects nor the machine's figure of the IORegistry, whose keys Apple does not
// document: each is optional here.
//
// # How sure it is
//
// Reading (library.go, kernel.go, registry.go) and parsing are apart. Parsing
// is tested on bytes built from the published structures of XNU
// (bsd/sys/resource.h, osfmk/mach/task_info.h, bsd/sys/proc_info.h); reading
// runs on Linux against libraries in C that keep those structures and count
// every port and object that is not given back. None of the bytes were recorded
// on a Mac: `gpumem selftest` is what holds this package against a real one.
//
// With the build tag nodl nothing is loaded and everything is
// [ErrUnsupported].
package apple
