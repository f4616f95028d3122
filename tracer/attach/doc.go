// Package attach brings a text of Python into an interpreter that runs already.
//
// # The promise
//
//   - The process computes, prints and returns what it would without us. Its main
//     thread stands still for about a millisecond; the other threads do not stop.
//   - Every register goes back as it was, those of vectors included, on every path:
//     success, refusal, timeout, and an error of our own.
//   - No process is left stopped. The kernel lets go of it when gpumem ends, also
//     when gpumem is killed: it is seized without PTRACE_O_EXITKILL.
//   - Nothing is needed in the file system of the process, but a file for the interface
//     for debuggers, which the caller puts there.
//   - A process that cannot be entered is left alone, and the error is a *Refusal,
//     whose text is one line: why, and what to try.
//
// # How
//
// The interpreter has a queue of calls for its main thread. Python stops that
// thread, has it map some memory by one system call, writes the text there, and has
// it call Py_AddPendingCall(PyRun_SimpleString, text). Both functions are exported
// by every CPython, by the executable or by libpython. The thread then goes on where
// it was, and calls the text between two of its bytecodes. As long as it is inside a
// call of C that does not return, the text waits; Entry.Inside says where that is.
//
// A system call that the stop interrupts is begun again by the kernel, with the time
// that was left. Few return EINTR instead (epoll_wait, sigtimedwait, semop); Python
// itself repeats these.
//
// # Python 3.14
//
// CPython 3.14 has an interface for debuggers (PEP 768): a table at the beginning of its
// state says where the path of a script is to be written, and which flag has the main
// thread run it. Where the caller can put a file, that is used: nothing is stopped, no
// register is changed, another tracer is no obstacle, and a request that has not been
// followed can be taken back. The flag is one bit of a byte that the program changes too,
// and there is no way from outside to set one bit alone: what the program sets between
// our reading and our writing, within about a microsecond, would be lost until it sets
// it again. Python's own sys.remote_exec does the same.
//
// # The window
//
// Registers are changed for two short stretches, some tens of microseconds each: the
// system call, and the calls of the interpreter's functions, which run on memory of
// ours and never on the stack of the program. If gpumem is killed by SIGKILL within
// such a stretch, the kernel lets the thread run on with the changed registers, and
// the process ends by SIGSEGV: there is no way to have the kernel put them back.
// Signals that gpumem can catch do not end it there.
//
// The package runs on Linux, x86-64 and arm64. On arm64 it was compiled and not run.
// Its functions may be called by several goroutines at once.
package attach
