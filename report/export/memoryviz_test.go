package export

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gpumem/gpumem/tracer/importer"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestASnapshotReadBackByTheImporterHasTheSameCourse(t *testing.T) {
	t.Parallel()
	run := leak()
	back, err := importer.Read(bytes.NewReader(exported(t, MemoryViz, run)), "x.pickle")
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(run)
	if back.Samples.Len() != len(rows) {
		t.Fatalf("%d rows of %d", back.Samples.Len(), len(rows))
	}
	for _, name := range []string{record.ColLive, record.ColIdle} {
		for i, row := range rows {
			if got, want := back.Samples.Column(name)[i], run.Samples.Column(name)[row]; got != want {
				t.Fatalf("row %d: %s %.0f, want %.0f", i, name, got, want)
			}
		}
	}
	if back.Samples.Column(record.ColLiveCount) != nil {
		t.Error("blocks that are no allocations are counted as if they were")
	}
	first := rows[0]
	if got, want := back.Samples.Column(record.ColTime)[10],
		run.Samples.Column(record.ColTime)[rows[10]]-run.Samples.Column(record.ColTime)[first]; got != want {
		t.Errorf("t_ms %v, want %v", got, want)
	}
	if !back.Meta.Start.Equal(run.Meta.Start) {
		t.Errorf("started %v", back.Meta.Start)
	}
	held := map[string]int64{}
	for _, s := range back.Events[len(back.Events)-1].Sites {
		held[s.Site] = s.Bytes
	}
	if held["/src/train.py:11 <module>"] != 200*mib || held["at::native::conv2d"] != 40*mib ||
		held[unnamedSite] != 23*mib {
		t.Errorf("survivors %v", held)
	}
}

// viewer goes through a snapshot as PyTorch's viewer does, back from its end:
// every block lies in a segment at every moment, blocks do not overlap, a free
// is of what was allocated, and the timeline ends with what is live.
const viewer = `
import json, pickle, sys
s = pickle.load(sys.stdin.buffer)
peak = 0
for device, trace in enumerate(s["device_traces"]):
    segments, blocks = {}, {}
    for seg in s["segments"]:
        if seg["device"] != device: continue
        assert seg["address"] + seg["total_size"] == seg["blocks"][-1]["address"] + seg["blocks"][-1]["size"]
        segments[seg["address"]] = seg["total_size"]
        for b in seg["blocks"]:
            assert b["size"] > 0
            if b["state"] == "active_allocated": blocks[b["address"]] = b["size"]
    live = {}
    for e in trace:
        if e["action"] == "alloc":
            assert e["addr"] not in live; live[e["addr"]] = e["size"]
        elif e["action"] == "free_completed":
            assert live.pop(e["addr"]) == e["size"]
        peak = max(peak, sum(live.values()))
    assert live == blocks, (live, blocks)
    reserved = sum(segments.values())
    for e in reversed(trace):
        base = (device + 1) << 44
        assert all(a + n <= base + reserved for a, n in blocks.items())
        if e["action"] == "alloc": assert blocks.pop(e["addr"]) == e["size"]
        elif e["action"] == "free_completed": blocks[e["addr"]] = e["size"]
        elif e["action"] == "segment_map": reserved -= e["size"]; assert e["addr"] == base + reserved
        elif e["action"] == "segment_unmap": assert e["addr"] == base + reserved; reserved += e["size"]
    assert reserved == 0 and not blocks
print(json.dumps({"devices": len(s["device_traces"]), "segments": len(s["segments"]), "peak": peak,
    "timed": all("time_us" in e for t in s["device_traces"] for e in t)}))
`

func TestASnapshotIsConsistentToPythonAndToAViewer(t *testing.T) {
	t.Parallel()
	sawtooth := leak()
	live, idle := sawtooth.Samples.Column(record.ColLive), sawtooth.Samples.Column(record.ColIdle)
	for i := range live {
		live[i], idle[i] = float64((i*37)%11*1000), float64((i*53)%7*100)
	}
	for name, c := range map[string]struct {
		run  *record.Run
		want string
	}{
		"leak":     {leak(), `{"devices": 1, "segments": 1, "peak": 275775488, "timed": true}`},
		"sawtooth": {sawtooth, `{"devices": 1, "segments": 1, "peak": 10000, "timed": true}`},
		"untimed":  {untimed(), `{"devices": 3, "segments": 1, "peak": 7, "timed": false}`},
	} {
		got := python(t, "", viewer, exported(t, MemoryViz, c.run))
		if got != c.want+"\n" {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestALongRunKeepsItsExtremesInASnapshot(t *testing.T) {
	t.Parallel()
	live := make([]float64, 4*maxVizRows)
	for i := range live {
		live[i] = float64(100 + i%3)
	}
	live[77_777], live[99_999] = 5000, 1
	run := &record.Run{Path: "long", Samples: record.NewSamples([]string{record.ColLive}, [][]float64{live})}
	states := vizDevices(run)[0].states
	most, least := int64(0), int64(1<<40)
	for _, s := range states {
		most, least = max(most, s.live), min(least, s.live)
	}
	if len(states) > maxVizRows+1 || most != 5000 || least != 1 ||
		states[len(states)-1].live != int64(live[len(live)-1]) {
		t.Errorf("%d states from %d to %d", len(states), least, most)
	}
}

func TestAHostileRunStaysAPlainPickle(t *testing.T) {
	t.Parallel()
	out := python(t, "", `
import json, pickle, sys
class Plain(pickle.Unpickler):
    def find_class(self, module, name): raise Exception("a global: " + module + " " + name)
s = Plain(sys.stdin.buffer).load()
print(json.dumps(max(len(b["frames"][0]["name"]) for g in s["segments"] for b in g["blocks"] if "frames" in b)))
`, exported(t, MemoryViz, hostile()))
	var longest int
	if err := json.Unmarshal([]byte(out), &longest); err != nil || longest > maxText+1 || longest < maxText/2 {
		t.Errorf("the longest name has %d characters (%v)", longest, err)
	}
}

// PyTorch's viewer has an unpickler of its own, in JavaScript, which knows these
// opcodes (torch/utils/viz/MemoryViz.js) and integers of up to 53 bits.
func TestASnapshotUsesOnlyWhatThePyTorchViewerCanRead(t *testing.T) {
	t.Parallel()
	got := python(t, "", `
import pickletools, sys
known = set("""APPENDS BINGET BININT BININT1 BININT2 EMPTY_DICT EMPTY_LIST FRAME LONG1 LONG_BINGET MARK MEMOIZE PROTO SETITEMS
SHORT_BINUNICODE STOP TUPLE2 APPEND NEWFALSE BINPUT BINUNICODE EMPTY_TUPLE NEWTRUE NONE BINFLOAT TUPLE TUPLE1 TUPLE3""".split())
for op, arg, _ in pickletools.genops(sys.stdin.buffer.read()):
    if op.name not in known or isinstance(arg, int) and abs(arg) >= 1 << 53: print(op.name, arg)
`, exported(t, MemoryViz, leak()))
	if got != "" {
		t.Error(got)
	}
}
