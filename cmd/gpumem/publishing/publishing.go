package publishing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report/metrics"
	"github.com/gpumem/gpumem/report/verdict"
)

// Flags are the flags of commands that publish metrics.
type Flags struct {
	addr, cert, key, tokenFile string
	hosts                      []string
	otlp                       bool
	most                       int
}

// Add defines the flags with the present values as defaults.
func (f *Flags) Add(flags *pflag.FlagSet) {
	if f.most == 0 {
		f.most = metrics.MostProcesses
	}
	flags.StringVar(&f.addr, "metrics", f.addr,
		"address for Prometheus to scrape /metrics, as 127.0.0.1:9850")
	flags.StringVar(&f.cert, "metrics-cert", f.cert, "certificate for TLS, needed beyond the loopback")
	flags.StringVar(&f.key, "metrics-key", f.key, "key of the certificate")
	flags.StringVar(&f.tokenFile, "metrics-token-file", f.tokenFile,
		"file with the bearer token that scrapes must bring, needed beyond the loopback")
	flags.StringSliceVar(&f.hosts, "metrics-host", f.hosts,
		"another name by which scrapes may ask for a loopback address")
	flags.IntVar(&f.most, "metrics-processes", f.most,
		"how many processes are told apart; the smaller ones are added up")
	flags.BoolVar(&f.otlp, "otlp", f.otlp,
		"push the metrics by OTLP over HTTP, as the OTEL_EXPORTER_OTLP_* variables say")
}

// On reports whether anything is to be published.
func (f *Flags) On() bool { return f.addr != "" || f.otlp }

// publish publishes collectors until stop is called. Without --metrics and
// --otlp it does nothing.
func (f *Flags) publish(
	warnings io.Writer, collectors ...prometheus.Collector) (stop func() error, err error) {
	var endpoint *metrics.Endpoint
	if f.addr != "" {
		access, err := f.access()
		if err != nil {
			return nil, err
		}
		if endpoint, err = metrics.Listen(f.addr, access, collectors...); err != nil {
			return nil, err
		}
		fmt.Fprintf(warnings, "gpumem: metrics on %s\n", endpoint.URL())
	}
	hangUp := func() error {
		if endpoint == nil {
			return nil
		}
		return endpoint.Close()
	}
	if !f.otlp {
		return hangUp, nil
	}
	warn := func(err error) { fmt.Fprintf(warnings, "gpumem: warning: %v\n", err) }
	pusher, err := metrics.Push(context.Background(), warn, collectors...)
	if err != nil {
		return nil, errors.Join(err, hangUp())
	}
	return func() error { return errors.Join(pusher.Close(), hangUp()) }, nil
}

// access is who may scrape.
func (f *Flags) access() (metrics.Access, error) {
	access := metrics.Access{CertFile: f.cert, KeyFile: f.key, Hosts: f.hosts}
	var err error
	if f.tokenFile != "" {
		access.Token, err = readToken(f.tokenFile)
	}
	return access, err
}

// maxToken bounds a file with a token.
const maxToken = 64 << 10

// readToken reads the token of a file. As ssh does with keys, it refuses a file
// that others may read.
func readToken(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.IsRegular() && mode.Perm()&0o077 != 0 {
		return "", usage.Errorf("--metrics-token-file %s: its mode %04o lets others read it; chmod 600 %s",
			path, mode.Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if len(text) > maxToken {
		return "", usage.Errorf("--metrics-token-file %s: it is longer than %d KiB, and no token",
			path, maxToken>>10)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", usage.Errorf("--metrics-token-file %s: it is empty", path)
	}
	return token, nil
}

// Published is the goroutines behind what is published. A nil one has ended.
type Published struct {
	cancel context.CancelFunc
	work   sync.WaitGroup
	book   *metrics.Book
	stop   func() error
}

// Start publishes a book that is filled and judged until [Published.End], and more.
// Where the metrics are, and what fails, goes to warnings.
func (f *Flags) Start(warnings io.Writer, book *metrics.Book, fill func(context.Context),
	more ...prometheus.Collector) (*Published, error) {
	stop, err := f.publish(warnings, append([]prometheus.Collector{metrics.NewCollector(book, f.most)},
		more...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Published{cancel: cancel, book: book, stop: stop}
	for _, work := range [...]func(context.Context){fill, book.Judge} {
		p.work.Go(func() { work(ctx) })
	}
	return p, nil
}

// End judges what is there for the last time, pushes it, and ends.
func (p *Published) End() error {
	if p == nil {
		return nil
	}
	p.cancel()
	p.work.Wait()
	p.book.Finish()
	return p.stop()
}

// StartRun publishes the run that will be written to dir; without flags that ask for it,
// nothing. end is to be
// called when it has ended; what fails then is a warning.
func (f *Flags) StartRun(warnings io.Writer, dir string, judging verdict.Options) (end func(), err error) {
	if !f.On() {
		return func() {}, nil
	}
	book := metrics.NewBook(metrics.BookOptions{Judging: judging, NameOf: naming.Running})
	p, err := f.Start(warnings, book, metrics.NewFolder(dir, time.Now(), book).Run)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := p.End(); err != nil {
			fmt.Fprintf(warnings, "gpumem: warning: %v\n", err)
		}
	}, nil
}
