//go:build unix

package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// metricsURL is where a gpumem whose stderr goes to a file publishes.
func metricsURL(t *testing.T, path string) string {
	t.Helper()
	pattern := regexp.MustCompile(`metrics on (\S+)\n`)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if m := pattern.FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	t.Fatal("gpumem does not say where its metrics are")
	return ""
}

// scrape is what is published at a moment, empty when nobody answers.
func scrape(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

// awaitSeries scrapes until a line matches each pattern.
func awaitSeries(t *testing.T, url string, patterns ...string) {
	t.Helper()
	var last string
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		last = scrape(url)
		found := 0
		for _, p := range patterns {
			if regexp.MustCompile(`(?m)^` + p + `$`).MatchString(last) {
				found++
			}
		}
		if found == len(patterns) {
			return
		}
	}
	t.Fatalf("not all of %q came:\n%s", patterns, last)
}

// background starts gpumem with its output in a file, and ends it with the test.
func background(t *testing.T, args ...string) (output string, cmd *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	output = filepath.Join(dir, "output")
	out, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd = exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() //nolint:errcheck // it was killed, or has ended
	})
	return output, cmd
}

func TestARunIsPublishedWhileItGoesOn(t *testing.T) {
	t.Parallel()
	output, cmd := background(t, "run", "-q", "--out", "run", "--interval", "20ms", "--metrics", "127.0.0.1:0",
		"nqueens", "--fault", "uncut-graph", "--epochs", "1000000")
	awaitSeries(t, metricsURL(t, output),
		`gpumem_account_bytes{account="live",device="0",pid="\d+",process="nqueens"} [1-9].*`,
		`gpumem_live_buffers{device="0",pid="\d+",process="nqueens"} [1-9].*`,
		`gpumem_verdict{pid="\d+",process="nqueens",verdict="app-leak"} 1(\.0)?`,
		`gpumem_verdict_confidence{pid="\d+",process="nqueens"} 0\.[6-9].*`,
		`gpumem_growth_bytes_per_second{account="live",bound="low",pid="\d+",process="nqueens"} [1-9].*`,
		`gpumem_samples_total [1-9].*`, `gpumem_samples_missed_total \d.*`)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // its program was interrupted
}

func TestAnAttachedProcessIsPublished(t *testing.T) {
	t.Parallel()
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		sleep.Process.Kill()
		sleep.Wait() //nolint:errcheck // it was killed
	}()
	pid := fmt.Sprint(sleep.Process.Pid)
	output, cmd := background(t, "attach", "-q", "--out", "run", "--interval", "10ms", "--metrics", "127.0.0.1:0", pid)
	awaitSeries(t, metricsURL(t, output),
		`gpumem_account_bytes{account="host",device="",pid="`+pid+`",process="sleep"} [1-9].*`,
		`gpumem_verdict{pid="`+pid+`",process="sleep",verdict="none"} [01](\.0)?`)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		text, _ := os.ReadFile(output)
		t.Errorf("gpumem attach ends with %v\n%s", err, text)
	}
}

