package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// show renders samples so that a table can compare them: names, then rows,
// with ? for unknown.
func show(s *Samples) string {
	var b strings.Builder
	b.WriteString(strings.Join(s.Names(), ","))
	for n := range s.Len() {
		b.WriteByte('|')
		for c, name := range s.Names() {
			if c > 0 {
				b.WriteByte(',')
			}
			if v := s.Column(name)[n]; IsUnknown(v) {
				b.WriteByte('?')
			} else {
				fmt.Fprintf(&b, "%.17g", v)
			}
		}
	}
	return b.String()
}

func warned(list []Warning) string {
	var lines []string
	for _, w := range list {
		lines = append(lines, w.String())
	}
	return strings.Join(lines, "\n")
}

func TestReadCSVTakesWhatIsThereAndWarnsOfTheRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		warns          []string // one substring a warning, in order
	}{
		{"plain", "t_ms,rss_bytes\n0,100\n50.125,200\n", "t_ms,rss_bytes|0,100|50.125,200", nil},
		{"any order and subset", "gpu_bytes,step\n5,1\n", "gpu_bytes,step|5,1", []string{"no column t_ms"}},
		{"crlf, byte order mark, blanks", "\xef\xbb\xbft_ms , rss_bytes\r\n 0 ,\t100 \r\n", "t_ms,rss_bytes|0,100",
			nil},
		{"quotes", "\"t_ms\",\"rss_bytes\"\n\"0\",\"100\"\n\" 1 \",\"\"\n", "t_ms,rss_bytes|0,100|1,?", nil},
		{"quoted comma in a name", "t_ms,\"a,\"\"b\"\"\",rss_bytes\n1,2,3\n", "t_ms,a,\"b\",rss_bytes|1,2,3", nil},
		{"quoted line end in carried text", "t_ms,note,rss_bytes\n1,\"two\nlines\",3\n2,,4\n",
			"t_ms,note,rss_bytes|1,?,3|2,?,4",
			[]string{"f:2: note: holds text"}},
		{"a stray quote swallows nothing", "t_ms,rss_bytes\n1,\"2\n3,4\n5,6\n", "t_ms,rss_bytes|1,?|3,4|5,6",
			[]string{`f:2: rss_bytes: "\"2" is not an amount`}},
		{"empty cells are unknown", "t_ms,rss_bytes,step\n1,,\n2,3,\n", "t_ms,rss_bytes,step|1,?,?|2,3,?", nil},
		{"words for unknown", "t_ms,rss_bytes,gpu_bytes\n1,NaN,n/a\n2,None,-\n3,null,[N/A]\n",
			"t_ms,rss_bytes,gpu_bytes|1,?,?|2,?,?|3,?,?", nil},
		{"minus one and 2^64-1 are unknown", "t_ms,rss_bytes\n1,-1\n2,18446744073709551615\n", "t_ms,rss_bytes|1,?|2,?",
			nil},
		{"bad cells",
			"t_ms,rss_bytes\n1,abc\n2,-5\n3,1e999\n4,0x10\n5,1_000\n6,Inf\n7,9223372036854775808\n8,+7\n9,1e3\n",
			"t_ms,rss_bytes|1,?|2,?|3,?|4,?|5,?|6,?|7,?|8,7|9,1000",
			[]string{"f:2: rss_bytes", "f:3: rss_bytes", "f:4", "f:5", "f:6", "f:7", "f:8"}},
		{"a column that is not ours may be negative", "t_ms,delta\n1,-5\n2,-1\n", "t_ms,delta|1,-5|2,-1", nil},
		{"a negative time is a time", "t_ms,rss_bytes\n-5.5,1\n0,1\n", "t_ms,rss_bytes|-5.5,1|0,1", nil},
		{"large numbers", "t_ms,rss_bytes\n1,9007199254740992\n2,999999999999999\n3,1234567890123456\n",
			"t_ms,rss_bytes|1,9007199254740992|2,999999999999999|3,1234567890123456", nil},
		{"short and long rows", "t_ms,rss_bytes,step\n1,2\n3,4,5,6\n", "t_ms,rss_bytes,step|1,2,?|3,4,5",
			[]string{"f:2: row has 2 cells, the header 3", "f:3: row has 4 cells"}},
		{"second column of a name", "t_ms,rss_bytes,rss_bytes,step\n1,2,9,3\n", "t_ms,rss_bytes,step|1,2,3",
			[]string{"f:1: rss_bytes: second column"}},
		{"column without a name", "t_ms,,rss_bytes,\n1,2,3,\n", "t_ms,rss_bytes|1,3",
			[]string{"column 2 has no name", "column 4 has no name"}},
		{"times that repeat or go back stay", "t_ms,step\n5,1\n5,2\n4,3\n6,4\n", "t_ms,step|5,1|5,2|4,3|6,4",
			[]string{"f:3: t_ms: time 5 repeats", "f:4: t_ms: time goes back from 5 to 4"}},
		{"times are compared within a pid", "t_ms,pid\n5,1\n5,2\n6,1\n6,2\n5,1\n", "t_ms,pid|5,1|5,2|6,1|6,2|5,1",
			[]string{"f:6: t_ms: time goes back"}},
		{"blank lines and comments", "\n\nt_ms,step\n\n1,1\n   \n# note\n2,2\n", "t_ms,step|1,1|2,2",
			[]string{`f:7: t_ms: "# note" is not an amount`, "f:7: line without any value"}},
		{"header alone", "t_ms,rss_bytes\n", "t_ms,rss_bytes", nil},
		{"header alone without line end", "t_ms,rss_bytes", "t_ms,rss_bytes", nil},
		{"empty file", "", "", []string{"f: the file is empty"}},
		{"blank file", "\n \r\n", "", []string{"f: the file is empty"}},
		{"last line cut in a cell before the last", "t_ms,rss_bytes,step\n1,100,1\n2,10",
			"t_ms,rss_bytes,step|1,100,1", []string{"f:3: last line is cut"}},
		{"last line cut in its last cell", "t_ms,rss_bytes\n1,100\n2,10", "t_ms,rss_bytes|1,100",
			[]string{"f:3: last line is cut"}},
		{"whole last line without line end", "t_ms,rss_bytes\n1,100\n2,101", "t_ms,rss_bytes|1,100|2,101", nil},
		{"per device", "t_ms,gpu_bytes@1\n1,-2\n", "t_ms,gpu_bytes@1|1,?", []string{"gpu_bytes@1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)),
				iotest.DataErrReader(strings.NewReader(c.in))} {
				s, warns, err := ReadCSV(r, "f")
				if err != nil {
					t.Fatal(err)
				}
				if got := show(s); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if len(warns) != len(c.warns) {
					t.Fatalf("%d warnings, want %d:\n%s", len(warns), len(c.warns), warned(warns))
				}
				for i, w := range warns {
					if !strings.Contains(w.String(), c.warns[i]) {
						t.Errorf("warning %q, want %q", w, c.warns[i])
					}
				}
			}
		})
	}
}

