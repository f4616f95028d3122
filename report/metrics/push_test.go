package metrics

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP receiver over HTTP that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	code   int
	header http.Header
	path   string
	pushed []*otlp.MetricsData // the same bytes as an export request
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{code: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body := io.Reader(q.Body)
		if q.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Error(err)
				return
			}
		}
		text, err := io.ReadAll(body)
		var m otlp.MetricsData
		if err == nil {
			err = proto.Unmarshal(text, &m)
		}
		if err != nil {
			t.Errorf("the push is no OTLP: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.header, r.path, r.pushed = q.Header.Clone(), q.URL.Path, append(r.pushed, &m)
		w.WriteHeader(r.code)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pushed)
}

// points are the values of the last push by name and attributes, as
// "name{a=b,c=d}", those of the resource without a name.
func (r *receiver) points() (values map[string]float64, resource map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	values, resource = map[string]float64{}, map[string]string{}
	for _, rm := range r.pushed[len(r.pushed)-1].ResourceMetrics {
		for _, a := range rm.Resource.Attributes {
			resource[a.Key] = a.Value.GetStringValue()
		}
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				points := m.GetGauge().GetDataPoints()
				if s := m.GetSum(); s != nil && s.IsMonotonic {
					points = s.DataPoints
				}
				for _, p := range points {
					var labels []string
					for _, a := range p.Attributes {
						labels = append(labels, a.Key+"="+a.Value.GetStringValue())
					}
					values[m.Name+"{"+strings.Join(labels, ",")+"}"] = p.GetAsDouble()
				}
			}
		}
	}
	return values, resource
}

func TestWhatIsScrapedIsPushedAsTheEnvironmentSays(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
	t.Setenv("OTEL_SERVICE_NAME", "trainer-7")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	p, err := Push(context.Background(), func(err error) { t.Error(err) }, NewCollector(host{2, 3}, 0))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a second push", func() bool { return r.count() >= 2 })
	before := r.count()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if r.count() <= before {
		t.Error("Close does not push what came last")
	}
	values, resource := r.points()
	if r.path != "/v1/metrics" || r.header.Get("Authorization") != "Bearer secret" {
		t.Errorf("pushed to %s with %v", r.path, r.header)
	}
	if resource["service.name"] != "trainer-7" || resource["deployment.environment.name"] != "test" ||
		resource["host.name"] == "" {
		t.Errorf("the resource is %v", resource)
	}
	scraped := map[string]string{}
	for line := range strings.Lines(scrapeOf(t, host{2, 3})) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found && !strings.HasPrefix(line, "#") {
			scraped[strings.ReplaceAll(name, `"`, "")] = value
		}
	}
	same := 0
	for name := range values {
		if _, found := scraped[strings.TrimSuffix(name, "{}")]; !found {
			t.Errorf("%s is pushed and not scraped", name)
			continue
		}
		same++
	}
	if same != len(scraped) || same < 100 {
		t.Errorf("%d series are pushed, %d scraped", same, len(scraped))
	}
	if got := values["gpumem_account_bytes{account=live,device=0,pid=1001,process=python3}"]; got != 1<<20 {
		t.Errorf("the live bytes of process 1001 are %v, want 1 MiB", got)
	}
}

func TestAServiceWithoutANameIsGpumem(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", r.URL+"/elsewhere")
	p, err := Push(context.Background(), func(err error) { t.Error(err) }, NewCollector(host{1, 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, resource := r.points(); resource["service.name"] != "gpumem" || r.path != "/elsewhere" {
		t.Errorf("%v is pushed to %s", resource, r.path)
	}
}

func TestAReceiverThatFailsIsSaidOnceAndAgainAfterItRecovered(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	code := func(c int) {
		r.mu.Lock()
		r.code = c
		r.mu.Unlock()
	}
	var mu sync.Mutex
	var said []string
	warned := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(said)
	}
	code(http.StatusForbidden)
	p, err := Push(context.Background(), func(err error) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, err.Error())
	}, NewCollector(host{1, 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a third push that fails", func() bool { return r.count() >= 3 })
	if n := warned(); n != 1 {
		t.Errorf("said %d times, want once: %q", n, said)
	}
	code(http.StatusOK)
	n := r.count()
	eventually(t, "a push that does not", func() bool { return r.count() > n+2 })
	code(http.StatusForbidden)
	eventually(t, "a second word", func() bool { return warned() == 2 })
	code(http.StatusOK)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said[0], "push metrics") || !strings.Contains(said[0], "403") {
		t.Errorf("said %q", said[0])
	}
}

func TestAnotherProtocolIsRefusedByName(t *testing.T) {
	for _, name := range []string{protocolVar, protocolCommonVar} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "grpc")
			p, err := Push(context.Background(), nil, NewCollector(host{1, 1}, 0))
			if err == nil {
				p.Close()
			}
			if err == nil || !strings.Contains(err.Error(), name+"=grpc: only http/protobuf") {
				t.Errorf("%v", err)
			}
		})
	}
}
