// Package trend tells whether a series grows. It is pure: numbers in, a Growth
// out, with no clock, no names and nothing of the project but its statistics.
// The same numbers give the same bytes.
//
// Axes.Examine asks one series a Question. The stages, in order:
//
//	blocks   a series as at most 64 troughs; of a sawtooth, a cycle a block
//	adjust   what follows the program's load, or a slow wave, is taken out
//	fit      a line beside up to two jumps and a transient that dies out; its
//	         error under autocorrelation
//	hlt      the trend test of Harvey, Leybourne and Taylor (2007), with
//	         critical values that internal/eval/tables simulated
//	rival    the growth beside a rise that ended, and beside one or two leaps
//	growth   the conditions of growing, the bound of flat, else undecided
//	accrue   what a mere number of things must show besides
//	stopped  whether what filled up has stood still for long
//
// OfBlocks asks the same of blocks that somebody else made, such as the
// difference of two runs.
package trend
