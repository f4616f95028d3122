// Package cause names the causes of a growth that was judged: a missing
// autorelease pool, a pool that never trims, a reference cycle. It is pure: a
// Case in, causes out.
//
// The catalogue is data. Each Rule looks for one signature and names its cause
// only with the evidence for it. No rule calls another: what it takes precedence
// over stands in the catalogue, and Of applies it.
package cause
