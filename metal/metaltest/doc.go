// Package metaltest is the conformance suite of metal.Device: what every
// driver promises, as tests. A driver is done when
//
//	metaltest.Run(t, open, metaltest.Abilities{…})
//
// passes, with -race as well.
//
// What not every driver can do or show is an ability that the driver's test
// declares. The suite checks the declaration where it can, and logs what it
// could not test for the want of an ability; it never skips.
//
// The package also owns the float64 references of every kernel in package
// kernels; a kernel without one fails. It composes with the standard testing
// package alone.
package metaltest
