// Package driven says what a growth is driven by: which unit of the program's work,
// or which two, it is counted in, and what one costs.
//
// A growth that rises with the steps of the program, with its command buffers, with
// new shapes, with allocations or with time alone points at different code. Find fits
// it on each of them and on every two, none at a negative cost, and takes the best;
// of those that are as good, the closest to the cause.
//
// Everything here is a function of its arguments: no clock, no environment.
package driven
