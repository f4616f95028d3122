//go:build !linux

package agent

import (
	"errors"
	"time"
)

// ListenFor is Listen where processes have one file system.
func ListenFor(h Handler, lag time.Duration, _ int) (*Server, error) { return Listen(h, lag) }

// Put is for Linux.
func (s *Server) Put(string, []byte) (string, func() error, error) {
	return "", nil, errors.New("no file can be put beside the agent's socket on this system")
}
