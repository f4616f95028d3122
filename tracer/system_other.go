//go:build !linux

package tracer

// kernelRelease is not asked for here.
func kernelRelease() string { return "" }

// commandLine is not known here.
func commandLine(int) []string { return nil }

// environment is not known here.
func environment(int) []string { return nil }
