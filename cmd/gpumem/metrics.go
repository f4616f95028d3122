package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/metrics"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// metricsFlags are the flags of commands that publish metrics.
type metricsFlags struct {
	addr, cert, key, tokenFile string
	most                       int
	every                      time.Duration
}

func (f *metricsFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "metrics", "", "address for Prometheus to scrape /metrics, as 127.0.0.1:9850")
	flags.StringVar(&f.cert, "metrics-cert", "", "certificate for TLS, needed beyond the loopback")
	flags.StringVar(&f.key, "metrics-key", "", "key of the certificate")
	flags.StringVar(&f.tokenFile, "metrics-token-file", "", "file with the bearer token that scrapes must bring, needed beyond the loopback")
	flags.IntVar(&f.most, "metrics-processes", metrics.MostProcesses, "processes told apart; the smaller ones are added up")
	flags.DurationVar(&f.every, "metrics-interval", servedEvery, "time between samples; a verdict takes 150 of them")
}

// publish publishes a server's programs until ctx ends. Without an address it
// does nothing.
func (f *metricsFlags) publish(ctx context.Context, std stdio, s *ttmetal.Server) (stop func() error, err error) {
	if f.addr == "" {
		return func() error { return nil }, nil
	}
	if f.every < 10*time.Millisecond || f.every > time.Hour {
		return nil, usagef("--metrics-interval %s: must be from 10ms to 1h", f.every)
	}
	access := metrics.Access{CertFile: f.cert, KeyFile: f.key}
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("read token: %w", err)
		}
		if access.Token = strings.TrimSpace(string(text)); access.Token == "" {
			return nil, usagef("--metrics-token-file %s: it is empty", f.tokenFile)
		}
	}
	source := newServed(s, f.every)
	e, err := metrics.Listen(f.addr, access, metrics.NewCollector(source, f.most), serverCollector(s))
	if err != nil {
		return nil, err
	}
	go source.run(ctx)
	fmt.Fprintf(std.err, "   Metrics on: %s/metrics\n", e.Addr())
	return e.Close, nil
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
		d("messages_total", "Messages read."), d("messages_refused_total", "Messages out of bounds or of no known kind."),
		d("frees_unknown_total", "Frees of what was not on the books."), d("connections_broken_total", "Connections closed for bytes that are not the protocol."),
		d("connections_cut_total", "Connections that ended within a message."), d("swept_total", "Allocations of dead processes taken off the books."),
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
			to <- prometheus.MustNewConstMetric(c.descs[8], prometheus.GaugeValue, float64(v), fmt.Sprint(d.Device), memory)
		}
	}
}
