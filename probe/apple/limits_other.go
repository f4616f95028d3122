//go:build !darwin

package apple

func gpuLimits() (wired, buffers int64) { return Unknown, Unknown }
