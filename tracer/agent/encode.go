package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// maxLine bounds a line of the protocol, line end included.
const maxLine = 1 << 20

// validColumn reports whether the protocol carries a column of this name.
func validColumn(name string) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '_', c == '.', c == '-', c == '/', c == ':', c == '@':
		default:
			return false
		}
	}
	return true
}

// sampleEncoder makes sample lines without allocating: the encoded keys of the
// sample before are kept, because samples mostly have the same columns.
type sampleEncoder struct {
	keys []encodedKey
	line []byte
}

type encodedKey struct {
	name string
	json []byte // ,"name":  or nil for a name that cannot be sent
}

// begin starts a line.
func (e *sampleEncoder) begin(tNs int64) {
	e.line = append(e.line[:0], `{"sample":{"t_ns":`...)
	e.line = strconv.AppendInt(e.line, tNs, 10)
}

// cell adds the i-th cell.
func (e *sampleEncoder) cell(i int, cell record.Cell) {
	for len(e.keys) <= i {
		e.keys = append(e.keys, encodedKey{})
	}
	k := &e.keys[i]
	if k.name != cell.Column || k.json == nil {
		*k = encodedKey{name: cell.Column}
		if !validColumn(cell.Column) {
			return
		}
		k.json = []byte(`,"` + cell.Column + `":`)
	}
	e.line = append(e.line, k.json...)
	e.line = strconv.AppendInt(e.line, cell.Value, 10)
}

// end completes the line.
func (e *sampleEncoder) end() []byte {
	e.line = append(e.line, "}}\n"...)
	return e.line
}

// envelope is any line of the protocol but a sample.
type envelope struct {
	Hello *Hello `json:"hello,omitempty"`
	Mark  *Mark  `json:"mark,omitempty"`
	Done  *Done  `json:"done,omitempty"`
	Do    *Do    `json:"do,omitempty"`
	// Heard is there when the tracer has read the mark of the phase exiting.
	Heard *struct{} `json:"heard,omitempty"`
	Kept  *kept     `json:"kept,omitempty"`
}

// kept names by its time the mark that the tracer has written.
type kept struct {
	TNs int64 `json:"t_ns"`
}

// encode makes the line of an envelope, or nil when it cannot be a line.
func encode(e envelope) []byte {
	line, err := json.Marshal(e)
	if err != nil || len(line) >= maxLine {
		return nil
	}
	return append(line, '\n')
}

// SitesDetail is Done.Detail for the answer to sites. When the list is too
// long for a line only the sites with the most bytes are kept.
func SitesDetail(sites []record.Site) json.RawMessage {
	return listDetail(record.KindSites, sites, func(s record.Site) int64 { return s.Bytes })
}

// HoldersDetail is Done.Detail for the answer to holders, as SitesDetail.
func HoldersDetail(holders []record.Holder) json.RawMessage {
	return listDetail(record.KindHolders, holders, func(h record.Holder) int64 { return h.Bytes })
}

func listDetail[T any](key string, list []T, bytes func(T) int64) json.RawMessage {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(bytes(b), bytes(a)) })
	if sorted == nil {
		sorted = []T{}
	}
	for {
		detail, err := json.Marshal(map[string][]T{key: sorted})
		// The rest of the line needs some room, too.
		if err == nil && len(detail) <= maxLine-1024 {
			return detail
		}
		if err != nil || len(sorted) == 0 {
			return nil
		}
		sorted = sorted[:len(sorted)/2]
	}
}
