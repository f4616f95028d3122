// Package console prints the formats of the investigations, byte for byte
// where those give them: the memory check around a run, the allocation and
// release lines, the statement trace, the memory log and the epoch lines.
//
// MB in these formats means MiB, with two decimals, as it did there. A Printer
// writes whole lines under a lock, so one Printer serves all goroutines of a
// program; which formats are on is decided once, from the environment.
package console
