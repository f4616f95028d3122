//go:build !linux

package soft_test

// resident is nil: the tests of the resident size read /proc.
var resident func() (int64, error)
