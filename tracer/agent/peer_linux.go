package agent

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/procfs"
)

// peer is who is at the other end of a socket; pid 0 is not known.
type peer struct{ pid int }

// peerOf asks the kernel, which noted it when the peer connected. Other users
// than our own and root are refused.
func peerOf(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return peer{}, err
	}
	if credErr != nil {
		return peer{}, fmt.Errorf("ask for the peer of the socket: %w", credErr)
	}
	if own := os.Geteuid(); own != 0 && cred.Uid != 0 && int(cred.Uid) != own {
		return peer{}, fmt.Errorf("it belongs to user %d", cred.Uid)
	}
	return peer{pid: int(cred.Pid)}, nil
}

// is reports whether the process knows itself by pid: a process in a pid
// namespace of its own has several.
func (p peer) is(pid int) bool {
	if p.pid == 0 || p.pid == pid {
		return true
	}
	status, err := procfs.Dir("").Read(p.pid, "status")
	if err != nil {
		return false
	}
	ids := procfs.ParseNSpid(status)
	return len(ids) > 1 && ids[len(ids)-1] == pid
}
