package metrics

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Access is who may read the metrics. The zero value is everybody who reaches
// the address.
type Access struct {
	CertFile, KeyFile string // TLS, both or none
	Token             string // of the header "Authorization: Bearer …"
}

// Endpoint serves /metrics until Close.
type Endpoint struct {
	server *http.Server
	scheme string
	addr   net.Addr
	done   chan struct{}
}

// Bounds of one scrape.
const (
	readBound  = 5 * time.Second
	writeBound = 30 * time.Second
	mostHeader = 16 << 10
)

// Listen serves the collectors at addr ("127.0.0.1:9850", port 0 for any free
// one). An address that others than this machine reach needs TLS and a token.
func Listen(addr string, a Access, collectors ...prometheus.Collector) (*Endpoint, error) {
	if err := a.check(addr); err != nil {
		return nil, err
	}
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for scrapes: %w", err)
	}
	if a.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
		if err != nil {
			lis.Close()
			return nil, fmt.Errorf("load certificate: %w", err)
		}
		lis = tls.NewListener(lis, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.guard(promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4,
	})))
	e := &Endpoint{
		server: &http.Server{Handler: mux, ReadTimeout: readBound, WriteTimeout: writeBound, MaxHeaderBytes: mostHeader,
			ErrorLog: log.New(io.Discard, "", 0)}, // a scanner's handshakes are nobody's news
		scheme: "http", addr: lis.Addr(), done: make(chan struct{}),
	}
	if a.CertFile != "" {
		e.scheme = "https"
	}
	go func() {
		defer close(e.done)
		e.server.Serve(lis) //nolint:errcheck // it ends by Close
	}()
	return e, nil
}

// check refuses an open door.
func (a Access) check(addr string) error {
	if (a.CertFile == "") != (a.KeyFile == "") {
		return errors.New("listen for scrapes: a certificate needs its key, and a key its certificate")
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen for scrapes: %w", err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	if a.CertFile == "" || a.Token == "" {
		return fmt.Errorf("listen for scrapes at %s: others reach that address: it needs a certificate, its key and a token", addr)
	}
	return nil
}

// guard asks for the token, when there is one.
func (a Access) guard(next http.Handler) http.Handler {
	if a.Token == "" {
		return next
	}
	want := sha256.Sum256([]byte(a.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// URL is where it is scraped.
func (e *Endpoint) URL() string { return e.scheme + "://" + e.addr.String() + "/metrics" }

// Close ends serving; scrapes under way get a second.
func (e *Endpoint) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = e.server.Close()
	}
	<-e.done
	return err
}
