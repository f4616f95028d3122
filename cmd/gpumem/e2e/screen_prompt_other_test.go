//go:build !linux

package e2e

// writeBesidePrompt is a part for Linux alone: the test that plays it is.
func writeBesidePrompt() {}
