package ttmetal

import (
	"net"
	"slices"
	"syscall"

	"github.com/gpumem/gpumem/probe/procfs"
)

// peerPID is the process at the other end, as the kernel noted it when that
// connected; 0 is not known.
func peerPID(conn *net.UnixConn) int32 {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	var cred *syscall.Ucred
	if err := raw.Control(func(fd uintptr) {
		cred, _ = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || cred == nil {
		return 0
	}
	return cred.Pid
}

// calls reports whether the process peer may call itself pid: a process in a
// pid namespace of its own has several numbers.
func calls(peer, pid int32) bool {
	status, err := proc.Read(int(peer), "status")
	return err == nil && slices.Contains(procfs.ParseNSpid(status), int(pid))
}
