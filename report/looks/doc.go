// Package looks has what was found by looking at a running program again and again: what
// each container got longer by, what each generation of the allocator's blocks left, and
// what each place asked the driver for.
//
//	Course      the looks at one path of a container: whether it got longer at each of
//	            them, how fast its bytes came, and whether it has a bound
//	Generation  the blocks that were handed out between two looks, and what lives of them
//	SiteCourse  what one place held of the driver's at each look
//	Creep       what a place got more of, block by block and evenly
//
// It promises to tell one look from another: what is told twice is one, and what a look at
// the end repeats is none. It weighs nothing against an account's growth, but for the bounds
// that all share who do (LeastExplained, MostExplained). Bytes are bytes, times are seconds
// since the run's start. It is pure; the events that it reads are not changed.
package looks
