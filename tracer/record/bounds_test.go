package record

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestAHeaderOverTheBoundSaysHowManyColumnsItHas(t *testing.T) {
	t.Parallel()
	wide := func(n int) string {
		var b strings.Builder
		b.WriteString("t_ms")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, ",c%d", i)
		}
		return b.String() + "\n1" + strings.Repeat(",2", n-1) + "\n"
	}
	s, warns, err := ReadCSV(strings.NewReader(wide(1_000_000)), "f")
	if err == nil || s.Len() != 0 || !strings.Contains(err.Error(),
		"the header has 1,000,000 columns in 8 MiB; at most 4,096 columns") {
		t.Errorf("a million columns: %v, %s", err, warned(warns))
	}
	s, warns, err = ReadCSV(strings.NewReader(wide(100_000)), "f")
	if err != nil || s.Len() != 1 || len(s.Names()) != maxColumns || s.Column("c4095")[0] != 2 ||
		warned(warns) != "f:1: the header has 100,000 columns; the first 4,096 are read" {
		t.Errorf("many columns: %d rows, %v, %s", s.Len(), err, warned(warns))
	}
}

// endless is a text that repeats for ever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		k := copy(b[n:], e.text[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.text)
	}
	return n, nil
}

func TestBlankLinesWithoutAnEndAreNotReadForEver(t *testing.T) {
	t.Parallel()
	_, _, err := ReadCSV(&endless{text: "\n"}, "f")
	if err == nil || !strings.Contains(err.Error(), "no header in the first 4 MiB") {
		t.Error(err)
	}
}

func TestRowsWithoutAnEndAreKeptUpToABound(t *testing.T) {
	t.Parallel()
	warn := &warnings{file: "f"}
	table, err := newCSVTable([]string{ColTime, ColRSS}, 2, false, warn)
	if err != nil || table.most != maxRows {
		t.Fatalf("%+v, %v", table, err)
	}
	table.most = 1000
	table.read(newLineReader(&endless{text: "1,2\n"}, func(int) {}))
	if s := table.samples(); s.Len() != 1000 ||
		!strings.Contains(warned(warn.all()), "f:1001: reading ends here: at most 1,000 rows of 2 columns are kept") {
		t.Errorf("%d rows, %.300s", s.Len(), warned(warn.all()[len(warn.list)-1:]))
	}
}

func TestEventsOfAnySizeAreReadInBoundedMemory(t *testing.T) {
	const marks = 100
	part := `{"t_ms":1,"kind":"event","name":"x","detail":"` + strings.Repeat("y", 1_000_000) + `"}` + "\n"
	r := &measured{r: io.LimitReader(&endless{text: part}, int64(marks*len(part)))}
	events, warns, err := ReadEvents(r, "e")
	if err != nil || len(events) != marks || !strings.Contains(warned(warns), "details of 100 events were left out") {
		t.Errorf("%d events, %v, %s", len(events), err, warned(warns))
	}
	t.Logf("%d MB of marks were read with %d MiB", marks*len(part)/1e6, r.most>>20)
	if r.most > 64<<20 {
		t.Errorf("reading took %d MiB", r.most>>20)
	}
}

// measured is a reader that looks how much memory is in use while it is read.
type measured struct {
	r     io.Reader
	begun bool
	first uint64
	most  int64
}

func (m *measured) Read(b []byte) (int, error) {
	var now runtime.MemStats
	if !m.begun {
		runtime.GC()
	}
	runtime.ReadMemStats(&now)
	if !m.begun {
		m.begun, m.first = true, now.HeapAlloc
	}
	m.most = max(m.most, int64(now.HeapAlloc)-int64(m.first))
	return m.r.Read(b)
}

func TestManyMarksAreThinnedEvenlyAndNoStepIsMiscounted(t *testing.T) {
	t.Parallel()
	const steps = 250_000
	var b bytes.Buffer
	for i := range steps {
		if i == steps/2 {
			b.WriteString(`{"t_ms":125000,"kind":"phase","name":"baseline"}` + "\n")
		}
		fmt.Fprintf(&b, `{"t_ms":%d,"pid":7,"kind":"step"}`+"\n", i) // without a number: they are counted
	}
	events, warns, err := ReadEvents(&b, "e")
	if err != nil || len(events) >= steps/2 || len(events) < steps/16 ||
		!strings.Contains(warned(warns), "of 250,001 events were left out, evenly") {
		t.Fatalf("%d events, %v, %s", len(events), err, warned(warns))
	}
	phases, last, gap := 0, -1., 0.
	for _, e := range events {
		switch {
		case e.Kind == KindPhase:
			phases++
			continue
		case e.Step != int64(e.TMs)+1:
			t.Fatalf("the step at %v ms says %d", e.TMs, e.Step)
		}
		gap, last = max(gap, e.TMs-last), e.TMs
	}
	if phases != 1 || gap > 16 {
		t.Errorf("%d phases, %v steps between two that are kept", phases, gap)
	}
}

func TestOfListsThatAreReplacedTheLastOnesStay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	var b bytes.Buffer
	site := strings.Repeat("s", 1000)
	for i := range 100 {
		for pid := range 2 {
			fmt.Fprintf(&b, `{"t_ms":%d,"pid":%d,"kind":"sites","sites":[{"site":"%d","bytes":1,"count":1}`, i, pid+1, i)
			for range 250 {
				fmt.Fprintf(&b, `,{"site":"%s","bytes":1,"count":1}`, site)
			}
			b.WriteString("]}\n")
		}
	}
	events, warns, err := ReadEvents(&b, "e")
	if err != nil {
		t.Fatal(err)
	}
	var kept [3]int
	for _, e := range events {
		if len(e.Sites) > 0 {
			kept[e.PID]++
		}
	}
	for pid := 1; pid <= 2; pid++ {
		e := events[len(events)-3+pid]
		if e.PID != pid || len(e.Sites) != 251 || e.Sites[0].Site != "99" || kept[pid] > 80 {
			t.Errorf("of process %d %d lists are kept, the last is %.60v", pid, kept[pid], e.Sites)
		}
	}
	if !strings.Contains(warned(warns), "lists of sites or holders that later ones replace were left out") {
		t.Error(warned(warns))
	}
}
