// Package importer makes a record.Run of a recording that another tool left:
// a saved TL_MEM_TRACE log or its "Memory: … MB" lines, an RMM log, a log of
// nvidia-smi, the event log of an allocation server, a PyTorch memory
// snapshot, a JAX memory profile, what memray writes as CSV and JSON.
//
// Sniff says by the first bytes what a file is; Read reads it, also one
// compressed with gzip; Join makes one run of several states of one moment.
// Nothing in a file is executed and nothing in it is trusted: memory is bounded
// by what must be kept, a bad line is a record.Warning with its number and
// costs only itself, and no input makes the package panic. What a recording
// does not say stays unknown; what the importer had to assume stands in the
// run's warnings.
//
// The runs have no Start and no PID unless the file has them. Meta.Versions
// holds "recording" (the kind of the file), Meta.Flags the options that shaped
// the reading. A run without times has no column t_ms.
package importer
