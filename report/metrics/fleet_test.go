package metrics

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// fleet is how many hosts the benchmark simulates; docs/fleet.md has the
// figures of more.
var fleet = flag.Int("fleet", 50, "hosts of BenchmarkAFleetScrapedByPrometheus")

// scrapeOf is what one host publishes.
func scrapeOf(tb testing.TB, s Source) string {
	tb.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(s, 0))
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		tb.Fatalf("scrape: %d %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func series(text string) (n int) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

func TestTheSeriesOfAHostAreBounded(t *testing.T) {
	t.Parallel()
	full := series(scrapeOf(t, host{8, 20}))
	if more := series(scrapeOf(t, host{8, 2000})); more > full*MostProcesses/160+100 {
		t.Errorf("16,000 processes have %d series, 160 have %d: the bound does not hold", more, full)
	}
	t.Logf("8 GPUs × 20 processes: %d series, %d bytes a scrape", full, len(scrapeOf(t, host{8, 20})))
}

func BenchmarkOneScrape(b *testing.B) {
	for b.Loop() {
		scrapeOf(b, host{8, 20})
	}
}

// BenchmarkAFleetScrapedByPrometheus prints what a real Prometheus needs for
// the series of -fleet hosts, scraped every 15 s for a minute.
func BenchmarkAFleetScrapedByPrometheus(b *testing.B) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		b.Skip("prometheus is not installed (Debian package prometheus)")
	}
	text := scrapeOf(b, host{8, 20})
	hosts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		io.WriteString(w, text)
	}))
	defer hosts.Close()
	addr, pid := fleetPrometheus(b, program, strings.TrimPrefix(hosts.URL, "http://"), *fleet)
	time.Sleep(75 * time.Second)
	own := ask(b, addr)
	b.ReportMetric(own["prometheus_tsdb_head_series"], "series")
	b.ReportMetric(resident(b, pid)/own["prometheus_tsdb_head_series"], "B/series")
	b.ReportMetric(own["process_cpu_seconds_total"]/75*100, "%cpu")
	b.ReportMetric(own["prometheus_tsdb_head_samples_appended_total"]/75, "samples/s")
	b.ReportMetric(float64(len(text)), "B/scrape")
}

// fleetPrometheus starts a Prometheus that scrapes one address as many hosts.
func fleetPrometheus(b *testing.B, program, target string, n int) (addr string, pid int) {
	home := b.TempDir()
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	var groups []group
	for i := range n {
		groups = append(groups, group{[]string{target}, map[string]string{"instance": fmt.Sprintf("host%05d", i)}})
	}
	sd, err := json.Marshal(groups)
	if err != nil {
		b.Fatal(err)
	}
	config := `{"global":{"scrape_interval":"15s"},"scrape_configs":[{"job_name":"gpumem","file_sd_configs":[{"files":["hosts.json"]}]}]}`
	for name, text := range map[string][]byte{"hosts.json": sd, "prometheus.yml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(home, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr = free.Addr().String()
	free.Close()
	cmd := exec.Command(program, "--config.file="+filepath.Join(home, "prometheus.yml"), "--storage.tsdb.path="+
		filepath.Join(home, "data"), "--web.listen-address="+addr)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return addr, cmd.Process.Pid
}

// ask reads a Prometheus's own metrics, those without labels or summed up.
func ask(b *testing.B, addr string) map[string]float64 {
	answer, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	out := map[string]float64{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] += v
		}
	}
	return out
}

// resident is the resident memory of a process in bytes.
func resident(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Fatal(err)
	}
	var size, rss float64
	fmt.Sscan(string(text), &size, &rss)
	return rss * float64(os.Getpagesize())
}
