// Package procfs reads and parses Linux's /proc. It is the only parser of these
// files in the project.
//
// Parsing is apart from reading: a Parse function takes the bytes of a file, does
// no input or output, and does not panic on any input. Those on the path of a
// sample (ParseStatm, ParseMemory, ParseStat) allocate nothing; what they return
// in bytes is a part of their input. The rest may allocate.
//
// All of it builds on every system, so that recorded files can be read anywhere;
// there is something to read on Linux only. A figure that a file does not tell
// is [Unknown], never zero.
package procfs
