// Package stat has the statistics that the judgement of a run is made of:
// quantiles, lines, noise that is correlated in time, small linear systems, and
// series whose unknown values are NaN. Nothing in it knows what a number means.
package stat
