//go:build !linux && !darwin

package ttmetal

import "net"

// peerPID is not known here: what a program calls itself is believed.
func peerPID(*net.UnixConn) int32 { return 0 }

func calls(int32, int32) bool { return false }
