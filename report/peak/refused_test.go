package peak_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// nativeRun is a run on a device of 80 GiB whose program failed after the driver refused it
// memory, of which it held 60 GiB from one site and 4 GiB from others.
func nativeRun(detail, others string) *record.Run {
	one := 1
	run := &record.Run{Meta: record.Meta{ExitCode: &one,
		CapacityBytes: map[string]int64{record.LimitDevice: 80 << 30}}}
	run.Events = []record.Event{{TMs: 1500, PID: 7, Kind: record.KindEvent, Name: record.EventRefused,
		At: "main.cu:7 main", Detail: []byte(detail), Sites: []record.Site{
			{Site: "cache.cu:3 remember", Bytes: 60 << 30, Count: 60},
			{Site: "main.cu:2 main", Bytes: 3 << 30}}}}
	if others != "" {
		run.Events = append(run.Events, record.Event{TMs: 1500, PID: 7, Kind: record.KindOOMOthers,
			Detail: []byte(others)})
	}
	return run
}

// held is the detail of a refusal of 20 GiB with 64 GiB held and so much free.
func held(free string) string {
	return `{"asked_bytes":21474836480,"live_bytes":68719476736,"free_bytes":` + free +
		`,"kind":"device memory","device":0,"code":2,"own":true}`
}

func TestARefusalOfTheDriverHasItsTimeItsReasonAndWhatWasHeldBySite(t *testing.T) {
	t.Parallel()
	o := peak.OutOfMemory(nativeRun(held("16106127360"), ""), peak.Growth{})
	const want = "the driver refused 20.0 GiB of device memory at main.cu:7 main with 15.0 GiB free, while " +
		"the program held 64.0 GiB, of it 60.0 GiB from cache.cu:3 remember."
	if o == nil || o.Reason != peak.Driver || o.Sentence != want || o.AtMs != 1500 {
		t.Fatalf("%+v", o)
	}
	sum := int64(0)
	for _, c := range o.Composition {
		sum += c.Bytes
	}
	if sum != *o.LiveBytes || len(o.Composition) != 3 || o.Composition[0].Name != "cache.cu:3 remember" ||
		o.Composition[2].Name != "other sites" {
		t.Errorf("composition %+v", o.Composition)
	}
}

func TestARefusalOfTheDriverHasTheReasonThatItsNumbersProve(t *testing.T) {
	t.Parallel()
	tooMuch := strings.Replace(held("16106127360"), "21474836480", "107374182400", 1)
	crowded := strings.Replace(held("1073741824"), "68719476736", "8589934592", 1)
	for name, c := range map[string]struct {
		detail, others string
		growth         peak.Growth
		reason         peak.Reason
		words          string
	}{
		"leak": {held("16106127360"), "", leak, peak.Growing, "it grew until the driver refused 20.0 GiB"},
		"more than the device has": {tooMuch, "", peak.Growth{}, peak.Request,
			"it asked for 100 GiB at once at main.cu:7 main, and the device has 80.0 GiB."},
		"another process": {crowded, `{"processes":[{"pid":9,"name":"python3","device":0,"bytes":75161927680},
			{"pid":7,"device":0,"bytes":9,"own":true}]}`, peak.Growth{}, peak.OtherProcess,
			"process 9 (python3) holds 70.0 GiB of the device's 80.0 GiB"},
		"others without a name": {crowded, "", peak.Growth{}, peak.OtherProcess, "other processes hold"},
		"a growth of the host's": {held("16106127360"), "", peak.Growth{Sure: true, Class: "host-growth"},
			peak.Driver, "the driver refused"},
		"nothing is known": {`{"asked_bytes":1024,"code":2}`, "", peak.Growth{}, peak.Driver,
			"the driver refused 1 KiB at main.cu:7 main."},
	} {
		o := peak.OutOfMemory(nativeRun(c.detail, c.others), c.growth)
		if o == nil || o.Reason != c.reason || !strings.HasPrefix(o.Sentence, c.words) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestAnExceptionWithoutASizeIsToldByTheRefusalBehindIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]peak.Reason{
		"cuMemAlloc failed: out of memory":                       peak.Driver,
		"Out of memory allocating 1,024 bytes (allocated so far": peak.Full,
	} {
		run := nativeRun(held("16106127360"), "")
		quoted, _ := json.Marshal(record.Died{Text: text})
		run.Events = append(run.Events, record.Event{PID: 7, Kind: record.KindDied,
			Name: "pycuda._driver.MemoryError", Detail: quoted})
		if o := peak.OutOfMemory(run, peak.Growth{}); o == nil || o.Reason != want {
			t.Errorf("%s: %+v", text, o)
		}
	}
}

func TestAnOptimizerThatKeepsItsStateLaterIsNamed(t *testing.T) {
	t.Parallel()
	first := func(gradients int64) *record.Run {
		return detail(t, recorded(t, "optimizer"), func(d *record.OOM) {
			d.Model.Optimizer = &record.Optimizer{Name: "SGD", Parameters: d.Model.Optimizer.Parameters}
			d.Categories["gradients"] = gradients
		})
	}
	o := peak.OutOfMemory(first(28<<30), peak.Growth{})
	if o.Reason != peak.OptimizerStep ||
		!strings.HasPrefix(o.Sentence, "the first step of SGD does not fit: beside ") {
		t.Errorf("%+v", o)
	}
	if o := peak.OutOfMemory(first(0), peak.Growth{}); o.Reason == peak.OptimizerStep {
		t.Errorf("without gradients: %+v", o)
	}
}
