//go:build unix

package tracer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestLongMarksAreCutAndDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	file := filepath.Join(t.TempDir(), "lines")
	long := strings.Repeat("é", 250_000)
	var lines strings.Builder
	lines.WriteString(`{"hello":{"v":1,"pid":PID}}` + "\n")
	for n := range 100 {
		fmt.Fprintf(&lines, `{"mark":{"kind":"event","name":"%s","detail":{"n":%d,"text":"%s"}}}`+"\n",
			long[:400_000], n, long)
	}
	fmt.Fprintf(&lines, `{"mark":{"kind":"phase","name":"%s"}}`+"\n", long)
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	res, run := trace(t, childConfig(t, "hostile "+file))
	info, err := os.Stat(filepath.Join(res.Dir, record.FileEvents))
	if err != nil || info.Size() > 2<<20 {
		t.Errorf("events.jsonl has %d bytes, %v", info.Size(), err)
	}
	marks := 0
	for _, e := range run.Events {
		if e.Kind == record.KindEvent && len(e.Name) <= maxName && utf8.ValidString(e.Name) &&
			strings.HasSuffix(e.Name, "…") &&
			strings.Contains(string(e.Detail), "left_out_bytes") {
			marks++
		}
	}
	if marks != 100 {
		t.Errorf("%d marks, want 100", marks)
	}
	if text := strings.Join(res.Warnings, "\n"); strings.Count(text, "101 marks are cut") != 1 {
		t.Errorf("warnings %s", text)
	}
}

func TestWhatSumsARunUpComesThroughAfterAFloodOfMarks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lines")
	var lines strings.Builder
	lines.WriteString(`{"hello":{"v":1,"pid":PID}}` + "\n")
	const flood = 16 * marksPerSecond
	for range flood {
		lines.WriteString(`{"mark":{"kind":"statement","name":"Let","at":"a.go:1:1"}}` + "\n")
	}
	for _, last := range []string{
		`"kind":"statement","name":"Let","at":"a.go:1:1","detail":{"rss_delta_bytes":7,"count":9}`,
		`"kind":"clones","detail":{"clones":[]}`, `"kind":"event","name":"hazards: 12"`,
	} {
		lines.WriteString(`{"mark":{` + last + `}}` + "\n")
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	res, run := trace(t, childConfig(t, "hostile "+file))
	sums, recorded := 0, 0
	for _, e := range run.Events {
		if e.Kind == record.KindStatement && len(e.Detail) == 0 {
			recorded++
		}
		if e.Kind == record.KindClones || e.Kind == record.KindStatement && len(e.Detail) > 0 ||
			e.Name == record.EventHazards+"12" {
			sums++
		}
	}
	// A machine that is slow enough has time for all of them.
	text := strings.Join(res.Warnings, "\n")
	if warned := strings.Contains(text, "are not recorded"); sums != 3 || warned != (recorded < flood) {
		t.Errorf("%d of 3 sums, %d of %d marks, warnings %s", sums, recorded, flood, text)
	}
}

func TestMarksOfARunAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	const size = 4 << 10
	b := newMarkBudget()
	now := int64(time.Hour)
	second := 0
	for b.take(now, size) {
		second++
	}
	if second != 2*markBytesPerSecond/size {
		t.Errorf("%d at once", second)
	}
	for range 3600 {
		now += int64(time.Second)
		for b.take(now, size) {
			continue
		}
	}
	if b.bytes != maxMarkBytes || b.written != maxMarkBytes/size || b.surplus == 0 {
		t.Errorf("%d bytes in %d marks, %d over", b.bytes, b.written, b.surplus)
	}
}

func TestARunOfManyHoursTellsOfItsLastOnesAsWell(t *testing.T) {
	t.Parallel()
	const size = 4 << 10
	b := newMarkBudget()
	now := int64(time.Hour)
	for range 4 {
		before := b.written
		for range 60 {
			now += int64(time.Second)
			for b.take(now, size) {
				continue
			}
		}
		if n := b.written - before; n != maxMarkBytes/size {
			t.Errorf("%d marks", n)
		}
		now += int64(markRefill)
	}
}

func TestADetailThatIsTooLongSaysHowLongItWas(t *testing.T) {
	t.Parallel()
	short := json.RawMessage(`{"a":1}`)
	if got := clipDetail(short, len(short)); string(got) != string(short) {
		t.Errorf("%s", got)
	}
	if got := clipDetail(short, len(short)-1); string(got) != `{"left_out_bytes":7}` {
		t.Errorf("%s", got)
	}
}

func TestALookAtBlocksTellsOfManyPools(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	pools := strings.Repeat(`{"stream":94250000000,"idle_bytes":20971520,"live_bytes":0},`, 128)
	lines := `{"hello":{"v":1,"pid":PID}}` + "\n" +
		`{"mark":{"kind":"generations","name":"","detail":{"generations":[],"pools":[` + strings.TrimSuffix(pools, ",") +
		"]}}}\n"
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	_, run := trace(t, childConfig(t, "hostile "+file))
	for i := range run.Events {
		if n := len(record.PoolsOf(&run.Events[i])); n > 0 {
			if n != 128 {
				t.Errorf("%d pools", n)
			}
			return
		}
	}
	t.Error("no pools are told")
}
