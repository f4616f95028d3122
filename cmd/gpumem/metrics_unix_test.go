//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// metricsAddr is where a served gpumem publishes.
func metricsAddr(t *testing.T, dir string) string {
	t.Helper()
	pattern := regexp.MustCompile(`Metrics on: (\S+)/metrics`)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "out"))
		if m := pattern.FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	t.Fatal("gpumem serve does not say where its metrics are")
	return ""
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

func TestARealPrometheusScrapesAServerAndFiresTheAlerts(t *testing.T) {
	t.Parallel()
	prometheus := prometheusProgram(t, "prometheus")
	dir, socket, server := served(t, "-q", "--metrics", "127.0.0.1:0", "--metrics-interval", "20ms")
	target := metricsAddr(t, dir)
	done := make(chan struct{})
	defer close(done)
	go leaks(t, socket, done)

	home := t.TempDir()
	rules, err := os.ReadFile(filepath.Join(prometheusFolder, "gpumem.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	quick := regexp.MustCompile(`for: \d+m`).ReplaceAllString(string(rules), "for: 1s") // nobody waits for five minutes here
	config := fmt.Sprintf(`{"global":{"scrape_interval":"250ms","scrape_timeout":"250ms","evaluation_interval":"250ms"},
		"rule_files":["rules.yml"],"scrape_configs":[{"job_name":"gpumem","static_configs":[{"targets":[%q]}]}]}`, target)
	for name, text := range map[string]string{"rules.yml": quick, "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api := startPrometheus(t, prometheus, home)
	awaitAlert(t, api, "GpumemLeakConfirmed", `"verdict":"app-leak"`)
	server.Process.Kill()
	server.Wait() //nolint:errcheck // it was killed
	awaitAlert(t, api, "GpumemExporterDown", target)
}

// startPrometheus starts it on a free port and returns its address.
func startPrometheus(t *testing.T, program, home string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	cmd := exec.Command(program, "--config.file="+filepath.Join(home, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(home, "data"),
		"--web.listen-address="+addr)
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() //nolint:errcheck // it was killed
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("prometheus said\n%s", text)
		}
	})
	return addr
}

// awaitAlert waits until an alert fires whose labels contain text.
func awaitAlert(t *testing.T, api, name, text string) {
	t.Helper()
	var last string
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get("http://" + api + "/api/v1/alerts")
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		last = string(body)
		var alerts struct {
			Data struct {
				Alerts []struct {
					State  string
					Labels json.RawMessage
				}
			}
		}
		if json.Unmarshal(body, &alerts) != nil {
			continue
		}
		for _, a := range alerts.Data.Alerts {
			if labels := string(a.Labels); a.State == "firing" && strings.Contains(labels, `"`+name+`"`) && strings.Contains(labels, text) {
				return
			}
		}
	}
	t.Errorf("%s with %s does not fire: %s", name, text, last)
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

func TestScrapesWithoutTheTokenAreRefused(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, socket, _ := served(t, "-q", "--metrics", "127.0.0.1:0", "--metrics-token-file", token, "--metrics-interval", "10ms")
	addr := metricsAddr(t, dir)
	reports(t, socket, buffer(3, 1, 4096, ttmetal.L1))
	want := fmt.Sprintf(`gpumem_account_bytes{account="live",device="3",pid="%d",process=""} 4096.0`, os.Getpid())
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		found := false
		for bearer, code := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer secret": 200} {
			request, err := http.NewRequest(http.MethodGet, "http://"+addr+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
			request.Header.Set("Authorization", bearer)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != code {
				t.Fatalf("with %q: %s, want %d", bearer, answer.Status, code)
			}
			for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
				found = found || lines.Text() == want
			}
			answer.Body.Close()
		}
		if found {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no %s", want)
		}
	}
}
