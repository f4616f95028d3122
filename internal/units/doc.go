// Package units prints numbers for people: bytes in IEC units, counts, shares,
// durations, and an estimate with its ends in one unit. It is the only place
// that does, so that one number reads the same in a sentence, a table, a chart
// and on the screen. It imports nothing of the project, and every room may
// import it: the people's side of the numbers is no room's own.
//
// A value has about three significant digits and no exponent, a small whole one
// no decimals: 4 MiB, 51.2 KiB, 1.30 GiB, 159 MiB. What nobody measured is NaN
// here and [Unknown] in print, never zero. A minus is [Minus]. The functions are
// pure and may be called from several goroutines.
package units
