//go:build !unix

package record

// withoutWaiting has no meaning here: opening a file never waits.
const withoutWaiting = 0
