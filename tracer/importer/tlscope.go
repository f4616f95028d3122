package importer

import (
	"bytes"

	"github.com/gpumem/gpumem/tracer/record"
)

// markScopeEnd begins what the memory log says of a scope that is over.
const markScopeEnd = "exit_scope end "

// metalPool is what Candle's Metal pool holds by a line of the memory log. The zero
// value is unknown.
type metalPool struct {
	buffers, bytes float64
	known          bool
}

// metalLine reads "alloc_buffer size=N total_buffers=N total_bytes=N".
func (t *tlReader) metalLine(rest []byte) {
	var p metalPool
	seen := 0
	for _, pair := range bytes.Fields(rest) {
		key, value, _ := bytes.Cut(pair, []byte("="))
		var to *float64
		switch string(key) {
		case "total_buffers":
			to = &p.buffers
		case "total_bytes":
			to = &p.bytes
		default:
			continue
		}
		n, ok := t.number(string(key), value)
		if !ok {
			return
		}
		*to = n
		seen++
	}
	if p.known = seen == 2; p.known {
		t.metal = p
	}
}

// scope makes a row of "exit_scope end depth=N refcount_count=N pool_count=N" in a log
// that has no statements: they have the same and more.
func (t *tlReader) scope(rest []byte) {
	fields, ok := bytes.CutPrefix(rest, []byte(markScopeEnd))
	if !ok || t.traced || t.partial {
		return
	}
	t.begin()
	t.scopes++
	t.fields(bytes.Fields(fields), "")
	if t.metal.known {
		t.rows.set(record.ColLive, t.metal.bytes)
		t.rows.set(record.ColLiveCount, t.metal.buffers)
	}
}
