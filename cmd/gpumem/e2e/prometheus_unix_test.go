//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// TestARealPrometheusScrapesAServerFiresTheAlertsAndFillsTheDashboard has a
// program that leaks and one that died holding memory, which is not swept.
func TestARealPrometheusScrapesAServerFiresTheAlertsAndFillsTheDashboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	prometheus := prometheusProgram(t, "prometheus")
	home := t.TempDir()
	token := filepath.Join(home, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, _ := certified(t, home)
	dir, socket, server := served(t, "-q", "--trust-pids", "--sweep", "-1s", "--device",
		"0:wormhole_b0:64GiB:75MiB", "--metrics-interval", "20ms",
		"--metrics", "127.0.0.1:0", "--metrics-cert", cert, "--metrics-key",
		key, "--metrics-token-file", token)
	at, err := url.Parse(metricsURL(t, filepath.Join(dir, "out")))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	defer close(done)
	go leaks(t, socket, done)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left := buffer(1, 1, 2<<20, ttmetal.DRAM)
	left.PID = int32(gone.Process.Pid)
	reports(t, socket, left)

	rules, err := os.ReadFile(filepath.Join(prometheusFolder, "gpumem.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	// nobody waits for five minutes here
	quick := regexp.MustCompile(`for: \d+m`).ReplaceAllString(string(rules), "for: 1s")
	config := fmt.Sprintf(`{"global":{"scrape_interval":"250ms","scrape_timeout":"250ms","evaluation_interval":"250ms"},
		"rule_files":["rules.yml"],"scrape_configs":[{"job_name":"gpumem","scheme":"https","tls_config":{"ca_file":%q},
		"authorization":{"credentials_file":%q},"static_configs":[{"targets":[%q]}]}]}`, cert, token, at.Host)
	for name, text := range map[string]string{"rules.yml": quick, "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api := startPrometheus(t, prometheus, home)
	awaitAlert(t, api, "GpumemLeakConfirmed", `"verdict":"app-leak"`)
	awaitAlert(t, api, "GpumemExhaustionWithinAnHour", `"limit":"DRAM"`)
	awaitAlert(t, api, "GpumemDeadProcessHoldsMemory", fmt.Sprintf(`"pid":"%d"`, gone.Process.Pid))
	for _, q := range dashboardQueries(t, at.Host) {
		awaitData(t, api, q)
	}
	server.Process.Kill()
	server.Wait() //nolint:errcheck // it was killed
	awaitAlert(t, api, "GpumemExporterDown", at.Host)
}

// dashboardQueries are the queries of the dashboard with its variables filled
// in: those of the panels, and those that fill the variables.
func dashboardQueries(t *testing.T, instance string) (list []string) {
	t.Helper()
	board := readDashboard(t)
	values := map[string]string{"$host": instance, "$pid": ".*"}
	fill := func(q string) string {
		for name, value := range values {
			q = strings.ReplaceAll(q, name, value)
		}
		if strings.Contains(q, "$") {
			t.Errorf("%s has a variable that the dashboard does not define", q)
		}
		return strings.ReplaceAll(q, "[5m]", "[10s]") // a rate needs two scrapes
	}
	for _, v := range board.Templating.List {
		if inner := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(
			v.Query.text); inner != nil {
			list = append(list, fill(inner[1]))
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			list = append(list, fill(target.Expr))
		}
	}
	return list
}

// awaitData waits until a query has an answer.
func awaitData(t *testing.T, api, query string) {
	t.Helper()
	var last string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get("http://" + api + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		last = string(body)
		var got struct {
			Data struct{ Result []json.RawMessage }
		}
		if json.Unmarshal(body, &got) == nil && len(got.Data.Result) > 0 {
			return
		}
	}
	t.Errorf("%s has no data: %s", query, last)
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
	cmd := exec.Command(program, "--config.file="+filepath.Join(home, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(home, "data"),
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
			if labels := string(a.Labels); a.State == "firing" && strings.Contains(labels, `"`+name+`"`) &&
				strings.Contains(labels, text) {
				return
			}
		}
	}
	t.Errorf("%s with %s does not fire: %s", name, text, last)
}
