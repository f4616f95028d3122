package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestGoToolPprofReadsTheSurvivors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "mem.pb.gz")
	if err := os.WriteFile(path, exported(t, PProf, leak()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool(t, "go", "https://go.dev"), "tool", "pprof", "-raw", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "inuse_space/bytes") ||
		!strings.Contains(string(out), fmt.Sprint(200*mib)) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestATraceHasWhatTheTraceEventFormatAsksFor(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]*record.Run{"leak": leak(), "hostile": hostile()} {
		var trace struct {
			DisplayTimeUnit string
			TraceEvents     []map[string]any
			OtherData       map[string]string
		}
		if err := json.Unmarshal(exported(t, Perfetto, run), &trace); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kinds := map[string]int{}
		for _, e := range trace.TraceEvents {
			kinds[checkTraceEvent(t, e)]++
		}
		// Three tracks change with each of 200 samples, host memory stands still in
		// both processes; a phase, a step, a receipt. The window has two categories, each
		// with a beginning and an end, of which one comes and goes; and its peak.
		if name == "leak" && (kinds["C"] != 602+6 || kinds["M"] != 2 || kinds["i"] != 3+1) {
			t.Errorf("events %v", kinds)
		}
		if trace.DisplayTimeUnit != "ms" || trace.OtherData["verdict"] != "app-leak" {
			t.Errorf("%s: %+v", name, trace.OtherData)
		}
	}
}

// checkTraceEvent holds an event against the documented format and returns its
// phase.
func checkTraceEvent(t *testing.T, e map[string]any) string {
	t.Helper()
	phase, _ := e["ph"].(string)
	_, named := e["name"].(string)
	_, pid := e["pid"].(float64)
	_, tid := e["tid"].(float64)
	ts, timed := e["ts"].(float64)
	args, _ := e["args"].(map[string]any)
	ok := named && pid && tid && timed == (phase != "M") && ts >= 0
	switch phase {
	case "C": // a counter's arguments are numbers
		ok = ok && len(args) > 0
		for _, v := range args {
			_, number := v.(float64)
			ok = ok && number
		}
	case "i":
		ok = ok && strings.Contains("tpg", e["s"].(string))
	case "M":
		ok = ok && e["name"] == "process_name" && args["name"] != ""
	default:
		ok = false
	}
	if !ok {
		t.Errorf("not an event of the format: %v", e)
	}
	return phase
}

func TestParquetReadBackHasTheSameCells(t *testing.T) {
	t.Parallel()
	run := leak()
	data := exported(t, Parquet, run)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Root().Columns() {
		names = append(names, c.Name())
	}
	if fmt.Sprint(names) != fmt.Sprint(run.Samples.Names()) {
		t.Errorf("columns %v, want %v", names, run.Samples.Names())
	}
	reader := parquet.NewReader(f)
	rows := make([]parquet.Row, run.Samples.Len())
	if n, _ := reader.ReadRows(rows); n != len(rows) {
		t.Fatalf("%d rows of %d", n, len(rows))
	}
	for n, row := range rows {
		for c, name := range names {
			want, cell := run.Samples.Column(name)[n], row[c]
			switch {
			case cell.IsNull() != record.IsUnknown(want):
				t.Fatalf("row %d, %s: %v, want %v", n, name, cell, want)
			case cell.IsNull():
			case cell.Kind() == parquet.Int64 && float64(cell.Int64()) == want, cell.Kind() == parquet.Double &&
				cell.Double() == want:
			default:
				t.Fatalf("row %d, %s: %v, want %v", n, name, cell, want)
			}
		}
	}
	if text, ok := f.Lookup("gpumem.verdict"); !ok || !strings.Contains(text, `"verdict":"app-leak"`) {
		t.Errorf("metadata %q", text)
	}
}

func TestPyarrowReadsTheParquetFile(t *testing.T) {
	t.Parallel()
	got := python(t, "pyarrow.parquet", `
import io, sys, pyarrow.parquet as q
t = q.read_table(io.BytesIO(sys.stdin.buffer.read()))
print(t.num_rows, t.schema.field("t_ms").type, t.schema.field("pool_live_bytes").type, t["pool_live_bytes"].null_count, sorted(k for k in t.schema.metadata if k.startswith(b"gpumem")))
`, exported(t, Parquet, leak()))
	if want := "210 double int64 10 [b'gpumem.run', b'gpumem.verdict']\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPrometheusReadsTheMetrics(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]*record.Run{"leak": leak(), "untimed": untimed(), "hostile": hostile()} {
		text := exported(t, OpenMetrics, run)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		if err != nil || !bytes.HasSuffix(text, []byte("\n# EOF\n")) {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		for _, m := range families["gpumem_account_bytes"].GetMetric() {
			for _, l := range m.GetLabel() {
				if name == "leak" && l.GetValue() == "live" && m.GetGauge().GetValue() != 263*mib {
					t.Errorf("live %v", m.GetGauge().GetValue())
				}
			}
		}
		if n := len(families["gpumem_verdict"].GetMetric()); n != 6 {
			t.Errorf("%s: %d verdicts", name, n)
		}
		cmd := exec.Command(tool(t, "promtool", "Debian package prometheus"), "check", "metrics")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: promtool: %v\n%s", name, err, out)
		}
	}
}

