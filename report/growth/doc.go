// Package growth is the growth of each series of a process: what package trend says of it,
// settled by what else is known of the series.
//
// Examine promises to test every series once, by the same conditions, and then to decide on
// those that the trend leaves open where something that was recorded beside them tells: what
// comes back to its level, what stands still at the end, code that was loaded, a heap that its
// language collects, containers that got no longer, generations of blocks that left nothing.
// It finds no owner and no class, and takes no growth for the answer.
//
//	Growths   the growth of each series; Amounts is what counts of it
//	Examined  a process with its growths, the driver's handles that grow, and what the
//	          ages of its allocator's blocks say
//
// Amounts are bytes, or things where the series counts things, over the window of the growth.
// It is pure: the same process gives the same growths.
package growth
