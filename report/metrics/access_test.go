package metrics

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// scrape asks a server on the loopback by another name.
func scrape(t *testing.T, e *Endpoint, path, host, authorization string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+e.addr.String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	request.Header.Set("Authorization", authorization)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestTheLoopbackAnswersToItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	e, err := Listen("127.0.0.1:0", Access{Hosts: []string{"GPU-Box.lan", "[fd00::1]:9850"}},
		NewCollector(host{1, 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, port, err := net.SplitHostPort(e.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.9.9.9", "[::1]", "gpu-box.lan", "GPU-BOX.LAN.",
		"[fd00::1]",
	} {
		for _, h := range []string{name, name + ":" + port, name + ":1"} {
			if code, body := scrape(t, e, "/metrics", h, ""); code != http.StatusOK ||
				!strings.Contains(body, "gpumem_") {
				t.Errorf("%s: %d", h, code)
			}
		}
	}
	for _, name := range []string{
		"evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "evil.com:80", "lan", "10.0.0.1", "[::2]",
		"x localhost",
	} {
		for _, path := range []string{"/metrics", "/"} {
			code, body := scrape(t, e, path, name, "")
			if code != http.StatusForbidden || strings.Count(body, "\n") != 1 || strings.Contains(body, "gpumem_") {
				if !strings.Contains(name, " ") || code != http.StatusBadRequest { // the library refuses what is no host at all
					t.Errorf("%s%s: %d %.200s", name, path, code, body)
				}
			}
		}
	}
}

func TestTheSchemeOfATokenMayBeWrittenInEitherCase(t *testing.T) {
	t.Parallel()
	e, err := Listen("localhost:0", Access{Token: "Secret"}, NewCollector(host{1, 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for authorization, want := range map[string]int{
		"Bearer Secret": 200, "bearer Secret": 200, "BEARER  Secret": 200,
		"bearer secret": 401, "Bearer": 401, "Bearer ": 401, "Secret": 401, "basic Secret": 401, "": 401,
		"bearerSecret": 401,
	} {
		if code, _ := scrape(t, e, "/metrics", "localhost", authorization); code != want {
			t.Errorf("%q: %d, want %d", authorization, code, want)
		}
	}
}

func TestABurstOfScrapesIsServedInTurn(t *testing.T) {
	t.Parallel()
	var now, most, served atomic.Int64
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		served.Add(1)
		fmt.Fprintln(w, "ok")
	})
	server := httptest.NewServer(queue(slow, 4, 256, time.Minute))
	defer server.Close()
	var scrapers sync.WaitGroup
	for range 30 {
		scrapers.Go(func() {
			for range 10 {
				answer, err := http.Get(server.URL)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					t.Errorf("%s", answer.Status)
				}
			}
		})
	}
	scrapers.Wait()
	if served.Load() != 300 || most.Load() > 4 {
		t.Errorf("%d were served, %d at a time", served.Load(), most.Load())
	}
}

func TestBeyondTheQueueAScrapeIsToldToComeAgain(t *testing.T) {
	t.Parallel()
	hold, begun := make(chan struct{}), make(chan struct{})
	q := queue(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-hold
	}), 1, 1, 20*time.Millisecond)
	var first sync.WaitGroup
	first.Go(func() { q.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
	<-begun
	w := httptest.NewRecorder()
	q.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	close(hold)
	first.Wait()
}
