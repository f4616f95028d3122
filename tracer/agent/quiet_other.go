//go:build !unix

package agent

import (
	"errors"
	"net"
)

// newQuietSocket is for systems whose sockets can be taken out of the runtime's
// poller.
func newQuietSocket(*net.UnixConn) (quietSocket, error) { return nil, errors.ErrUnsupported }
