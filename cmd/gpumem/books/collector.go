package books

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// Collector publishes the server's own totals.
func Collector(s *ttmetal.Server) prometheus.Collector { return &serverTotals{s, serverDescs()} }

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
