package importer

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// snapshot is a real one: 60 training steps of a PyTorch 2.11 program on an
// NVIDIA H200 that adds its loss up without detaching it, and keeps a tensor
// of 4 MiB a step. It printed 565 MiB allocated and 568 MiB reserved.
func snapshot(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open("testdata/torch_snapshot_leak.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestARealSnapshotGivesAccountsEventsAndSurvivors(t *testing.T) {
	t.Parallel()
	run, err := Read(bytes.NewReader(snapshot(t)), "leak.pickle")
	if err != nil {
		t.Fatal(err)
	}
	live, idle, count := run.Samples.Column(record.ColLive), run.Samples.Column(record.ColIdle),
		run.Samples.Column(record.ColLiveCount)
	last := len(live) - 1
	if int64(live[last])>>20 != 565 || live[last]+idle[last] != 568*mib || count[last] != 83 {
		t.Errorf("at the end %.2f MiB live, %.2f reserved, %v blocks", live[last]/mib,
			(live[last]+idle[last])/mib, count[last])
	}
	if last < 2000 {
		t.Errorf("%d rows of 2,728 events", last+1)
	}
	sites := run.Events[len(run.Events)-1].Sites
	top := map[string]record.Site{}
	var sum int64
	for _, s := range sites {
		top[s.Site] = s
		sum += s.Bytes
	}
	if s := top["train.py:11 <module>"]; s.Bytes != 240*mib || s.Count != 60 {
		t.Errorf("the tensor kept each step: %+v in %+v", s, sites)
	}
	if sum != int64(live[last]) {
		t.Errorf("survivors have %d bytes, live are %.0f", sum, live[last])
	}
	if !warned(run, 0, "568 MiB reserved in 19 segments") {
		t.Errorf("%+v", run.Warnings)
	}
}

func TestACutSnapshotIsAnError(t *testing.T) {
	t.Parallel()
	data := snapshot(t)
	for _, n := range []int{100, 1000, len(data) / 2, len(data) - 1} {
		if _, err := Read(bytes.NewReader(data[:n]), "cut"); err == nil ||
			!strings.Contains(err.Error(), "at byte") {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// dump is a snapshot in Python's opcodes of protocol 4, as few as there are.
type dump struct{ bytes.Buffer }

func (d *dump) str(s string) *dump {
	d.WriteByte(opShortUnicode)
	d.WriteByte(byte(len(s)))
	d.WriteString(s)
	return d
}

func (d *dump) num(n uint64) *dump {
	d.Write([]byte{opLong1, 9})
	d.Write(binary.LittleEndian.AppendUint64(nil, n))
	d.WriteByte(0)
	return d
}

// dict writes key and value pairs; a value is a string, a number, or a func
// that writes it.
func (d *dump) dict(kv ...any) *dump {
	d.WriteString("}(")
	for i := 0; i < len(kv); i += 2 {
		d.str(kv[i].(string))
		switch v := kv[i+1].(type) {
		case string:
			d.str(v)
		case int:
			d.num(uint64(v))
		case uint64:
			d.num(v)
		case func():
			v()
		}
	}
	d.WriteByte(opSetItems)
	return d
}

func (d *dump) list(items ...func()) {
	d.WriteString("](")
	for _, f := range items {
		f()
	}
	d.WriteByte(opAppends)
}

// twoDevices has one live and one idle block on each of two devices and no
// events; addresses are beyond 2^63.
func twoDevices() []byte {
	d := &dump{}
	d.Write([]byte{opProto, 4})
	segment := func(device int) func() {
		return func() {
			d.dict("device", device, "address", uint64(1)<<63+5, "total_size", 3*mib, "blocks", func() {
				d.list(
					func() { d.dict("size", 2*mib, "state", "active_allocated") },
					func() { d.dict("size", mib, "state", "inactive") })
			})
		}
	}
	d.dict("segments", func() { d.list(segment(0), segment(3)) }, "device_traces", func() { d.list() })
	d.WriteByte('.')
	return d.Bytes()
}

func TestASnapshotWithoutEventsSaysThatItShowsNoGrowth(t *testing.T) {
	t.Parallel()
	run, err := Read(bytes.NewReader(twoDevices()), "two.pickle")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"@0", "@3"} {
		want(t, run, record.ColLive+n, 2*mib)
		want(t, run, record.ColIdle+n, mib)
		want(t, run, record.ColLiveCount+n, 1)
	}
	if run.Samples.Column(record.ColTime) != nil || !warned(run, 0, "cannot show growth") {
		t.Errorf("%+v", run.Warnings)
	}
	if s := run.Events[0].Sites; len(s) != 1 || s[0].Site != "no stack recorded" || s[0].Bytes != 4*mib {
		t.Errorf("%+v", s)
	}
}

func TestNothingInAPickleIsRun(t *testing.T) {
	t.Parallel()
	system := "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R."
	for name, data := range map[string]string{
		"stack global": strings.Replace(system, "\x80\x04", "\x80\x04\x8c\x08segments0", 1),
		"global":       "\x80\x02U\x08segments0cos\nsystem\nU\x04true\x85R.",
		"reduce":       "\x80\x04\x8c\x08segments)R.",
	} {
		if _, err := Read(strings.NewReader(data), "evil"); err == nil ||
			!strings.Contains(err.Error(), "run") && !strings.Contains(err.Error(), "call") {
			t.Errorf("%s: %v", name, err)
		}
	}
	tagged := "\x80\x04\x8c\x08segments0ctorch.jit._pickle\nrestore_type_tag\n](}\x8c\x06device" +
		"K\x01se\x8c\x01x\x86R."
	if _, err := Read(strings.NewReader(tagged), "tagged"); err != nil {
		t.Errorf("torch's own wrapper is refused: %v", err)
	}
}

func TestDamagedPicklesAreErrors(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{
		"pop of nothing": "00", "mark alone": "(.", "no mark": "t.", "memo never set": "h\x07.",
		"put of nothing": "q\x01",
		"odd dict":       "(Nd.", "append to none": "NNa.", "items to list": "](NNu.",
		"unknown opcode": "\xff",
		"short text":     "\x8c\xffabc",
		"huge text":      "\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc",
		"huge bytes":     "\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc", "tuple of nothing": "\x87",
		"plain number": "K\x01.", "frame": "\x95\x01", "protocol": "\x80\x09", "global without end": "c" +
			strings.Repeat("a", 2000),
	} {
		if _, err := Read(strings.NewReader("\x80\x04\x8c\x08segments0"+tail), name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestNumbersOfEveryWidthAreRead(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"K\xff":             "255",
		"M\xff\xff":         "65535",
		"J\xfe\xff\xff\xff": "-2",
		"J\x00\x00\x00\x40": "1073741824",
		"\x8a\x00":          "0",
		"\x8a\x01\x80":      "-128",
		"\x8a\x02\xff\x00":  "255",
		"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f":         "9223372036854775807",
		"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00":     "9223372036854775808",
		"\x8b\x01\x00\x00\x00\x07":                         "7",
		"\x8a\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01": "opaque",
		"\x88": "true", "\x89": "false", "N": "none",
		"G\x40\x45\x00\x00\x00\x00\x00\x00": "42",
	} {
		p := newPickle(newReader(data + "."))
		v, err := p.load()
		if got := show(p, v); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", data, got, err, want)
		}
	}
}

func show(p *pickle, v value) string {
	switch v.kind() {
	case kindInt:
		return fmt.Sprint(int64(v) >> 4)
	case kindBig:
		return fmt.Sprint(p.bigs[v.index()])
	case kindFloat:
		return fmt.Sprint(p.floats[v.index()])
	case kindBool:
		return fmt.Sprint(v == pickleTrue)
	case kindNone:
		return "none"
	case kindOpaque:
		return "opaque"
	}
	return "other"
}
