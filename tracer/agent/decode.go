package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// maxNames bounds the column names that one connection can make us keep.
const maxNames = 1024

// Sample is one sample as it arrived. Cells belong to the connection and are
// valid until the handler returns.
type Sample struct {
	TNs   int64 // 0 when the program did not say
	Cells []record.Cell
}

// Message is one line from a program. The fields that are set were in it.
type Message struct {
	Hello  *Hello
	Sample *Sample
	Mark   *Mark
	Done   *Done
}

// errNotJSON closes a connection.
var errNotJSON = errors.New("a line is not a JSON object")

// decoder takes lines apart. A Message it returns is valid until the next.
type decoder struct {
	names  map[string]string // column names seen, so that they are made once
	msg    Message
	sample Sample
}

func newDecoder() *decoder { return &decoder{names: map[string]string{}} }

// decode takes a line apart.
func (d *decoder) decode(line []byte) (*Message, error) {
	d.msg = Message{}
	d.sample = Sample{Cells: d.sample.Cells[:0]}
	if d.plainSample(line) {
		d.msg.Sample = &d.sample
		return &d.msg, nil
	}
	d.sample = Sample{Cells: d.sample.Cells[:0]}
	var raw struct {
		Hello  *Hello                     `json:"hello"`
		Sample map[string]json.RawMessage `json:"sample"`
		Mark   *Mark                      `json:"mark"`
		Done   *Done                      `json:"done"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotJSON, err)
	}
	d.msg.Hello, d.msg.Mark, d.msg.Done = raw.Hello, raw.Mark, raw.Done
	if raw.Sample != nil {
		d.msg.Sample = &d.sample
		for _, key := range slices.Sorted(maps.Keys(raw.Sample)) {
			d.value([]byte(key), raw.Sample[key])
		}
	}
	return &d.msg, nil
}

// value takes one value of a sample: a number; anything else is unknown.
func (d *decoder) value(key []byte, raw json.RawMessage) {
	var v int64
	if json.Unmarshal(raw, &v) != nil {
		var f float64
		if json.Unmarshal(raw, &f) != nil || !(math.Abs(f) < 1<<63) {
			return
		}
		v = int64(math.Round(f))
	} else if bytes.Equal(raw, []byte("null")) {
		return
	}
	d.cell(key, v)
}

// cell adds a value under its column's one string.
func (d *decoder) cell(key []byte, v int64) {
	if string(key) == "t_ns" {
		d.sample.TNs = v
		return
	}
	name, seen := d.names[string(key)]
	if !seen {
		if len(d.names) >= maxNames || !validColumn(string(key)) {
			return
		}
		name = string(key)
		d.names[name] = name
	}
	d.sample.Cells = append(d.sample.Cells, record.Cell{Column: name, Value: v})
}

// plainSample reads a sample in the form that agents mostly send it, without
// blanks, escapes or fractions, and without allocating. It reports false for
// every other line, which is then read the long way with the same result.
func (d *decoder) plainSample(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(`{"sample":{`))
	if !ok {
		return false
	}
	for {
		if len(rest) == 0 || rest[0] != '"' {
			return false
		}
		end := bytes.IndexByte(rest[1:], '"') + 1
		if end == 0 || end+1 >= len(rest) || rest[end+1] != ':' {
			return false
		}
		key := rest[1:end]
		if !validColumn(string(key)) { // escapes among others
			return false
		}
		v, n := plainInt(rest[end+2:])
		if n == 0 {
			return false
		}
		d.cell(key, v)
		rest = rest[end+2+n:]
		if len(rest) == 0 {
			return false
		}
		if rest[0] == '}' {
			return string(rest) == "}}"
		}
		if rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
}

// plainInt reads an integer of at most 18 digits as JSON writes it and returns
// its length, or 0.
func plainInt(b []byte) (v int64, n int) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		n++
	}
	start := n
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	digits := n - start
	if digits == 0 || digits > 18 || (digits > 1 && b[start] == '0') {
		return 0, 0
	}
	if neg {
		v = -v
	}
	return v, n
}
