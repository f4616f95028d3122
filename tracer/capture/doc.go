// Package capture sees what an unmodified program asks of the CUDA driver:
// allocations and frees with addresses, sizes and call stacks, and the events,
// streams, graphs and modules that it keeps. It sees the driver's level, so
// the segments of a caching allocator, not the tensors in them.
//
// # Ways in
//
//   - ModePreload: an interposer (inject, whose gpumem.c says more, embedded as built by
//     scripts/build_interposer.sh) is put into LD_PRELOAD. It is the real
//     driver's place that it takes in the PLT, in dlsym and in
//     cuGetProcAddress, so every runtime is seen, a static libcudart, too. What a
//     library binds that is opened with RTLD_DEEPBIND is made to point to it at the
//     next look at a function (inject/deep.c); what such a library calls while it is
//     being opened is missed, and Past says of which the calls pass by to the end.
//   - ModeAudit: the same library in LD_AUDIT. It sees libraries opened with
//     RTLD_DEEPBIND from their first call on; binding symbols costs the program a little more.
//     It needs glibc 2.35. A function whose address is taken in a library that
//     is opened with RTLD_DEEPBIND stays unseen: the loader asks nobody then.
//   - ModeEBPF: probes on the driver's file (Attach). It works for a process
//     that runs already and for static programs, needs privileges, and costs
//     tens of microseconds a call. What was allocated before is unknown.
//
// # Use
//
// Prepare writes the library and says what to add to the program's
// environment. Open reads what the program and its descendants record, Poll
// takes in what is new, Cells gives a row's columns, Sites the survivors, and
// Why explains a process of which nothing was seen.
//
// # Where the interposer lies
//
// In /var/tmp/gpumem-UID/HASH, or the first other place that nobody else can
// change and that is not mounted noexec. It stays there: a daemon that the
// program leaves behind loads it into what it starts long after the run. The
// path has $LIB in it, so that 32-bit programs get a library that does nothing,
// and musl's loader finds none. Where a program starts another that could not
// reach the file (another root, mount namespace or user), the interposer in the
// first takes itself out of LD_PRELOAD and LD_AUDIT of the second (inject/exec.c).
//
// # What is written
//
// Each program that comes near the driver, and the first of a run in any case,
// leaves PID.N.ring in the capture directory, N counting the programs with a
// ring that a PID ran one after another (exec), and, once it called the driver,
// PID.N.ring.maps. A program that is linked to the driver has its ring from the
// start, others from their first look at one of its functions. The ring is a
// mapped file: what was recorded survives any death of the program. Where a
// limit on files leaves less room it has fewer slots, or there is none. A Reader
// takes the files of a program that ended away once it has read them. Nobody
// waits for the reader; events that were overwritten before they were read are
// counted (record.ColCaptureLost), and from then on the live table may miss or keep some: a
// warning says so.
//
// The directory of a run that was killed is removed by the next (package
// internal/leftover).
//
// # The heap of Python
//
// The same library samples, for some seconds and when the agent asks for it, what Python's
// allocators hand out, and NumPy's for the data of arrays (inject/heap.c): of what is left of a
// window's first half at its end the agent tells the lines of Python that asked for it. It
// takes no part in anything outside of such a window.
//
// # The blocks of PyTorch's allocators
//
// The driver's calls tell where a pool took a segment, which is not where what lies in it was asked
// for. So for some seconds, when the agent asks for it, the library also samples the blocks that PyTorch's
// allocators for devices hand out (inject/blocks.c): it stands between them and PyTorch's profiler, which
// they tell each block. At the end of such a window what it changed is as it was.
//
// # Pools and HIP
//
// The driver's pools of stream-ordered memory tell what they have reserved and what of
// it is used. A thread of the program asks them, after a call of its own that
// succeeded, at most every 10 ms at an allocation or a free, and every .1 ms where
// it waits for the device. Nothing is asked by probes. With EnvPurge the pools are
// trimmed when the program exits; Trimmed has the receipt. Functions of HIP's runtime
// (libamdhip64) are followed as the driver's are, as far as its documentation says:
// no AMD device was there to try it on.
//
// # Columns
//
// Cells has the columns named by the constants Col…. They are known only for a
// process that was seen: a process without a ring has no cells. Bytes are as
// requested, not as the driver rounds them.
package capture
