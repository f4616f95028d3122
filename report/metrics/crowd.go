package metrics

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// crowd bounds the connections that are open at once. Where there are too many, the
// oldest of which no request is being answered is closed for a new one: a connection
// that says nothing, or its request a byte at a time, keeps nobody out.
type crowd struct {
	most int

	mu    sync.Mutex
	conns map[net.Conn]*caller
	count int64
}

// caller is one connection.
type caller struct {
	number   int64 // in the order of arrival
	answered int   // requests
}

func newCrowd(most int) *crowd { return &crowd{most: most, conns: map[net.Conn]*caller{}} }

// state is a hook of http.Server.
func (c *crowd) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.count++
		c.conns[conn] = &caller{number: c.count}
		if len(c.conns) > c.most {
			c.drop()
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.conns, conn)
	}
}

// drop closes the oldest connection without a request being answered. The lock is
// held.
func (c *crowd) drop() {
	var oldest net.Conn
	for conn, k := range c.conns {
		if k.answered == 0 && (oldest == nil || k.number < c.conns[oldest].number) {
			oldest = conn
		}
	}
	if oldest == nil {
		return
	}
	delete(c.conns, oldest)
	go oldest.Close() // that of TLS says goodbye first, and may wait
}

// callerKey is the key of the connection in a request's context.
type callerKey struct{}

// context is a hook of http.Server.
func (c *crowd) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, conn)
}

// counted notes which connections are being answered.
func (c *crowd) counted(next http.Handler) http.Handler {
	add := func(r *http.Request, n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		conn, _ := r.Context().Value(callerKey{}).(net.Conn)
		if k := c.conns[conn]; k != nil {
			k.answered += n
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		add(r, 1)
		defer add(r, -1)
		next.ServeHTTP(w, r)
	})
}