func TestTheReferenceParserOfOpenMetricsReadsTheMetrics(t *testing.T) {
	t.Parallel()
	got := python(t, "prometheus_client.openmetrics.parser", `
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print(sorted((f.name, f.unit, len(f.samples)) for f in parse(sys.stdin.read()))[0])
`, exported(t, OpenMetrics, leak()))
	if want := "('gpumem_account_bytes', 'bytes', 2)\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestJUnitHasACaseAnAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run                      *record.Run
		failed, skipped, printed int
	}{
		"leak": {leak(), 1, 0, 4}, "healthy": {healthy(), 0, 0, 4}, "untimed": {untimed(), 0, 4, 4},
	} {
		var read junitSuites
		if err := xml.Unmarshal(exported(t, JUnit, c.run), &read); err != nil {
			t.Fatal(err)
		}
		s := read.Suites[0]
		failed, skipped := 0, 0
		for _, k := range s.Cases {
			if k.Failure != nil {
				failed++
				if k.Name != "live memory does not grow" || !strings.Contains(k.Failure.Text, "train.py:11") {
					t.Errorf("%s: %+v", name, k)
				}
			}
			if k.Skipped != nil {
				skipped++
			}
		}
		if s.Failures != failed || failed != c.failed || s.Tests != len(s.Cases) || len(s.Cases) != c.printed ||
			s.Skipped != skipped || skipped != c.skipped {
			t.Errorf("%s: %d failed, %d skipped in %+v", name, failed, skipped, s)
		}
	}
}

// The schema is that of Ant's JUnit reports, https://github.com/windyroad/JUnit-Schema,
// Apache License 2.0.
func TestJUnitKeepsToItsSchema(t *testing.T) {
	t.Parallel()
	lint := tool(t, "xmllint", "Debian package libxml2-utils")
	for name, run := range map[string]*record.Run{"leak": leak(), "healthy": healthy(), "hostile": hostile()} {
		cmd := exec.Command(lint, "--noout", "--nonet", "--schema", filepath.Join("testdata", "JUnit.xsd"), "-")
		cmd.Stdin = bytes.NewReader(exported(t, JUnit, run))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestSARIFNamesTheLinesOfAFindingAndNothingElse(t *testing.T) {
	t.Parallel()
	read := func(run *record.Run) sarifRun {
		var log sarifLog
		dec := json.NewDecoder(bytes.NewReader(exported(t, SARIF, run)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&log); err != nil {
			t.Fatal(err)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name != "gpumem" ||
			log.Runs[0].Results == nil {
			t.Fatalf("%+v", log)
		}
		return log.Runs[0]
	}
	for name, run := range map[string]*record.Run{"healthy": healthy(), "untimed": untimed()} {
		if n := len(read(run).Results); n != 0 {
			t.Errorf("%s has %d results", name, n)
		}
	}
	found := read(leak())
	r := found.Results[0]
	if found.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.RuleID != "app-leak" || r.Level != "error" {
		t.Errorf("%+v", r)
	}
	at := r.Locations[0].Physical
	if at.Artifact != (sarifArtifact{"train.py", sarifBase}) || at.Region.StartLine != 11 {
		t.Errorf("%+v", at)
	}
	if r.Related[0].Physical != nil || r.Related[0].Logical[0].Name != "at::native::conv2d" {
		t.Errorf("%+v", r.Related)
	}
	read(hostile())
}

func TestAFingerprintOutlivesAMovedLine(t *testing.T) {
	t.Parallel()
	a, b := leak(), leak()
	b.Events[3].Sites[0].Site = "/src/train.py:99 <module>"
	c := leak()
	c.Events[3].Sites[0].Site = "/src/train.py:11 forward"
	prints := map[string]int{}
	for _, run := range []*record.Run{a, b, c} {
		var log sarifLog
		if err := json.Unmarshal(exported(t, SARIF, run), &log); err != nil {
			t.Fatal(err)
		}
		prints[log.Runs[0].Results[0].Fingerprints["gpumem/v1"]]++
	}
	if len(prints) != 2 {
		t.Errorf("%v", prints)
	}
}

func TestIntegersAreToldFromFractions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   bool
	}{
		{[]float64{1, 2, record.Unknown()}, true}, {[]float64{1.5}, false}, {[]float64{1 << 63}, false},
		{[]float64{math.Inf(1)}, false}, {nil, true},
	} {
		if got := integers(c.values); got != c.want {
			t.Errorf("%v: %v", c.values, got)
		}
	}
}
