//go:build !darwin

package scan

func gpuLimits() (wired, buffers int64) { return Unknown, Unknown }
