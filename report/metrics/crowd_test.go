package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

func TestConnectionsThatSayNothingOrHalfARequestKeepNoScrapeOut(t *testing.T) {
	t.Parallel()
	e, err := Listen("127.0.0.1:0", Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	conns := make([]net.Conn, 2*mostConns)
	for i := range conns {
		conn, err := net.Dial("tcp", e.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns[i] = conn
		if i%2 == 0 {
			fmt.Fprint(conn, "GET /metrics HTTP/1.1\r\nHos")
		}
	}
	client := &http.Client{Timeout: readBound - time.Second, // in which no silent connection ends by itself
		Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(e.URL())
	if err != nil {
		t.Fatalf("beside %d half-open connections: %v", 2*mostConns, err)
	}
	answer.Body.Close()
	open := 0
	for _, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	if open > mostConns {
		t.Errorf("%d half-open connections are kept, want at most %d", open, mostConns)
	}
}

func TestAConnectionThatIsAnsweredGivesItsPlaceToNobody(t *testing.T) {
	t.Parallel()
	c := newCrowd(1)
	first, other := net.Pipe()
	defer other.Close()
	c.state(first, http.StateNew)
	answered := make(chan struct{})
	request := (&http.Request{}).WithContext(c.context(t.Context(), first))
	c.counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		second, end := net.Pipe()
		defer end.Close()
		c.state(second, http.StateNew)
		if c.conns[first] == nil {
			t.Error("the connection is closed while its request is answered")
		}
		if c.conns[second] != nil {
			t.Error("there are more connections than may be")
		}
		close(answered)
	})).ServeHTTP(nil, request)
	<-answered
	c.state(first, http.StateClosed)
	if len(c.conns) != 0 {
		t.Errorf("%d connections are left on the table", len(c.conns))
	}
}
