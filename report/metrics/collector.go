package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpumem/gpumem/report/verdict"
)

// classes are the states of the verdict's state set.
var classes = [...]verdict.Class{
	verdict.None, verdict.AppLeak, verdict.PoolGrowth, verdict.DriverGrowth, verdict.HostGrowth,
	verdict.Undecided,
}

// Collector turns a Source into series. It is safe for concurrent scrapes.
type Collector struct {
	source Source
	most   int

	account, count, state, confidence, rate, forecast, dead, processes *prometheus.Desc
	samples, missed, lost                                              *prometheus.Desc
}

// NewCollector makes a collector that tells at most most processes apart;
// below 1 stands for MostProcesses.
func NewCollector(source Source, most int) *Collector {
	if most < 1 {
		most = MostProcesses
	}
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("gpumem_"+name, help, labels, nil)
	}
	return &Collector{
		source: source, most: most,
		account: d("account_bytes", "Bytes charged to an account of a process.", "pid", "process",
			"device", "account"),
		count: d("live_buffers", "Buffers or tensors that a process holds.", "pid", "process", "device"),
		state: d("verdict", "Verdict on a process: 1 for the one that holds.", "pid",
			"process", "verdict"),
		confidence: d("verdict_confidence", "Calibrated probability of the verdict.", "pid", "process"),
		rate: d("growth_bytes_per_second", "Growth of an account: estimate and 95 % bounds.",
			"pid", "process", "account", "bound"),
		forecast: d("forecast_seconds", "Time until a limit is reached at the present rate.", "pid",
			"process", "limit", "quantile"),
		dead: d("dead_process_bytes", "Bytes still held for a process that has ended.", "pid",
			"process", "device"),
		processes: d("processes", "Processes with memory, those added up under other included."),
		samples:   d("samples_total", "Samples of processes taken."),
		missed: d("samples_missed_total",
			"Samples of processes that should have been taken and were not."),
		lost: d("lost_lines_total", "Lines that could not be printed in time."),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{
		c.account, c.count, c.state, c.confidence, c.rate, c.forecast, c.dead, c.processes, c.samples,
		c.missed, c.lost,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	list := c.source.Processes()
	judged, pids := map[string]bool{}, map[int]bool{}
	for _, p := range list {
		pids[p.PID] = true
	}
	gauge(c.processes, float64(len(pids)))
	for _, r := range bounded(list, c.most) {
		for a, v := range r.Bytes {
			gauge(c.account, float64(v), r.pid, r.name, r.device, string(a))
		}
		if r.Count != nil {
			gauge(c.count, float64(*r.Count), r.pid, r.name, r.device)
		}
		if r.Dead {
			gauge(c.dead, float64(r.size()), r.pid, r.name, r.device)
		}
		if r.Verdict != nil && !judged[r.pid] {
			judged[r.pid] = true
			c.verdict(gauge, &r)
		}
	}
	s := c.source.Sampling()
	counter(c.samples, s.Samples)
	if s.Missed != nil {
		counter(c.missed, *s.Missed)
	}
	if s.LostLines != nil {
		counter(c.lost, *s.LostLines)
	}
}

// verdict gives the series of a process's verdict.
func (c *Collector) verdict(gauge func(*prometheus.Desc, float64, ...string), r *row) {
	v := r.Verdict
	for _, class := range classes {
		on := 0.
		if class == v.Verdict {
			on = 1
		}
		gauge(c.state, on, r.pid, r.name, string(class))
	}
	if v.Confidence > 0 {
		gauge(c.confidence, v.Confidence, r.pid, r.name)
	}
	told := map[verdict.Account]bool{}
	for _, a := range v.Accounts {
		if a.PerSecond == nil || told[a.Account] {
			continue
		}
		told[a.Account] = true
		gauge(c.rate, a.PerSecond.Value, r.pid, r.name, string(a.Account), "value")
		gauge(c.rate, a.PerSecond.Low, r.pid, r.name, string(a.Account), "low")
		gauge(c.rate, a.PerSecond.High, r.pid, r.name, string(a.Account), "high")
	}
	if f := v.Forecast; f != nil {
		gauge(c.forecast, f.P10, r.pid, r.name, f.Limit, "0.1")
		gauge(c.forecast, f.P50, r.pid, r.name, f.Limit, "0.5")
		gauge(c.forecast, f.P90, r.pid, r.name, f.Limit, "0.9")
	}
}
