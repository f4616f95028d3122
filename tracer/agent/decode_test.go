package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestDecodeTakesNumbersAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"sample":{"t_ns":5,"a":1,"b":-2}}`:                                     "5 [{a 1} {b -2}]",
		` { "sample" : { "t_ns" : 5 , "a" : 1 } } `:                              "5 [{a 1}]",
		`{"sample":{"a":null,"b":"7","c":true,"d":[1],"e":{}}}`:                  "0 []",
		`{"sample":{"a":1.6,"b":1e3,"c":-0,"d":1e300,"e":-9223372036854775808}}`: "0 [{a 2} {b 1000} {c 0} {e -9223372036854775808}]",
		`{"sample":{"big":9223372036854775807,"more":9223372036854775808}}`:      "0 [{big 9223372036854775807}]",
		`{"sample":{"bad name":1,"":2,"gpu_bytes@1":3,"\u0061":4}}`:              "0 [{a 4} {gpu_bytes@1 3}]",
		`{"sample":{}}`: "0 []",
		`{"sample":{"t_ns":1},"unknown":{"x":1}}`: "1 []",
		`{"sample":{"a":1,"a":2}}`:                "0 [{a 1} {a 2}]",
	} {
		m, err := newDecoder().decode([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := fmt.Sprint(m.Sample.TNs, " ", m.Sample.Cells); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"", "x", "[]", "1", `"s"`, `{"sample":{"a":01}}`, `{"sample":{"a":1}`,
		`{"sample":{"a":1}}}`, `{"sample":{"a":1,}}`, `{"hello":7}`} {
		if m, err := newDecoder().decode([]byte(in)); err == nil {
			t.Errorf("%s: got %+v", in, m)
		}
	}
}

func TestWhatTheClientEncodesTheServerDecodes(t *testing.T) {
	t.Parallel()
	var enc sampleEncoder
	d := newDecoder()
	for range 2 { // the second time with the keys of the first
		enc.begin(1 << 58)
		cells := []record.Cell{{Column: record.ColStep, Value: -1}, {Column: "x/y:z@2", Value: 1 << 50},
			{Column: record.ColLive}}
		for i, c := range cells {
			enc.cell(i, c)
		}
		line := enc.end()
		m, err := d.decode(line[:len(line)-1])
		if err != nil || m.Sample.TNs != 1<<58 || !slices.Equal(m.Sample.Cells, cells) {
			t.Errorf("%s became %+v, %v", line, m.Sample, err)
		}
	}
}

func TestPlainSamplesAllocateNothing(t *testing.T) {
	d := newDecoder()
	line := []byte(`{"sample":{"t_ns":123456789,"step":7,"pool_live_bytes":1048576,"dropped":0}}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.decode(line); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// FuzzDecode holds that no line panics, that the short way reads exactly what
// the long way reads, and that only valid JSON passes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"sample":{"t_ns":5,"a":1,"b":-2}}`, `{"sample":{"a":01}}`, `{"sample":{"a":-}}`,
		`{"sample":{"a":1}} `, `{"sample":{"a\n":1}}`,
		`{"hello":{"v":1,"pid":5,"actions":["x"]}}`, `{"mark":{"kind":"step","step":1e9}}`,
		`{"done":{"id":1,"detail":{"sites":[]}}}`,
		`{"sample":{"a":999999999999999999}}`, `{"sample":{"a":1.0,"b":null}}`, `{"SAMPLE":{"a":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		short := newDecoder()
		plain := short.plainSample(line)
		m, err := newDecoder().decode(line)
		if err == nil && !json.Valid(line) {
			t.Fatalf("%q is not JSON", line)
		}
		if !plain {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var long struct {
			Sample map[string]json.Number `json:"sample"`
		}
		if err := json.Unmarshal(line, &long); err != nil {
			t.Fatalf("%q passed the short way only: %v", line, err)
		}
		last := map[string]int64{"t_ns": m.Sample.TNs}
		for _, c := range m.Sample.Cells {
			last[c.Column] = c.Value
		}
		for name, number := range long.Sample {
			want, err := number.Int64()
			if err != nil || last[name] != want {
				t.Fatalf("%q: %s is %d, want %s, %v", line, name, last[name], number, err)
			}
		}
	})
}
