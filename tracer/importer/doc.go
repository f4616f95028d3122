// Package importer makes a record.Run of a recording that another tool left:
// a saved TL_MEM_TRACE log or its "Memory: … MB" lines, an RMM log, a log of
// nvidia-smi, a PyTorch memory snapshot.
//
// Sniff says by the first bytes what a file is; Read reads it. Nothing in a
// file is executed and nothing in it is trusted: memory is bounded by what must
// be kept, a bad line is a record.Warning with its number and costs only
// itself, and no input makes the package panic. What a recording does not say
// stays unknown; what the importer had to assume stands in the run's warnings.
//
// The runs have no Start and no PID unless the file has them. Meta.Flags holds
// "import" (the kind of the file) and the options that shaped the reading.
package importer
