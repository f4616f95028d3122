package main

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

	"github.com/gpumem/gpumem/report/metrics"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// metricsFlags are the flags of commands that publish metrics.
type metricsFlags struct {
	addr, cert, key, tokenFile string
	hosts                      []string
	otlp                       bool
	most                       int
}

// add defines the flags with the present values as defaults.
func (f *metricsFlags) add(flags *pflag.FlagSet) {
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
		"a name by which scrapes may ask for an address of the loopback, beside localhost and the address")
	flags.IntVar(&f.most, "metrics-processes", f.most, "processes told apart; the smaller ones are added up")
	flags.BoolVar(&f.otlp, "otlp", f.otlp,
		"push the metrics by OTLP over HTTP, as OTEL_EXPORTER_OTLP_ENDPOINT and its kin say")
}

// on reports whether anything is to be published.
func (f *metricsFlags) on() bool { return f.addr != "" || f.otlp }

// publish publishes collectors until stop is called. Without --metrics and
// --otlp it does nothing.
func (f *metricsFlags) publish(std stdio, collectors ...prometheus.Collector) (stop func() error, err error) {
	var endpoint *metrics.Endpoint
	if f.addr != "" {
		access, err := f.access()
		if err != nil {
			return nil, err
		}
		if endpoint, err = metrics.Listen(f.addr, access, collectors...); err != nil {
			return nil, err
		}
		fmt.Fprintf(std.err, "gpumem: metrics on %s\n", endpoint.URL())
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
	warn := func(err error) { fmt.Fprintf(std.err, "gpumem: warning: %v\n", err) }
	pusher, err := metrics.Push(context.Background(), warn, collectors...)
	if err != nil {
		return nil, errors.Join(err, hangUp())
	}
	return func() error { return errors.Join(pusher.Close(), hangUp()) }, nil
}

// access is who may scrape.
func (f *metricsFlags) access() (metrics.Access, error) {
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
		return "", usagef("--metrics-token-file %s: its mode %04o lets others read it; chmod 600 %s",
			path, mode.Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if len(text) > maxToken {
		return "", usagef("--metrics-token-file %s: it is longer than %d KiB, and no token",
			path, maxToken>>10)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", usagef("--metrics-token-file %s: it is empty", path)
	}
	return token, nil
}

// published are the goroutines behind what is published.
type published struct {
	cancel context.CancelFunc
	work   sync.WaitGroup
	book   *metrics.Book
	stop   func() error
}

// start publishes a book that is filled and judged until end.
func (f *metricsFlags) start(std stdio, book *metrics.Book, fill func(context.Context),
	more ...prometheus.Collector) (*published, error) {
	stop, err := f.publish(std, append([]prometheus.Collector{metrics.NewCollector(book, f.most)},
		more...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &published{cancel: cancel, book: book, stop: stop}
	for _, work := range [...]func(context.Context){fill, book.Judge} {
		p.work.Go(func() { work(ctx) })
	}
	return p, nil
}

// end judges what is there for the last time, pushes it, and ends.
func (p *published) end() error {
	if p == nil {
		return nil
	}
	p.cancel()
	p.work.Wait()
	p.book.Finish()
	return p.stop()
}

// publishServer publishes the programs of an allocation server, and its own
// totals.
func (f *metricsFlags) publishServer(std stdio, s *ttmetal.Server, devices map[int32]ttmetal.DeviceInfo,
	every time.Duration) (*published, error) {
	if !f.on() {
		return nil, nil
	}
	programs := newServed(s, devices, every)
	return f.start(std, programs.book, programs.run, serverCollector(s))
}

// publishRun publishes the run that will be written to dir. end is to be
// called when it has ended; what fails then is a warning.
func (f *metricsFlags) publishRun(std stdio, dir string, judging verdict.Options) (end func(), err error) {
	if !f.on() {
		return func() {}, nil
	}
	book := metrics.NewBook(metrics.BookOptions{Judging: judging, NameOf: nameOf})
	p, err := f.start(std, book, metrics.NewFolder(dir, time.Now(), book).Run)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := p.end(); err != nil {
			fmt.Fprintf(std.err, "gpumem: warning: %v\n", err)
		}
	}, nil
}

// serverCollector publishes the server's own totals.
func serverCollector(s *ttmetal.Server) prometheus.Collector { return &serverTotals{s, serverDescs()} }

type serverTotals struct {
	s     *ttmetal.Server
	descs []*prometheus.Desc
}

func serverDescs() []*prometheus.Desc {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gpumem_server_"+name, help, labels, nil)
	}
	return []*prometheus.Desc{
		d("messages_total", "Messages read."), d("messages_refused_total",
			"Messages out of bounds or of no known kind."),
		d("frees_unknown_total", "Frees of what was not on the books."),
		d("connections_broken_total", "Connections closed for bytes that are not the protocol."),
		d("connections_cut_total", "Connections that ended within a message."),
		d("swept_total", "Allocations of dead processes taken off the books."),
		d("connections", "Programs connected now."), d("active_allocations", "Live buffers on the books."),
		d("device_bytes", "Bytes on the books of a device by memory.", "device", "memory"),
	}
}

// Describe implements prometheus.Collector.
func (c *serverTotals) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *serverTotals) Collect(to chan<- prometheus.Metric) {
	n := c.s.Counts()
	for i, v := range [...]uint64{n.Messages, n.Refused, n.Unknown, n.Broken, n.Cut, n.Swept} {
		to <- prometheus.MustNewConstMetric(c.descs[i], prometheus.CounterValue, float64(v))
	}
	to <- prometheus.MustNewConstMetric(c.descs[6], prometheus.GaugeValue, float64(n.Connections))
	to <- prometheus.MustNewConstMetric(c.descs[7], prometheus.GaugeValue, float64(c.s.Books().Live()))
	for _, d := range c.s.Books().Totals() {
		for memory, v := range d.Used {
			to <- prometheus.MustNewConstMetric(c.descs[8], prometheus.GaugeValue, float64(v),
				fmt.Sprint(d.Device), memory)
		}
	}
}
