//go:build !linux

package main

// writeBesidePrompt is a part for Linux alone: the test that plays it is.
func writeBesidePrompt() {}