func TestAMachineIsWatchedAsAServiceWithoutATerminal(t *testing.T) {
	t.Parallel()
	pid := fmt.Sprint(os.Getpid())
	output, cmd := background(t, "watch", pid, "--gpu", "none", "--interval", "10ms", "--metrics", "127.0.0.1:0")
	awaitSeries(t, metricsURL(t, output),
		`gpumem_account_bytes{account="host",device="",pid="`+pid+`",process=".*test.*"} [1-9].*`,
		`gpumem_verdict{pid="`+pid+`",process=".*test.*",verdict="undecided"} [01](\.0)?`,
		`gpumem_growth_bytes_per_second{account="host",bound="high",pid="`+pid+`",process=".*test.*"} .*`,
		`gpumem_processes 1(\.0)?`)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		text, _ := os.ReadFile(output)
		t.Errorf("gpumem watch ends with %v\n%s", err, text)
	}
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"takes no PID":             {"watch", "--all", pid},
		"is shown, not published":  {"watch", "--metrics", "127.0.0.1:0", dir},
		"gpumem diagnose":          {"watch", "--all"},
		"address x: missing port":  {"watch", "--all", "--metrics", "x"},
		"only http/protobuf":       {"watch", "--all", "--otlp"},
		"needs a certificate, its": {"run", "--metrics", ":0", "--", "true"},
	} {
		got := gpumemEnv(t, dir, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, args...)
		if got.code == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("gpumem %v: exit code %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

func TestTheLastStateOfARunIsPushed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	pushed, verdicts := 0, map[string]float64{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var m otlp.MetricsData // the same bytes as an export request
		if err == nil {
			err = proto.Unmarshal(body, &m)
		}
		if err != nil {
			t.Errorf("the push is no OTLP: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		pushed++
		for _, metric := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			if metric.Name != "gpumem_verdict" {
				continue
			}
			for _, p := range metric.GetGauge().DataPoints {
				for _, a := range p.Attributes {
					if a.Key == "verdict" {
						verdicts[a.Value.GetStringValue()] = p.GetAsDouble()
					}
				}
			}
		}
	}))
	defer receiver.Close()
	dir := t.TempDir()
	got := gpumemEnv(t, dir, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL}, "run", "-q", "--out", "run",
		"--interval", "10ms", "--otlp",
		"nqueens", "--fault", "uncut-graph", "--epochs", "300")
	if got.code != 0 || strings.Contains(got.stderr, "push metrics") {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	want := readVerdict(t, filepath.Join(dir, "run"))
	if pushed == 0 || verdicts[string(want.Verdict)] != 1 {
		t.Errorf("%d pushes, the last says %v; the run folder says %s", pushed, verdicts, want.Verdict)
	}
}

// leaks reports one more buffer every few milliseconds until done is closed.
func leaks(t *testing.T, socket string, done chan struct{}) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := uint64(0); ; i++ {
		if _, err := c.Write(buffer(0, i, 1<<20, ttmetal.DRAM).Append(nil, ttmetal.V4)); err != nil {
			return // the server was ended
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// certified writes a self-signed certificate for 127.0.0.1 and its key.
func certified(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil) // it brings one along
	s.StartTLS()
	defer s.Close()
	pair := s.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, pool = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool.AddCert(s.Certificate())
	return cert, key, pool
}

func TestMetricsAreForTheLoopbackUnlessGuarded(t *testing.T) {
	t.Parallel()
	dir := shortFolder(t)
	for want, args := range map[string][]string{
		"needs a certificate, its key and a token": {"--metrics", "0.0.0.0:0"},
		"a certificate needs its key":              {"--metrics", "127.0.0.1:0", "--metrics-cert", "x"},
		"must be from 10ms":                        {"--metrics", "127.0.0.1:0", "--metrics-interval", "1ms"},
	} {
		got := gpumem(t, dir, append([]string{"serve", "--socket", filepath.Join(dir, "s")}, args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: exit code %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

func TestScrapesOfAServerWithoutTLSOrTheTokenAreRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	token := filepath.Join(home, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, pool := certified(t, home)
	dir, socket, _ := served(t, "-q", "--metrics", "127.0.0.1:0", "--metrics-token-file", token,
		"--metrics-cert", cert, "--metrics-key", key, "--metrics-interval", "10ms")
	url := metricsURL(t, filepath.Join(dir, "out"))
	reports(t, socket, buffer(3, 1, 4096, ttmetal.L1))
	want := regexp.MustCompile(fmt.Sprintf(`gpumem_account_bytes{account="live",device="3",pid="%d",process=".*test.*"} 4096`, os.Getpid()))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	ask := func(url, bearer string) (int, []byte) {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", bearer)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		for bearer, want := range map[string]int{"": 401, "Bearer wrong": 401} {
			if code, body := ask(url, bearer); code != want || bytes.Contains(body, []byte("gpumem_")) {
				t.Fatalf("with %q: %d %s, want %d", bearer, code, body, want)
			}
		}
		if code, body := ask(strings.Replace(url, "https", "http", 1), "Bearer secret"); code != 400 {
			t.Fatalf("without TLS: %d %s", code, body)
		}
		if code, body := ask(url, "Bearer secret"); code == 200 && want.Match(body) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%d, no %s in\n%s", code, want, body)
		}
	}
}
