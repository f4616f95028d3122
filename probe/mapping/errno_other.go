//go:build !linux

package mapping

func isNoProcess(error) bool { return false }