func TestReadCSVRefusesWhatIsNoSamplesFile(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"numbers without a header": "1,2,3\n4,5,6\n",
		"another file":             "root:x:0:0:root:/root:/bin/sh\n",
		"another table":            "name,age\nx,3\n",
		"a table of another tool":  "timestamp, pid\n2026-11-20, 5\n",
		"a log of training":        "step,loss\n1,0.5\n",
		"binary":                   "\x7fELF\x02\x01\x01\x00\x00\n\xff\xfe",
	} {
		s, _, err := ReadCSV(strings.NewReader(in), "f")
		if !errors.Is(err, ErrNotSamples) || s.Len() != 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestReadCSVKeepsTheRowsBeforeAReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken cable")
	s, _, err := ReadCSV(io.MultiReader(strings.NewReader("t_ms,step\n1,1\n2,2\n3,"), iotest.ErrReader(broken)), "f")
	if !errors.Is(err, broken) || show(s) != "t_ms,step|1,1|2,2" {
		t.Errorf("got %s, %v", show(s), err)
	}
}

func TestReadCSVSkipsAGiantLineAndBoundsWarnings(t *testing.T) {
	t.Parallel()
	in := "t_ms,step\n1,1\n" + strings.Repeat("9", 3*maxLine) + "\n2,2\n" + strings.Repeat("x,3\n", 1000)
	s, warns, err := ReadCSV(strings.NewReader(in), "f")
	if err != nil || s.Len() != 1002 {
		t.Fatalf("%d rows, %v", s.Len(), err)
	}
	if len(warns) != maxWarnings+1 || warns[0].Line != 3 || warns[1].Line != 5 {
		t.Errorf("%d warnings, first %v, %v", len(warns), warns[0], warns[1])
	}
	if last := warns[maxWarnings].Text; last != "901 more warnings not listed" {
		t.Errorf("last warning %q", last)
	}
}

func TestReadCSVDoesNotLetShortRowsFillTheMemory(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	in.WriteString("t_ms")
	for i := range 3000 {
		fmt.Fprintf(&in, ",c%d", i)
	}
	in.WriteString("\n" + strings.Repeat("1\n", 200_000))
	s, warns, err := ReadCSV(&in, "f")
	if err != nil || s.Len()*3001 > 2*freeCells {
		t.Errorf("%d rows, %v", s.Len(), err)
	}
	if last := warns[len(warns)-1].Text; !strings.Contains(last, "more warnings") {
		t.Errorf("last warning %q", last)
	}
}

