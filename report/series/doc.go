// Package series has the rows of each process of a run as series that can be tested for
// growth.
//
// It takes what was recorded and promises that a caller may believe it: rows in order of
// time without a restart among them, pauses closed, cells that cannot be true made unknown
// (NaN, never 0); setting up, teardown and a wait for the end left out of what is judged,
// and kept in what is whole; bytes charged to the accounts by package account. It tests
// nothing for growth and names nobody's growth: a package above it does.
//
//	Track     one process's usable rows, by column
//	Accounts  the same rows by account, and by what tells whose a growth is (Key)
//	Process   both windows of a process, with the events about it and what was left
//	          over at its marks
//	Events    what a run recorded, found by process
//
// It is pure: no clock, no environment, the same rows give the same series. Bytes are
// bytes, times are seconds since the run's start, and a row has the same number in each
// series of an Accounts. What is made here is not changed by who made it; it may be read
// by several at once, and a caller that changes it has it for itself.
package series
