// Package capture sees what an unmodified program asks of the CUDA driver:
// allocations and frees with addresses, sizes and call stacks, and the events,
// streams, graphs and modules that it keeps. It sees the driver's level, so
// the segments of a caching allocator, not the tensors in them.
//
// # Ways in
//
//   - ModePreload: an interposer (inject/gpumem.c, embedded as built by
//     scripts/build_interposer.sh) is put into LD_PRELOAD. It is the real
//     driver's place that it takes in the PLT, in dlsym and in
//     cuGetProcAddress, so every runtime is seen, a static libcudart, too.
//   - ModeAudit: the same library in LD_AUDIT. It also sees libraries opened
//     with RTLD_DEEPBIND; binding symbols costs the program a little more.
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
// # What is written
//
// Each program leaves PID.N.ring in the capture directory, N counting the
// programs that a PID ran one after another (exec), and, once it called the
// driver, PID.N.ring.maps. The ring is a mapped file: what was recorded
// survives any death of the program. A Reader takes the files of a program that
// ended away once it has read them. Nobody waits for the reader; events that
// were overwritten before they were read are counted (record.ColCaptureLost), and from then
// on the live table may miss or keep some: a warning says so.
//
// # Columns
//
// Cells has the columns named by the constants Col…. They are known only for a
// process that was seen: a process without a ring has no cells. Bytes are as
// requested, not as the driver rounds them.
package capture