func TestACutAtAnyByteLeavesAPrefixOfTheRows(t *testing.T) {
	t.Parallel()
	full := "t_ms,step,rss_bytes\n0.000,1,1000\n50.125,2,1001\n100.250,3,1002\n150.375,,1003\n"
	whole, _, err := ReadCSV(strings.NewReader(full), "f")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(show(whole), "|")
	for n := len("t_ms,step,rss_bytes\n"); n <= len(full); n++ {
		s, warns, err := ReadCSV(strings.NewReader(full[:n]), "f")
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		rows := strings.Split(show(s), "|")
		if !slices.Equal(rows, all[:len(rows)]) {
			t.Errorf("cut at %d: %s", n, show(s))
		}
		ends := strings.Count(full[:n], "\n") - 1
		if s.Len() < ends {
			t.Errorf("cut at %d: %d rows of %d whole lines", n, s.Len(), ends)
		}
		if full[n-1] != '\n' && s.Len() == ends && len(warns) != 1 {
			t.Errorf("cut at %d: warnings %s", n, warned(warns))
		}
	}
}

func TestWhatWriteCSVWritesReadCSVReadsBack(t *testing.T) {
	t.Parallel()
	s := NewSamples([]string{"t_ms", "odd, \"name\"", "delta"}, [][]float64{
		{0, 0.5, 1e15}, {math.Inf(1), 2, 3}, {-1.25, Unknown(), 1 << 60},
	})
	var b bytes.Buffer
	if err := WriteCSV(&b, s); err != nil {
		t.Fatal(err)
	}
	back, warns, err := ReadCSV(&b, "f")
	if err != nil || len(warns) != 0 {
		t.Fatal(err, warned(warns))
	}
	if got := show(back); got != `t_ms,odd, "name",delta|0,?,-1.25|0.5,2,?|1000000000000000,3,1.152921504606847e+18` {
		t.Errorf("got %s", got)
	}
	if err := WriteCSV(iotest.TruncateWriter(&b, 0), &Samples{}); err != nil {
		t.Errorf("nothing to write: %v", err)
	}
}

func TestSplitDeviceTakesOnlyWholeDeviceNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"gpu_bytes": "gpu_bytes -1 false", "gpu_bytes@0": "gpu_bytes 0 true", "a@b@12": "a@b 12 true",
		"x@": "x@ -1 false", "x@-1": "x@-1 -1 false", "x@+1": "x@+1 -1 false", "x@1.5": "x@1.5 -1 false",
	} {
		base, n, ok := SplitDevice(in)
		if got := fmt.Sprint(base, " ", n, " ", ok); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// FuzzReadCSV holds that no input panics, that columns have one length, that
// the size of the chunks read does not matter, and that what was read is
// written and read back equal without a warning about a cell.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"t_ms,rss_bytes\n0,100\n50.125,200\n", "\xef\xbb\xbf\"t_ms\" ,pid\r\n1,2\r\n1,2", "step\n1\n-1\n1e9\nx\n",
		"t_ms,n\n1,\"a\nb\"\n2,\"\n3,4\n", ",,\n", "t_ms,t_ms,\n1,2,3,4,5\n", "rss_bytes@1\n18446744073709551615\n",
		"t_ms,odd\n1,1e81\n2,1e-81\n3,123456789e-72",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, warns, err := ReadCSV(bytes.NewReader(in), "f")
		if len(warns) > maxWarnings+1 {
			t.Fatalf("%d warnings", len(warns))
		}
		for _, name := range s.Names() {
			if len(s.Column(name)) != s.Len() {
				t.Fatal("columns of different length")
			}
		}
		again, _, againErr := ReadCSV(iotest.HalfReader(bytes.NewBuffer(in)), "f")
		if (err == nil) != (againErr == nil) || show(again) != show(s) {
			t.Fatalf("read in other chunks: %s, %v; before %s, %v", show(again), againErr, show(s), err)
		}
		if err != nil || s.Len() == 0 {
			return
		}
		var b bytes.Buffer
		if err := WriteCSV(&b, s); err != nil {
			t.Fatal(err)
		}
		written := b.String()
		back, _, err := ReadCSV(&b, "f")
		if err != nil || show(back) != show(s) {
			t.Fatalf("%q became %q: %s, want %s, %v", in, written, show(back), show(s), err)
		}
	})
}
