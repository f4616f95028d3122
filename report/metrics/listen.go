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
	// Hosts are names by which an endpoint on the loopback may be asked for,
	// beside localhost, addresses of the loopback and the one it listens at.
	Hosts []string
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
	// atOnce scrapes are made at a time; each takes a copy of all series. Others
	// wait, waiting of them at most and for waitBound.
	atOnce    = 4
	waiting   = 256
	waitBound = 10 * time.Second
	// mostConns bounds the connections open at once, half-open ones among them.
	mostConns = 512
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
		cert, err := a.certificate(time.Now())
		if err != nil {
			lis.Close()
			return nil, err
		}
		lis = tls.NewListener(lis, &tls.Config{Certificates: []tls.Certificate{cert},
			MinVersion: tls.VersionTLS12})
	}
	mux := http.NewServeMux()
	scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	mux.Handle("GET /metrics", a.guard(queue(scrape, atOnce, waiting, waitBound)))
	e := &Endpoint{server: newServer(a.named(addr, mux)), scheme: "http", addr: lis.Addr(),
		done: make(chan struct{})}
	if a.CertFile != "" {
		e.scheme = "https"
	}
	go func() {
		defer close(e.done)
		e.server.Serve(lis) //nolint:errcheck // it ends by Close
	}()
	return e, nil
}

// newServer serves a handler within the bounds.
func newServer(h http.Handler) *http.Server {
	crowd := newCrowd(mostConns)
	return &http.Server{Handler: crowd.counted(h), ReadTimeout: readBound, WriteTimeout: writeBound,
		MaxHeaderBytes: mostHeader, ConnState: crowd.state, ConnContext: crowd.context,
		ErrorLog: log.New(io.Discard, "", 0)} // a scanner's handshakes are nobody's news
}

// certificate reads the certificate and its key. One that no client would take at
// that time is refused: who scrapes would see nothing but failures.
func (a Access) certificate(now time.Time) (tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
	if err != nil {
		return cert, fmt.Errorf("load certificate: %w", err)
	}
	switch leaf := cert.Leaf; {
	case leaf == nil:
	case now.After(leaf.NotAfter):
		return cert, fmt.Errorf("load certificate: %s expired on %s; renew it", a.CertFile,
			leaf.NotAfter.UTC().Format(time.DateTime+" UTC"))
	case now.Before(leaf.NotBefore):
		return cert, fmt.Errorf("load certificate: %s is valid only from %s on; look at this machine's clock",
			a.CertFile, leaf.NotBefore.UTC().Format(time.DateTime+" UTC"))
	}
	return cert, nil
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
	if loopback(host) {
		return nil
	}
	if a.CertFile == "" || a.Token == "" {
		return fmt.Errorf(
			"listen for scrapes at %s: others reach that address: it needs a certificate, its key and a "+
				"token", addr)
	}
	return nil
}

// loopback reports whether only this machine reaches a host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// named answers requests for the names that the endpoint has, when it listens on
// the loopback. A page in a browser on this machine reaches the loopback by a
// name of its own that it has resolve to it; the name then stands in Host.
func (a Access) named(addr string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(addr) // check took it apart before
	if !loopback(own) {
		return next
	}
	allowed := map[string]bool{plainHost(own): true}
	for _, name := range a.Hosts {
		allowed[plainHost(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := plainHost(r.Host); !loopback(host) && !allowed[host] {
			http.Error(w, fmt.Sprintf("host %q is not served here; --metrics-host allows one", host),
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// plainHost is a host as names are compared: without port, brackets and final
// dot, in lower case.
func plainHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// queue has as many requests served at a time as atOnce says, and as many wait
// for their turn as waiting says, until bound has passed. The others are told to
// come again.
func queue(next http.Handler, atOnce, waiting int, bound time.Duration) http.Handler {
	turns, places := make(chan struct{}, atOnce), make(chan struct{}, atOnce+waiting)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		full := func() {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			full()
			return
		}
		late := time.NewTimer(bound)
		defer late.Stop()
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			next.ServeHTTP(w, r)
		case <-late.C:
			full()
		case <-r.Context().Done():
		}
	})
}

// guard asks for the token, when there is one.
func (a Access) guard(next http.Handler) http.Handler {
	if a.Token == "" {
		return next
	}
	want := sha256.Sum256([]byte(a.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The scheme may be written in either case (RFC 9110, 11.1).
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
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
