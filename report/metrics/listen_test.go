package metrics

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// vouchedFor writes a certificate for 127.0.0.1 and its key, and returns who vouches
// for it.
func vouchedFor(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	a := newAuthority(t)
	cert, key = a.issue(t, "127.0.0.1", -time.Hour, time.Hour)
	return cert, key, a.pool
}

func TestBeyondTheLoopbackOnlyTLSWithTheTokenIsAnswered(t *testing.T) {
	t.Parallel()
	cert, key, pool := vouchedFor(t)
	e, err := Listen("0.0.0.0:0", Access{CertFile: cert, KeyFile: key, Token: "secret"}, NewCollector(host{1, 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, port, err := net.SplitHostPort(e.addr.String())
	if err != nil || !strings.HasPrefix(e.URL(), "https://") {
		t.Fatalf("%s, %v", e.URL(), err)
	}
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
		MaxVersion: tls.VersionTLS11}}}
	for name, c := range map[string]struct {
		client *http.Client
		scheme string
		bearer string
		code   int // 0 is no answer
		body   string
	}{
		"the token":      {trusting, "https", "Bearer secret", http.StatusOK, "gpumem_account_bytes{"},
		"no token":       {trusting, "https", "", http.StatusUnauthorized, "a bearer token is needed"},
		"another token":  {trusting, "https", "Bearer secre", http.StatusUnauthorized, "a bearer token is needed"},
		"a longer token": {trusting, "https", "Bearer secret2", http.StatusUnauthorized, "a bearer token is needed"},
		"another scheme": {trusting, "https", "Basic secret", http.StatusUnauthorized, "a bearer token is needed"},
		"plain": {http.DefaultClient, "http", "Bearer secret", http.StatusBadRequest,
			"HTTP request to an HTTPS server"},
		"an unknown issuer":   {http.DefaultClient, "https", "Bearer secret", 0, ""},
		"TLS 1.1, the token":  {old, "https", "Bearer secret", 0, ""},
		"another path, token": {trusting, "https", "Bearer secret", http.StatusNotFound, ""},
	} {
		path := "/metrics"
		if strings.HasPrefix(name, "another path") {
			path = "/"
		}
		request, err := http.NewRequest(http.MethodGet, c.scheme+"://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", c.bearer)
		answer, err := c.client.Do(request)
		if err != nil {
			if c.code != 0 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.code || !strings.Contains(string(body), c.body) {
			t.Errorf("%s: %s %.200s, want %d and %q", name, answer.Status, body, c.code, c.body)
		}
		if c.code != http.StatusOK && strings.Contains(string(body), "gpumem_") {
			t.Errorf("%s: series are in the answer", name)
		}
	}
}

func TestADoorThatWouldStandOpenIsNotOpened(t *testing.T) {
	t.Parallel()
	cert, key, _ := vouchedFor(t)
	for want, c := range map[string]struct {
		addr string
		Access
	}{
		"0.0.0.0:0: others reach":     {"0.0.0.0:0", Access{}},
		":0: others reach":            {":0", Access{}},
		"[::]:0: others reach":        {"[::]:0", Access{Token: "x"}},
		"10.0.0.1:0: others reach":    {"10.0.0.1:0", Access{CertFile: cert, KeyFile: key}},
		"a certificate needs its key": {"127.0.0.1:0", Access{CertFile: cert}},
		"load certificate":            {"127.0.0.1:0", Access{CertFile: key, KeyFile: key}},
		"missing port in address":     {"127.0.0.1", Access{}},
	} {
		e, err := Listen(c.addr, c.Access)
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s with %+v: %v, want %q", c.addr, c.Access, err, want)
		}
	}
}
