package peak_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// window is three steps of a small GPT, recorded on an H100 with PyTorch 2.11, whose
// allocator counted a maximum of 1,319,619,584 bytes in them.
func window(t *testing.T) *record.Run {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "window.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := record.ReadEvents(z, "window.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return &record.Run{Events: events}
}

func TestTheReplayedPeakOfARealModelIsTheAllocatorsOwn(t *testing.T) {
	t.Parallel()
	p, why := peak.OfWindow(window(t))
	if p == nil {
		t.Fatal(why)
	}
	const allocator = 1_319_619_584
	if p.Allocator == nil || *p.Allocator != allocator || p.Bytes != allocator {
		t.Errorf("peak of %d bytes, the allocator's %d", p.Bytes, allocator)
	}
	if p.Unexplained == nil || *p.Unexplained != 0 {
		t.Errorf("unexplained: %v", p.Unexplained)
	}
	sum, by := int64(0), map[string]int64{}
	for _, c := range p.Categories {
		sum += c.Bytes
		by[c.Name] = c.Bytes
	}
	if sum != p.Bytes {
		t.Errorf("categories sum to %d, want %d", sum, p.Bytes)
	}
	golden := filepath.Join("testdata", "window.golden")
	var b strings.Builder
	fmt.Fprintf(&b, "at %.1f ms\n", p.AtMs)
	for _, c := range p.Categories {
		fmt.Fprintf(&b, "%s %d\n", c.Name, c.Bytes)
	}
	for _, s := range p.Sites[:8] {
		fmt.Fprintf(&b, "- %s, %s: %d in %d\n", s.Site, s.Category, s.Bytes, s.Count)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
		t.Errorf("%v; got\n%swant\n%s", err, b.String(), want)
	}
}

func TestTheTimelineOfAWindowHasThePeakAndStaysShort(t *testing.T) {
	t.Parallel()
	p, _ := peak.OfWindow(window(t))
	most := int64(0)
	for _, m := range p.Timeline {
		sum := int64(0)
		for _, b := range m.Bytes {
			sum += b
		}
		most = max(most, sum)
	}
	if most != p.Bytes || len(p.Timeline) > 240 || len(p.Timeline) < 50 {
		t.Errorf("%d moments with at most %d bytes", len(p.Timeline), most)
	}
}

func TestThePartsOfAPeakSumToIt(t *testing.T) {
	t.Parallel()
	p, _ := peak.OfWindow(window(t))
	sum, made := int64(0), int64(0)
	by := map[string]int64{}
	for _, part := range p.AtPeak() {
		sum += part.Bytes
		by[part.Category] += part.Bytes
	}
	for _, part := range p.Allocated() {
		made += part.Bytes
	}
	if sum != p.Bytes || by["activations"] == 0 || made < p.Bytes {
		t.Errorf("the parts sum to %d of %d, of which activations %d; allocated %d", sum, p.Bytes,
			by["activations"], made)
	}
}

func TestTheCourseOfAWindowHasThePeakAndItsComposition(t *testing.T) {
	t.Parallel()
	p, _ := peak.OfWindow(window(t))
	now, most, last := map[string]int64{}, int64(0), 0.
	p.Course(func(c peak.Change) {
		if c.Live < 0 || c.Ms < last {
			t.Fatalf("%+v after %v ms", c, last)
		}
		last, now[c.Category] = c.Ms, c.Live
		sum := int64(0)
		for _, bytes := range now {
			sum += bytes
		}
		most = max(most, sum)
	})
	if most != p.Bytes {
		t.Errorf("the most is %d, want %d", most, p.Bytes)
	}
}

func TestAWindowThatIsNotWholeIsNotReplayed(t *testing.T) {
	t.Parallel()
	run := window(t)
	run.Events = run.Events[:len(run.Events)-1]
	if p, why := peak.OfWindow(run); p != nil || why == "" {
		t.Errorf("%+v, %q", p, why)
	}
	run = window(t)
	for i := range run.Events {
		d, _ := record.DetailOf[record.Window](&run.Events[i])
		d.Overflowed = true
		run.Events[i].Detail, _ = json.Marshal(d)
	}
	if p, why := peak.OfWindow(run); p != nil || why == "" {
		t.Errorf("%+v, %q", p, why)
	}
}

func TestAWindowMadeToConfuseCannotBreakTheReplay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"part":0,"parts":1}`,
		`{"part":0,"parts":1,"events":[[1,-5,0,9],[1,5,0,77],[1,5,0,-3],[1,-5,0,-1]],"live":[[1,5,99],[1,5,-1]],
		"stacks":[[5,-1]],"frames":["a"],"boundaries":[9,1]}`,
		`{"part":0,"parts":1000000000}`, `{"part":-1,"parts":1}`,
	} {
		peak.OfWindow(&record.Run{Events: []record.Event{{Kind: record.KindWindow, Detail: []byte(text)}}})
	}
}
