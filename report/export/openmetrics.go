package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// writeOpenMetrics writes the last known value of each column and the verdict
// as OpenMetrics 1.0 text, without times: it is the outcome of one run. What
// has a name among the metrics that gpumem serves has the same name here.
func writeOpenMetrics(w io.Writer, run *record.Run, v *verdict.Verdict) error {
	m := &metricsWriter{out: bufio.NewWriter(w), base: []label{{"run", nameOf(run)}}}
	m.family("gpumem_account_bytes", "bytes", "Bytes charged to an account at the end of the run.")
	m.lastOf(run, "gpumem_account_bytes", "account", map[string]string{
		record.ColLive: string(verdict.Live), record.ColIdle: string(verdict.Idle)})
	m.family("gpumem_memory_bytes", "bytes",
		"What the system and the driver charged the process at the end of the run.")
	m.lastOf(run, "gpumem_memory_bytes", "of", map[string]string{
		record.ColGPU: "gpu", record.ColFootprint: "footprint", record.ColHostHeap: "heap",
		record.ColRSS: "resident"})
	m.family("gpumem_live_buffers", "", "Buffers or tensors held at the end of the run.")
	m.lastOf(run, "gpumem_live_buffers", "", map[string]string{record.ColLiveCount: ""})
	m.family("gpumem_verdict", "", "Verdict on the run: 1 for the one that holds.")
	for _, class := range [...]verdict.Class{verdict.None, verdict.AppLeak, verdict.PoolGrowth,
		verdict.DriverGrowth, verdict.HostGrowth, verdict.Undecided} {
		held := 0.0
		if class == v.Verdict {
			held = 1
		}
		m.sample("gpumem_verdict", held, label{"verdict", string(class)})
	}
	m.family("gpumem_verdict_confidence", "", "Calibrated probability of the verdict.")
	m.sample("gpumem_verdict_confidence", v.Confidence)
	m.accounts(v)
	m.out.WriteString("# EOF\n")
	return m.out.Flush()
}

// metricsWriter writes families of gauges. Errors stay in out until Flush.
type metricsWriter struct {
	out  *bufio.Writer
	base []label
}

type label struct{ name, value string }

// family writes the lines that head a family. A unit is the end of its name.
func (m *metricsWriter) family(name, unit, help string) {
	fmt.Fprintf(m.out, "# TYPE %s gauge\n", name)
	if unit != "" {
		fmt.Fprintf(m.out, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(m.out, "# HELP %s %s\n", name, help)
}

func (m *metricsWriter) sample(name string, v float64, labels ...label) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	m.out.WriteString(name)
	for i, l := range append(slices.Clone(m.base), labels...) {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		m.out.WriteByte(sep)
		m.out.WriteString(l.name + `="` + escapeLabel(l.value) + `"`)
	}
	m.out.WriteString("} " + strconv.FormatFloat(v, 'f', -1, 64) + "\n")
}

// escapeLabel escapes a value as the format wants it.
func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", " ").Replace(bounded(s))
}

// lastOf writes the last known value of the traced process's columns, each
// device on its own. What the column is called among the metrics is the value
// of the label key, when key is not empty.
func (m *metricsWriter) lastOf(run *record.Run, name, key string, columns map[string]string) {
	rows := rowsOf(run)
	for _, column := range run.Samples.Names() {
		base, device, ok := record.SplitDevice(column)
		called, wanted := columns[base]
		if !wanted {
			continue
		}
		values := run.Samples.Column(column)
		for _, i := range slices.Backward(rows) {
			if record.IsUnknown(values[i]) {
				continue
			}
			var labels []label
			if key != "" {
				labels = append(labels, label{key, called})
			}
			if ok {
				labels = append(labels, label{"device", strconv.Itoa(device)})
			}
			m.sample(name, values[i], labels...)
			break
		}
	}
}

// accounts writes the growth of the accounts. The rates have the bounds of
// their intervals, as the metrics of a running gpumem have.
func (m *metricsWriter) accounts(v *verdict.Verdict) {
	m.family("gpumem_growth_bytes", "bytes", "Growth of an account over the judged window.")
	for _, a := range v.Accounts {
		if a.Bytes != nil {
			m.sample("gpumem_growth_bytes", float64(*a.Bytes), label{"account", string(a.Account)})
		}
	}
	for _, rate := range [...]struct {
		name, help string
		of         func(verdict.AccountRow) *verdict.Interval
	}{
		{"gpumem_growth_bytes_per_second", "Growth of an account: estimate and 95 % bounds.",
			func(a verdict.AccountRow) *verdict.Interval { return a.PerSecond }},
		{"gpumem_growth_bytes_per_step", "Growth of an account with every step: estimate and 95 % bounds.",
			func(a verdict.AccountRow) *verdict.Interval { return a.PerStep }},
	} {
		m.family(rate.name, "", rate.help)
		for _, a := range v.Accounts {
			i := rate.of(a)
			if i == nil {
				continue
			}
			for _, b := range [...]struct {
				bound string
				value float64
			}{{"value", i.Value}, {"low", i.Low}, {"high", i.High}} {
				m.sample(rate.name, b.value, label{"account", string(a.Account)}, label{"bound", b.bound})
			}
		}
	}
}
