package metrics

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues certificates for names.
type authority struct {
	about  *x509.Certificate
	secret *ecdsa.PrivateKey
	pool   *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{about: about, secret: secret, pool: x509.NewCertPool()}
	a.pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

// issue writes a certificate for an address that is valid from one time to another, as
// seen from now, and its key.
func (a *authority) issue(t *testing.T, address string, from, to time.Duration) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(from),
		NotAfter: time.Now().Add(to), IPAddresses: []net.IP{net.ParseIP(address)}}
	der, err := x509.CreateCertificate(rand.Reader, about, a.about, &secret.PublicKey, a.secret)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestACertificateThatNoClientWouldTakeIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	good, goodKey := a.issue(t, "127.0.0.1", -time.Hour, time.Hour)
	expired, expiredKey := a.issue(t, "127.0.0.1", -2*time.Hour, -time.Hour)
	early, earlyKey := a.issue(t, "127.0.0.1", time.Hour, 2*time.Hour)
	for want, files := range map[string][2]string{
		"expired on":             {expired, expiredKey},
		"valid only from":        {early, earlyKey},
		"private key does not":   {good, expiredKey},
		"no such file":           {good, goodKey + "x"},
		"failed to find any PEM": {os.DevNull, goodKey},
	} {
		e, err := Listen("127.0.0.1:0", Access{CertFile: files[0], KeyFile: files[1], Token: "x"})
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error is %v, want one line with %q", err, want)
		}
	}
}

func TestAClientIsAnsweredOnlyUnderTheNameAndByTheAuthorityThatItTrusts(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	scrape := func(address string, trusted *x509.CertPool, at time.Time) error {
		cert, key := a.issue(t, address, -time.Hour, time.Hour)
		e, err := Listen("127.0.0.1:0", Access{CertFile: cert, KeyFile: key, Token: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: trusted, Time: func() time.Time { return at }}}}
		answer, err := client.Get(e.URL())
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	now := time.Now()
	if err := scrape("127.0.0.1", a.pool, now); err != nil {
		t.Errorf("a real certificate: %v", err)
	}
	if err := scrape("127.0.0.2", a.pool, now); err == nil || !strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("a certificate of another address: %v", err)
	}
	if err := scrape("127.0.0.1", stranger.pool, now); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("a certificate of an unknown authority: %v", err)
	}
	if err := scrape("127.0.0.1", a.pool, now.Add(90*time.Minute)); err == nil ||
		!strings.Contains(err.Error(), "expired") {
		t.Errorf("a certificate that expired while it was served: %v", err)
	}
}
