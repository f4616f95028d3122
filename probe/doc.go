// Package probe says what the operating system knows of a process: its memory
// by kind, its footprint, its children, and what the machine and its control
// groups have left. The drivers' side, GPU bytes of a process, is in the
// packages below this one.
//
// On Linux it reads files of /proc that it keeps open, which costs a few
// microseconds and no allocation a sample, and which cannot confuse a process
// with a later one of the same pid: the files of a dead process stay dead.
// On macOS it asks the kernel by one call for RSS and Footprint and by another
// for the rest (package apple), and starts no program either. Elsewhere gopsutil
// is asked, and what it cannot tell is Unknown.
//
// # What the numbers mean on Linux
//
// RSS is the resident size: VmRSS of /proc/PID/status, the sum of Anon, File
// and Shmem. Anon is private memory (heaps, stacks), File is pages of mapped
// files (program code, libraries, memory-mapped data), Shmem is shared memory,
// which is where drivers put pinned host memory. Swap is anonymous memory that
// was written to swap (VmSwap). Footprint is Anon + Shmem + Swap: what the machine
// gets back when the process ends, and what swapping does not make smaller. Pages of
// mapped files are no part of it: they belong to the page cache, which drops them
// when memory is needed. What a process has changed in a shared mapping of a file,
// and the system has not written yet, does belong to it: Process.Dirty tells it, by a
// walk over the pages, and who reads both adds it. Linux before 4.5 does not tell them
// apart, and the footprint is RSS + Swap there. Pages that several processes share count
// in full for each of them. The proportional split (PSS) would part them, but it walks
// the page tables: 90 ms for 8 GiB of small pages, with a lock of the program's held.
//
// The kernel keeps these counts per processor and adds them up roughly on many
// versions: a count can be off by some dozen pages for each processor.
//
// # What the numbers mean on macOS
//
// Footprint and Peak are what the kernel charges the process, which is what
// Activity Monitor shows as its memory and what the system ends a process for:
// dirty and compressed pages and what the GPU uses of the host's memory on its
// behalf. RSS misleads there, so judge by Footprint. Anon and File are the
// resident pages that are anonymous and of files; Swap is what the compressor
// holds, on disk or not; Shmem is not told. Processes of other users may not be
// read unless by root: Open fails with os.ErrPermission.
package probe
